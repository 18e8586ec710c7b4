// ForeignCheckpoint: the tensors of a checkpoint by name, from which readers take those that belong
// to a quantised matrix and put the matrix in their place.
#pragma once

#include <cstring>
#include <map>

#include "format/foreign/coded_matrix.h"
#include "format/foreign/foreign_config.h"

namespace ruv {

// Tensors of each file, with its path.
using StoredTensors = std::vector<std::pair<std::string, std::vector<SafetensorsTensor>>>;

class ForeignCheckpoint {
 public:
  // `stored` outlives this, and is not changed before put_back().
  explicit ForeignCheckpoint(StoredTensors& stored);

  // The modules that have a tensor of this name: "model.layers.0.mlp.up_proj" for "qweight".
  std::vector<std::string> modules_with(std::string_view piece) const;
  // Null: there is none.
  const SafetensorsTensor* find(const std::string& module, std::string_view piece) const;
  // A piece that is taken; null: there is none.
  const SafetensorsTensor* take(const std::string& module, std::string_view piece);
  // Fails: corrupt, where it is missing or not of these dtypes ("F16 BF16 F32").
  Result<const SafetensorsTensor*> need(const std::string& module, std::string_view piece,
                                        std::string_view dtypes);
  // A piece whose values have no effect here.
  void drop(const std::string& module, std::string_view piece) { take(module, piece); }
  // The module's weight; `codes` is the tensor with its codes.
  void put(const std::string& module, const SafetensorsTensor& codes, CodedMatrix matrix);
  // "file: tensor 'name' what".
  tl::unexpected<Status> wrong(const SafetensorsTensor& tensor, std::string_view what,
                               Code code = Code::corrupt) const;
  // Chooses blocks for the matrices, on all cores where there are many scales to look at. Adds what
  // was made, removes what was taken. How many matrices are float32 for want of a block.
  int64_t put_back();

 private:
  struct Place {
    SafetensorsTensor* tensor;
    const std::string* path;
    bool taken = false;
  };
  struct MadeMatrix {
    std::string name;
    const SafetensorsTensor* codes;
    CodedMatrix matrix;
  };
  std::vector<DType> chosen_blocks() const;

  StoredTensors* stored_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<MadeMatrix> made_;
};

// Numbers of a tensor whose dtype is one of F32, F16, BF16, F64, I8 to I64, U8, BOOL, F8_E4M3 and
// F8_E8M0.
class PieceNumbers {
 public:
  // Requires: `tensor` outlives this, as do the bytes.
  explicit PieceNumbers(const SafetensorsTensor& tensor);
  float at(int64_t i) const;
  int64_t size() const { return size_; }

 private:
  const std::byte* bytes_;
  const Format* format_;  // null: a power of two, or E4M3 below
  bool is_power_ = false, is_byte_ = false;
  int64_t size_ = 0;
};

// Whether PieceNumbers of the tensor are numbers that f16 holds.
inline bool has_f16_numbers(const SafetensorsTensor& tensor) { return tensor.dtype_name == "F16"; }
// Word i of a tensor of 32-bit integers.
inline uint32_t word_at(const std::byte* words, int64_t i) {
  uint32_t word = 0;
  std::memcpy(&word, words + 4 * i, sizeof word);
  return word;
}
// Code i of neighbours in a stream of bits, lowest first, whose words are `step` words apart.
inline uint8_t code_at(const std::byte* words, int64_t step, int n_bits, int64_t i) {
  const int64_t bit = i * n_bits;
  const int shift = static_cast<int>(bit % 32);
  uint32_t code = word_at(words, bit / 32 * step) >> shift;
  if (shift + n_bits > 32) code |= word_at(words, (bit / 32 + 1) * step) << (32 - shift);
  return static_cast<uint8_t>(code & ((1U << n_bits) - 1));
}
inline int64_t ceil_of(int64_t n, int64_t d) { return n / d + (n % d != 0 ? 1 : 0); }

Status read_gptq_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_awq_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_compressed_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_float8_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_model_opt_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_bitsandbytes_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_hqq_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);
Status read_bitnet_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint);

}  // namespace ruv
