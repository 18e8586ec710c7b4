// FrameScan: where in the frames of HTTP/2 a client's bytes are, as far as its time for a head
// depends on it. It reads lengths and types only, and whatever a parser does with the frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ruv {

class FrameScan {
 public:
  // The next bytes of the client, from its preface on.
  void see(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t n = std::min(n_left_, bytes.size());
      if (is_header_) std::copy_n(bytes.begin(), n, header_.end() - static_cast<int64_t>(n_left_));
      bytes.remove_prefix(n);
      n_left_ -= n;
      if (n_left_ == 0) end_part();
    }
  }
  // The preface, a frame of fields or the last of these frames is not complete.
  bool is_in_head() const { return !has_begun_ || has_open_head_ || (!is_header_ && is_head_); }
  // How many have begun.
  int64_t n_heads() const { return n_heads_; }
  // How many of types that are not known have begun since the last call; nghttp2 passes over them.
  int64_t take_unknown() { return std::exchange(n_unknown_, 0); }

 private:
  static constexpr size_t kPrefaceBytes = 24;
  static constexpr size_t kHeaderBytes = 9;
  enum : uint8_t { kHeaders = 1, kContinuation = 9 };
  static constexpr uint8_t kEndHeaders = 4;

  uint8_t byte(size_t i) const { return static_cast<uint8_t>(header_[i]); }
  // A frame's header, or what follows it, is complete.
  void end_part() {
    if (is_header_) {
      n_left_ = static_cast<size_t>(byte(0)) << 16 | static_cast<size_t>(byte(1)) << 8 | byte(2);
      is_head_ = byte(3) == kHeaders || byte(3) == kContinuation;
      if (byte(3) == kHeaders) ++n_heads_;
      if (byte(3) > kContinuation) ++n_unknown_;
      is_header_ = false;
      if (n_left_ > 0) return;
    }
    if (is_preface_) {
      is_preface_ = false;
    } else {
      has_begun_ = true;
      if (is_head_) has_open_head_ = (byte(4) & kEndHeaders) == 0;
    }
    is_header_ = true;
    n_left_ = kHeaderBytes;
  }

  size_t n_left_ = kPrefaceBytes;  // of the part
  bool is_preface_ = true;
  bool is_header_ = false;  // the part is the header of a frame
  std::array<char, kHeaderBytes> header_{};
  bool is_head_ = false;  // the frame has fields
  bool has_begun_ = false;
  bool has_open_head_ = false;
  int64_t n_heads_ = 0;
  int64_t n_unknown_ = 0;
};

}  // namespace ruv
