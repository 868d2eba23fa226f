#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace monet::schedule {

// Items in the order of their keys (T::key()), in chunks: adding or removing one moves a chunk, not all that follow.
// Each chunk has a summary that its user computes anew, when it needs it, after the chunk has changed; so has each row
// of kRow chunks.
template <class T, class Summary = int>
class Chunks {
 public:
  using Key = std::remove_cvref_t<decltype(std::declval<const T&>().key())>;
  struct At {
    std::size_t chunk = 0, index = 0;
    bool operator==(const At&) const = default;
  };
  struct Chunk {
    std::vector<T> items{};  // none only if there are none at all
    mutable Summary summary{};
    mutable bool is_fresh = false;  // the summary is of these items
  };

  // Chunks kRow · i and those that follow.
  struct Row {
    mutable Summary summary{};
    mutable bool is_fresh = false;
  };
  static constexpr std::size_t kRow = 64;

  Chunks() { reset(); }

  At begin() const { return {0, 0}; }
  At end() const { return {empty() ? 0 : chunks_.size(), 0}; }
  bool empty() const { return chunks_[0].items.empty(); }
  std::size_t size() const { return chunks_.size(); }  // in chunks
  const Chunk& chunk(std::size_t i) const { return chunks_[i]; }
  const Row& row(std::size_t i) const { return rows_[i]; }
  const T& operator[](At at) const { return chunks_[at.chunk].items[at.index]; }
  const T& last() const { return chunks_.back().items.back(); }  // where there is one
  At at_last() const { return {chunks_.size() - 1, chunks_.back().items.size() - 1}; }
  T& change(At at) {  // not its key
    has_changed(at.chunk);
    return chunks_[at.chunk].items[at.index];
  }
  // A change that no summary is of.
  T& mark(At at) { return chunks_[at.chunk].items[at.index]; }

  At next(At at) const {
    return at.index + 1 < chunks_[at.chunk].items.size() ? At{at.chunk, at.index + 1} : At{at.chunk + 1, 0};
  }
  At before(At at) const {
    return at.index > 0 ? At{at.chunk, at.index - 1} : At{at.chunk - 1, chunks_[at.chunk - 1].items.size() - 1};
  }
  // The first item whose key is not below this one.
  At not_below(const Key& key) const {
    const std::size_t c = chunk_of(key);
    const std::vector<T>& items = chunks_[c].items;
    const auto at =
        std::lower_bound(items.begin(), items.end(), key, [](const T& item, const Key& k) { return item.key() < k; });
    if (at == items.end()) return items.empty() ? end() : At{c + 1, 0};
    return {c, static_cast<std::size_t>(at - items.begin())};
  }

  // Before the item at this place; gives its own place. Others of the same chunk keep theirs while `size` stays.
  At insert(At at, T item) {
    if (at.chunk > 0 && at.index == 0) at = {at.chunk - 1, chunks_[at.chunk - 1].items.size()};
    if (chunks_[at.chunk].items.size() == kMost) {
      // What comes in order fills its chunks; anything else leaves two halves.
      const std::size_t half = at.chunk + 1 == chunks_.size() && at.index == kMost ? kMost : kMost / 2;
      split(at.chunk, half);
      if (at.index >= half) at = {at.chunk + 1, at.index - half};
    }
    Chunk& chunk = chunks_[at.chunk];
    chunk.items.insert(chunk.items.begin() + static_cast<std::ptrdiff_t>(at.index), item);
    has_changed(at.chunk);
    if (at.index == 0) firsts_[at.chunk] = item.key();
    return at;
  }

  // Gives the place of the item after it.
  At erase(At at) {
    Chunk& chunk = chunks_[at.chunk];
    chunk.items.erase(chunk.items.begin() + static_cast<std::ptrdiff_t>(at.index));
    has_changed(at.chunk);
    if (chunk.items.empty()) {
      if (chunks_.size() == 1) return end();
      erase_chunk(at.chunk);
      return {at.chunk, 0};
    }
    if (at.index == 0) firsts_[at.chunk] = chunk.items[0].key();
    return at.index < chunk.items.size() ? at : At{at.chunk + 1, 0};
  }

  // Replaces the item at this place by one with another key between its neighbours.
  void replace(At at, T item) {
    change(at) = item;
    if (at.index == 0) firsts_[at.chunk] = item.key();
  }

  // Removes items of one chunk, not its first one.
  template <class Compact>
  void compact(std::size_t i, const Compact& compact) {
    compact(chunks_[i].items);
  }

  // Puts a chunk's items together with the next one's where both are few.
  void join(std::size_t i) {
    if (i + 1 >= chunks_.size() || chunks_[i].items.size() + chunks_[i + 1].items.size() > kMost / 2) return;
    chunks_[i].items.insert(chunks_[i].items.end(), chunks_[i + 1].items.begin(), chunks_[i + 1].items.end());
    has_changed(i);
    erase_chunk(i + 1);
  }

  // Removes whole chunks while the chunk after them begins at or below the key.
  void drop_below(const Key& key) {
    const auto kept = static_cast<std::ptrdiff_t>(chunk_of(key));
    if (kept == 0) return;
    chunks_.erase(chunks_.begin(), chunks_.begin() + kept);
    firsts_.erase(firsts_.begin(), firsts_.begin() + kept);
    have_moved(0);
  }

 private:
  static constexpr std::size_t kMost = 64;  // items of a chunk

  void reset() {
    chunks_.resize(1);
    chunks_[0].items.reserve(8);
    firsts_.assign(1, Key{});
    rows_.resize(1);
  }
  void has_changed(std::size_t chunk) { chunks_[chunk].is_fresh = rows_[chunk / kRow].is_fresh = false; }
  // Chunks from this one on have other numbers.
  void have_moved(std::size_t chunk) {
    rows_.resize((chunks_.size() + kRow - 1) / kRow);
    for (std::size_t r = chunk / kRow; r < rows_.size(); ++r) rows_[r].is_fresh = false;
  }
  void erase_chunk(std::size_t i) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(i));
    firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(i));
    have_moved(i);
  }
  // The last chunk that does not begin above the key; the first if all do. Who asks often asks near where it asked
  // before.
  std::size_t chunk_of(const Key& key) const {
    const std::size_t last = firsts_.size() - 1;
    std::size_t at = std::min(asked_, last);
    if (!(key < firsts_[at])) {
      if (at == last || key < firsts_[at + 1]) return asked_ = at;
      if (at + 1 == last || key < firsts_[at + 2]) return asked_ = at + 1;
    }
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), key);
    return asked_ = after == firsts_.begin() ? 0 : static_cast<std::size_t>(after - firsts_.begin()) - 1;
  }
  void split(std::size_t i, std::size_t half) {
    chunks_.emplace(chunks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    std::vector<T>&items = chunks_[i].items, &rest = chunks_[i + 1].items;
    rest.reserve(kMost);
    rest.assign(items.begin() + static_cast<std::ptrdiff_t>(half), items.end());
    items.resize(half);
    firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   rest.empty() ? items.back().key() : rest[0].key());
    have_moved(i);
    has_changed(i);
  }

  std::vector<Chunk> chunks_;
  std::vector<Key> firsts_;  // key of the first item of each chunk
  std::vector<Row> rows_;
  mutable std::size_t asked_ = 0;  // chunk
};

}  // namespace monet::schedule
