// Format: one row per DType that says how a block of numbers is stored and what it means. The
// decode function defines the meaning; kernels are faster ways to the same numbers.
//
// A tensor row is a sequence of blocks: block_size numbers in block_bytes bytes, with no alignment.
// Most formats have nothing else, and then any run of whole blocks can be decoded. A few keep what
// all blocks of a row share in a header of header_bytes in front of them, and are decoded by rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace ruv {

// Plain data, constant for the life of the program; safe to read from any thread.
struct Format {
  DType dtype;
  const char* name;  // lower case, as on the command line: "q4_k"
  int block_size;    // numbers in a block; 1 for plain types
  int block_bytes;
  // Writes n numbers as float32. Requires: n is a multiple of block_size; src holds bytes_of(n)
  // bytes, at any alignment, and with a header the n numbers are a whole row.
  void (*decode)(const void* src, float* dst, int64_t n);
  // The inverse; null where the program only reads the format. The legacy formats round as the
  // standard's encoder does, those with sub-blocks search for a small error (formats/fit.h).
  // `importance` holds n numbers that say how much an error at each number counts: the mean square
  // of the activation that the number is multiplied by. Null: not known. Formats with a choice of
  // scale use it, the legacy ones then search too; plain and ternary formats ignore it.
  // Requires: as decode; src is finite and, for blocks with an f16 scale, at most 65504 in
  // magnitude; importance is finite and not negative. Both functions may be called from any number
  // of threads, and equal input gives equal bytes on every machine.
  void (*encode)(const float* src, const float* importance, void* dst, int64_t n);

  int header_bytes = 0;  // in front of each row

  // Bytes taken by n numbers of one row. Requires: n is a multiple of block_size.
  int64_t bytes_of(int64_t n) const { return header_bytes + n / block_size * block_bytes; }
};

// All formats, in the order of their ids.
std::span<const Format> all_formats();
// The row of a DType. Every enumerator has one.
const Format& format_of(DType dtype);
// Both return null for ids that files may not use (gaps, removed types, formats of our own) and for
// unknown names.
const Format* find_format(uint32_t gguf_type_id);
const Format* find_format(std::string_view name);

}  // namespace ruv
