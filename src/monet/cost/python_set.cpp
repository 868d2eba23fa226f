// The order in which Python iterates a set of ZigZag's dimensions. Their hash is that of the SHA-512 digests (FIPS
// 180-4) of two pickles, of the name and of the class, so the order is the same in every run, and ties in ZigZag's
// spatial mapping are decided by it. The table is CPython's: open addressing with short linear probes.
#include "monet/cost/python_set.h"

#include <array>
#include <bit>
#include <optional>

namespace monet::cost {
namespace {

using Digest = std::array<std::uint64_t, 8>;

// First 64 bits of the fractional parts of the square roots of the first 8 primes.
constexpr Digest kStart{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// First 64 bits of the fractional parts of the cube roots of the first 80 primes.
constexpr std::array<std::uint64_t, 80> kRound{
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

void compress(Digest& digest, const std::string& block, std::size_t from) {
  std::array<std::uint64_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) w[i] = w[i] << 8 | static_cast<unsigned char>(block[from + 8 * i + j]);
  for (std::size_t i = 16; i < 80; ++i) {
    const std::uint64_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(x, 1) ^ std::rotr(x, 8) ^ (x >> 7)) + w[i - 7] +
           (std::rotr(y, 19) ^ std::rotr(y, 61) ^ (y >> 6));
  }
  Digest v = digest;
  for (std::size_t i = 0; i < 80; ++i) {
    const std::uint64_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    const std::uint64_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    const std::uint64_t t1 =
        v[7] + (std::rotr(v[4], 14) ^ std::rotr(v[4], 18) ^ std::rotr(v[4], 41)) + choose + kRound[i] + w[i];
    const std::uint64_t t2 = (std::rotr(v[0], 28) ^ std::rotr(v[0], 34) ^ std::rotr(v[0], 39)) + majority;
    v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) digest[i] += v[i];
}

Digest sha512(std::string text) {
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(text.size());
  text += '\x80';
  while (text.size() % 128 != 112) text += '\0';
  text.append(8, '\0');  // the length has 128 bits
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xff);
  Digest digest = kStart;
  for (std::size_t from = 0; from < text.size(); from += 128) compress(digest, text, from);
  return digest;
}

// A short string in pickle protocol 4, without the frame: opcode, length, bytes, memoize.
std::string pickled_text(std::string_view text) {
  std::string out;
  if (text.size() < 256) {
    out = {'\x8c', static_cast<char>(text.size())};
  } else {
    out = 'X';
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(text.size() >> shift & 0xff);
  }
  return out.append(text) + '\x94';
}

std::string framed(const std::string& body) {
  std::string out = "\x80\x04\x95";
  for (int shift = 0; shift < 64; shift += 8)
    out += static_cast<char>(static_cast<std::uint64_t>(body.size() + 1) >> shift & 0xff);
  return out + body + '.';
}

std::string_view class_name(PythonClass kind) {
  switch (kind) {
    case PythonClass::LayerDim: return "LayerDim";
    case PythonClass::OADimension: return "OADimension";
  }
  return {};
}

// Slots of a set; each holds the index of a name.
class Table {
 public:
  explicit Table(const std::vector<std::uint64_t>& hashes) : hashes_(hashes), slots_(8) {}

  void add(std::size_t name) {
    if (!put(name)) return;
    ++used_;
    if (used_ * 5 < (slots_.size() - 1) * 3) return;
    const std::vector<std::optional<std::size_t>> before = std::move(slots_);
    std::size_t size = 8;
    while (size <= used_ * 4) size *= 2;
    slots_.assign(size, std::nullopt);
    for (const std::optional<std::size_t>& slot : before)
      if (slot) put(*slot);
  }

  std::vector<std::size_t> order() const {
    std::vector<std::size_t> names;
    for (const std::optional<std::size_t>& slot : slots_)
      if (slot) names.push_back(*slot);
    return names;
  }

 private:
  bool put(std::size_t name) {
    constexpr std::size_t kProbes = 9;
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t perturb = hashes_[name];
    for (std::size_t i = perturb & mask;; perturb >>= 5, i = (i * 5 + 1 + perturb) & mask) {
      const std::size_t end = i + kProbes <= mask ? i + kProbes : i;
      for (std::size_t j = i; j <= end; ++j) {
        if (!slots_[j]) {
          slots_[j] = name;
          return true;
        }
        if (hashes_[*slots_[j]] == hashes_[name]) return false;
      }
    }
  }

  const std::vector<std::uint64_t>& hashes_;
  std::vector<std::optional<std::size_t>> slots_;
  std::size_t used_ = 0;
};

}  // namespace

std::uint64_t python_hash(PythonClass kind, std::string_view name) {
  const Digest x = sha512(framed(pickled_text(name)));
  const Digest y = sha512(framed(pickled_text("zigzag.datatypes") + pickled_text(class_name(kind)) + "\x93\x94"));
  // Python hashes an integer by its remainder modulo 2^61 - 1.
  constexpr std::uint64_t kModulus = (std::uint64_t{1} << 61) - 1;
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    hash = 2 * hash + ((x[i / 64] ^ y[i / 64]) >> (63 - i % 64) & 1);
    if (hash >= kModulus) hash -= kModulus;
  }
  return hash;
}

std::vector<std::size_t> python_set_order(PythonClass kind, const std::vector<std::string>& names) {
  std::vector<std::uint64_t> hashes;
  for (const std::string& name : names) hashes.push_back(python_hash(kind, name));
  Table table(hashes);
  for (std::size_t i = 0; i < names.size(); ++i) table.add(i);
  return table.order();
}

}  // namespace monet::cost
