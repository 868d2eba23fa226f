#include "synthetic.h"

#include <algorithm>
#include <vector>

namespace monet::bench {
namespace {

using namespace schedule;

constexpr double kLink = 64, kPort = 256;  // bytes a cycle
constexpr double kTileCycles = 200;
constexpr std::uint32_t kStack = 4;  // layers that are fused

class Chain {
 public:
  Chain(const Shape& shape, std::uint32_t tiles) : shape_(shape) {
    // Forward, backward for data and for weights: 3 tiles of a row and layer, one more of a layer for its update.
    rows_ = shape.rows_grow ? std::max(1u, tiles / 97) : shape.rows;
    layers_ = shape.rows_grow ? 32 : std::max(1u, (tiles - rows_) / (3 * rows_ + 1));
    machine();
    if (shape.is_one_after_other) {
      layers_ = std::max(1u, layers_ / shape.cores);
      for (chain_ = 0; chain_ < shape.cores; ++chain_) iteration();
    } else {
      iteration();
    }
    if (shape.has_late_unit) {
      p_.tiles.push_back(
          {.unit = UnitId{shape.cores}, .cycles = 200, .first_use = static_cast<std::uint32_t>(p_.uses.size())});
      p_.uses.push_back({BlockId{0}, StoreId{1}});
      p_.tiles.back().uses = 1;
    }
  }
  Problem take() { return std::move(p_); }

 private:
  void machine() {
    Machine& m = p_.machine;
    const std::uint32_t n = shape_.cores + 1;
    m.stores.push_back({"home", shape_.home_bytes, kPort});
    for (std::uint32_t c = 0; c < shape_.cores; ++c) {
      m.stores.push_back({"store", shape_.store_bytes, kPort});
      m.units.push_back({"unit"});
    }
    if (shape_.has_late_unit) m.units.push_back({"late unit"});
    if (shape_.has_ports) ports();
    m.routes.resize(n * n);
    if (!shape_.has_own_links) {
      m.channels = {{"bus", kLink}};
      for (std::uint32_t i = 0; i < n * n; ++i)
        if (i % (n + 1) != 0) m.routes[i] = {true, {ChannelId{0}}};
      return;
    }
    const auto link = [&](std::uint32_t from, std::uint32_t to) {
      m.routes[from * n + to] = {true, {ChannelId{static_cast<std::uint32_t>(m.channels.size())}}};
      m.channels.push_back({"link", kLink});
    };
    for (std::uint32_t c = 1; c < n; ++c) {
      link(0, c);
      link(c, 0);
      if (n > 2) link(c, c + 1 == n ? 1 : c + 1);
    }
  }

  // Two demands for every core.
  void ports() {
    Machine& m = p_.machine;
    for (std::uint32_t s = 1; s < m.stores.size(); ++s) {
      const auto port = static_cast<std::uint32_t>(m.ports.size());
      m.ports.push_back({"read", StoreId{s}, kPort});
      m.ports.push_back({"write", StoreId{s}, kPort});
      m.stores[s].drain = PortId{port};
      m.stores[s].fill = PortId{port + 1};
      p_.demands.push_back({PortId{port}, kTileCycles * 4 / 5});
      p_.demands.push_back({PortId{port + 1}, kTileCycles / 5});
    }
  }

  BlockId block(std::int64_t bytes, bool starts_at_home = false, bool ends_at_home = false) {
    p_.blocks.push_back({.bytes = bytes, .starts_at_home = starts_at_home, .ends_at_home = ends_at_home});
    return BlockId{static_cast<std::uint32_t>(p_.blocks.size() - 1)};
  }
  std::int64_t row_bytes(std::uint32_t layer) const {
    const std::int64_t bytes =
        shape_.rows_grow ? std::max<std::int64_t>(16, shape_.row_bytes / rows_) : shape_.row_bytes;
    return shape_.has_mixed_sizes ? bytes * (1 + layer * 7 % 4) : bytes;
  }
  std::uint32_t core_of(std::uint32_t layer) const { return shape_.is_one_after_other ? chain_ : layer % shape_.cores; }
  StoreId store_of(std::uint32_t layer) const { return StoreId{core_of(layer) + 1}; }

