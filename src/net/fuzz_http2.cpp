// Any frames as what an HTTP/2 client sends after its preface, in pieces, to the real connection
// and all routes. See fuzz_connection.h for what must hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "net/fuzz_connection.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ruv {
namespace {

constexpr std::string_view kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kFrameHeader = 9;

// A frame: its header, of which the length is made true again, and its payload.
struct RawFrame {
  std::string header;
  std::string payload;
};

std::vector<RawFrame> split_frames(std::string_view text) {
  std::vector<RawFrame> frames;
  while (!text.empty() && frames.size() < 256) {
    RawFrame frame{std::string(text.substr(0, kFrameHeader)), {}};
    text.remove_prefix(frame.header.size());
    frame.header.resize(kFrameHeader);
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(frame.header[i]); };
    const size_t n =
        static_cast<size_t>(byte(0)) << 16 | static_cast<size_t>(byte(1)) << 8 | byte(2);
    frame.payload = text.substr(0, n);
    text.remove_prefix(frame.payload.size());
    frames.push_back(std::move(frame));
  }
  return frames;
}

void change(std::vector<RawFrame>& frames, std::minstd_rand& random) {
  const size_t at = random() % frames.size();
  RawFrame& frame = frames[at];
  switch (random() % 8) {
    case 0:
      frame.header[3] = static_cast<char>(random() % 11);
      break;
    case 1:
      frame.header[4] = static_cast<char>(frame.header[4] ^ 1 << random() % 8);
      break;
    case 2:
      frame.header[8] = static_cast<char>(random() % 12);
      break;
    case 3:
      frames.push_back(RawFrame(frame));
      break;
    case 4:
      std::swap(frame, frames[random() % frames.size()]);
      break;
    case 5:
      frames.erase(frames.begin() + static_cast<int64_t>(at));
      break;
    default: {
      std::string room = frame.payload;
      room.resize(room.size() + 64);
      room.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(room.data()), frame.payload.size(),
                                   room.size()));
      frame.payload = room;
    }
  }
}

}  // namespace
}  // namespace ruv

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (size < 2 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  auto frames = ruv::split_frames({reinterpret_cast<const char*>(data) + 1, size - 1});
  ruv::change(frames, random);
  std::string out(1, random() % 4 == 0 ? static_cast<char>(random()) : static_cast<char>(data[0]));
  for (const ruv::RawFrame& frame : frames) {
    const size_t n = frame.payload.size();
    out += {static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
    out += frame.header.substr(3) + frame.payload;
  }
  const size_t n = std::min(out.size(), max_size);
  std::copy_n(out.begin(), n, reinterpret_cast<char*>(data));
  return n;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static ruv::FuzzConnection connection;
  if (size == 0) return 0;
  const std::string sent = std::string(ruv::kClientPreface) +
                           std::string(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const std::string answers = connection.converse(sent, bytes[0]);
  CHECK(answers.empty() || answers.starts_with(ruv::kHttp2Settings));
  return 0;
}
