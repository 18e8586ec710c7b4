// Format: one row per DType saying how a block of numbers is stored and what it means. The decode
// function is the meaning; kernels are only faster ways to the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace ruv {

struct Format {
  DType dtype;
  const char* name;  // lower case, as on the command line: "q4_k"
  int block_size;    // numbers in a block; 1 for plain types
  int block_bytes;
  // Writes n numbers as float32. Requires: n a multiple of block_size, src holds
  // n / block_size · block_bytes bytes (any alignment).
  void (*decode)(const void* src, float* dst, int64_t n);
  // The inverse, nearest as the format's file standard does it; null where we only read it.
  // Requires: as decode; src finite and, for blocks with an f16 scale, at most 65504 in magnitude.
  // Any number of threads may call both; equal input gives equal bytes on every machine.
  void (*encode)(const float* src, void* dst, int64_t n);

  // Bytes of n numbers. Requires: n a multiple of block_size.
  int64_t bytes_of(int64_t n) const { return n / block_size * block_bytes; }
};

// All formats, in the order of their ids.
std::span<const Format> all_formats();
// The row of a DType. Every enumerator has one.
const Format& format_of(DType dtype);
// Null for ids no file may use (gaps, removed types) and unknown names.
const Format* find_format(uint32_t gguf_type_id);
const Format* find_format(std::string_view name);

}  // namespace ruv
