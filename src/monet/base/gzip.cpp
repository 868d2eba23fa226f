#include "monet/base/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    good_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Inflater() {
    if (good_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  bool good() const { return good_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool good_ = false;
};

}  // namespace

std::string unpacked(std::string bytes, const std::string& path, std::size_t most_bytes) {
  if (bytes.size() < 2 || bytes[0] != '\x1f' || bytes[1] != '\x8b') return bytes;
  Inflater inflater;
  if (!inflater.good()) refuse_file(path, "cannot be unpacked: no memory", "close other programs");
  z_stream& stream = inflater.stream();
  std::string out;
  std::size_t read = 0;
  for (int state = Z_OK; state != Z_STREAM_END || read < bytes.size();) {
    // A gzip file may consist of several members.
    if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK)
      refuse_file(path, "is a damaged gzip file", "fetch it again");
    const std::size_t part = std::min<std::size_t>(bytes.size() - read, std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + read);
    stream.avail_in = static_cast<uInt>(part);
    const std::size_t written = out.size();
    out.resize(written + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(kChunk);
    state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = part - stream.avail_in, given = kChunk - stream.avail_out;
    read += taken;
    out.resize(written + given);
    if (out.size() > most_bytes)
      refuse_file(path, fmt::format("holds more than {} bytes when unpacked", most_bytes), "split it");
    const bool stuck = taken == 0 && given == 0 && state != Z_STREAM_END;
    if ((state != Z_OK && state != Z_STREAM_END) || stuck)
      refuse_file(path, "is a damaged gzip file", "fetch it again");
  }
  return out;
}

}  // namespace monet