  void begin_tile(std::uint32_t layer) {
    p_.tiles.push_back({.unit = UnitId{core_of(layer)},
                        .cycles = kTileCycles,
                        .first_use = static_cast<std::uint32_t>(p_.uses.size()),
                        .first_flow = 0,
                        .first_demand = shape_.has_ports ? 2 * core_of(layer) : 0,
                        .demands = shape_.has_ports ? 2u : 0u});
  }
  void use(BlockId b, std::uint32_t layer, Access access = Access::Read) {
    p_.uses.push_back({b, store_of(layer), access});
    ++p_.tiles.back().uses;
  }
  // Every layer from `first` to `last`, row by row if they are fused.
  template <class Visit>
  void visit(std::uint32_t first, std::uint32_t last, const Visit& visit) const {
    const std::uint32_t step = shape_.is_fused ? kStack : 1;
    for (std::uint32_t stack = first; stack < last; stack += step)
      for (std::uint32_t row = 0; row < rows_ + step - 1; ++row)
        for (std::uint32_t l = stack; l < std::min(last, stack + step); ++l)
          // A layer is one row behind the one before it: it reads the row after its own, too.
          if (row >= l - stack && row - (l - stack) < rows_) visit(l, row - (l - stack));
  }

  void iteration() {
    forward();
    backward();
  }

  void forward() {
    rows_of_.assign(layers_ + 1, {});
    weights_.clear();
    for (std::uint32_t r = 0; r < rows_; ++r) rows_of_[0].push_back(block(row_bytes(0), true));
    for (std::uint32_t l = 0; l < layers_; ++l) {
      weights_.push_back(block(shape_.weight_bytes, true, true));
      for (std::uint32_t r = 0; r < rows_; ++r) rows_of_[l + 1].push_back(block(row_bytes(l + 1)));
    }
    visit(0, layers_, [&](std::uint32_t l, std::uint32_t r) {
      begin_tile(l);
      use(weights_[l], l);
      // With fused layers the row after this one is made later: the halo is of the row before only.
      for (std::uint32_t k = r == 0 ? 0 : r - 1; k <= (shape_.is_fused ? r : std::min(r + 1, rows_ - 1)); ++k)
        use(rows_of_[l][k], l);
      use(rows_of_[l + 1][r], l, Access::Write);
    });
  }

  void backward() {
    std::vector<BlockId> above;
    for (std::uint32_t r = 0; r < rows_; ++r) {
      above.push_back(block(row_bytes(layers_)));
      begin_tile(layers_ - 1);
      use(rows_of_[layers_][r], layers_ - 1);
      use(above[r], layers_ - 1, Access::Write);
    }
    for (std::uint32_t l = layers_; l-- > 0;) {
      const BlockId gradient = block(shape_.weight_bytes);
      std::vector<BlockId> below;
      for (std::uint32_t r = 0; r < rows_; ++r) {
        begin_tile(l);
        use(above[r], l);
        use(rows_of_[l][r], l);
        use(gradient, l, r == 0 ? Access::Write : Access::Update);
        below.push_back(block(row_bytes(l)));
        begin_tile(l);
        use(above[r], l);
        use(weights_[l], l);
        use(below[r], l, Access::Write);
      }
      begin_tile(l);
      use(gradient, l);
      use(weights_[l], l, Access::Update);
      above = std::move(below);
    }
  }

  Shape shape_;
  std::uint32_t rows_ = 0, layers_ = 0, chain_ = 0;
  Problem p_;
  std::vector<std::vector<BlockId>> rows_of_;  // by layer; 0 is the input
  std::vector<BlockId> weights_;
};

}  // namespace

schedule::Problem training_chain(const Shape& shape, std::uint32_t tiles) { return Chain(shape, tiles).take(); }

}  // namespace monet::bench
