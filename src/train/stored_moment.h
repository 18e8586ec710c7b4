// StoredMoment: what an optimiser remembers of each number of a parameter, as numbers of the
// parameter's kind or as bytes.
#pragma once

#include <span>

#include "base/buffer.h"
#include "train/byte_code.h"

namespace ruv {

enum class MomentForm : uint32_t {
  plain = 0,          // T, as the parameter
  signed_bytes = 1,   // ByteCode::with_sign()
  unsigned_bytes = 2  // ByteCode::without_sign(): of numbers that are not below 0
};

// As bytes, blocks of 256 numbers have a scale each, their greatest size in float32, and a number
// is its byte's value times the scale: 1.016 bytes for each number. A number that is written is
// rounded to the nearest, so that its error is below 0.0071 of the scale with a sign and 0.0036
// without.
template <class T>
class StoredMoment {
 public:
  static constexpr int64_t kBlock = 256;

  StoredMoment() = default;
  // n numbers, all 0. Fails: out_of_memory.
  static Result<StoredMoment> create(int64_t n, MomentForm form);

  MomentForm form() const { return form_; }
  int64_t size() const { return n_; }
  // Requires: plain.
  std::span<T> numbers() const;
  // Numbers from `first`, which begins a block, to the end of the block or of all. Requires: bytes;
  // `numbers` has their size.
  void read(int64_t first, std::span<T> numbers) const;
  void write(int64_t first, std::span<const T> numbers);

  // All that it keeps: numbers, or scales and then codes.
  std::span<std::byte> memory() const;

 private:
  int64_t n_blocks() const { return (n_ + kBlock - 1) / kBlock; }
  float* scale(int64_t first) const { return memory_.as<float>() + first / kBlock; }
  uint8_t* codes(int64_t first) const {
    return memory_.as<uint8_t>() + n_blocks() * int64_t{sizeof(float)} + first;
  }
  const ByteCode& code() const {
    return form_ == MomentForm::signed_bytes ? ByteCode::with_sign() : ByteCode::without_sign();
  }

  MomentForm form_ = MomentForm::plain;
  int64_t n_ = 0;
  Buffer memory_;
};

}  // namespace ruv
