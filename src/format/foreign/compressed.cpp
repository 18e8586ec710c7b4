// compressed-tensors (llm-compressor, vLLM). What a module is follows from its tensors:
//
//   weight_packed int32, weight_shape    integers of 2 to 8 bits in a bit stream along each row,
//                                        plus half their range; weight_zero_point, if any, packed
//                                        so along the output, or int8; weight_g_idx: act-order
//   weight_packed uint8                  NVFP4 with weight_global_scale, MXFP4 without
//   weight int8                          with weight_scale, and weight_zero_point, if any
//   weight FP8                           with weight_scale
#include <cmath>

#include "format/foreign/nvfp4.h"

namespace ruv {
namespace {

class IntegerModule {
 public:
  IntegerModule(const ForeignConfig& config, std::string module, ForeignCheckpoint& checkpoint)
      : config_(config), module_(std::move(module)), checkpoint_(checkpoint) {}

  Status read_packed() {
    const SafetensorsTensor& codes = *TRY(checkpoint_.need(module_, "weight_packed", "I32"));
    const SafetensorsTensor& shape = *TRY(checkpoint_.need(module_, "weight_shape", "I64 I32"));
    const PieceNumbers sizes(shape);
    if (codes.shape.size() != 2) return checkpoint_.wrong(codes, "is not a matrix");
    const int64_t n_words = codes.shape[1];
    // Before anything is allocated: a word has at most 16 codes.
    const double n_in = sizes.size() == 2 ? static_cast<double>(sizes.at(1)) : 0;
    if (!(n_in >= 1 && n_in <= 16.0 * static_cast<double>(n_words)) ||
        static_cast<double>(sizes.at(0)) != static_cast<double>(codes.shape[0])) {
      return checkpoint_.wrong(shape, "does not fit the packed weight");
    }
    matrix_.n_out = codes.shape[0];
    matrix_.n_in = static_cast<int64_t>(n_in);
    matrix_.n_bits = TRY(bits_of(codes, n_words));
    TRY(read_scales());
    const int64_t columns = matrix_.n_in;
    matrix_.codes = [words = codes.bytes.data(), n_words, columns, bits = matrix_.n_bits](
                        int64_t row, uint8_t* to) {
      for (int64_t i = 0; i < columns; ++i) to[i] = code_at(words + 4 * row * n_words, 1, bits, i);
    };
    TRY(read_zeros());
    TRY(read_order());
    drop_activations();
    checkpoint_.put(module_, codes, std::move(matrix_));
    return {};
  }

  Status read_bytes() {
    const SafetensorsTensor& codes = *TRY(checkpoint_.need(module_, "weight", "I8"));
    if (codes.shape.size() != 2) return checkpoint_.wrong(codes, "is not a matrix");
    matrix_ = {.n_bits = 8, .n_out = codes.shape[0], .n_in = codes.shape[1]};
    TRY(read_scales());
    matrix_.codes = [bytes = codes.bytes.data(), n_in = matrix_.n_in](int64_t row, uint8_t* to) {
      for (int64_t i = 0; i < n_in; ++i) {
        to[i] = static_cast<uint8_t>(static_cast<uint8_t>(bytes[row * n_in + i]) ^ 0x80U);
      }
    };
    TRY(read_zeros());
    TRY(read_order());
    drop_activations();
    checkpoint_.put(module_, codes, std::move(matrix_));
    return {};
  }

 private:
  // Older versions fill each word with whole codes; where both ways have as many words but other
  // places, nothing says which it is.
  Result<int> bits_of(const SafetensorsTensor& codes, int64_t n_words) const {
    for (const int64_t bits : config_.bits) {
      const int64_t per_word = 32 / bits;
      if (n_words != ceil_of(matrix_.n_in * bits, 32)) continue;
      const bool may_be_padded =
          32 % bits != 0 && matrix_.n_in > per_word && n_words == ceil_of(matrix_.n_in, per_word);
      if (!may_be_padded) return static_cast<int>(bits);
    }
    return checkpoint_.wrong(
        codes,
        fmt::format("has {} words for {} inputs, which does not fit any layout of the "
                    "num_bits that config_groups names",
                    n_words, matrix_.n_in),
        Code::unsupported);
  }

  Status read_scales() {
    const SafetensorsTensor& scales =
        *TRY(checkpoint_.need(module_, "weight_scale", "F16 BF16 F32"));
    grid_ = TRY(grid_of(scales, matrix_, 0, group_of_columns(scales), checkpoint_));
    lay_scales(scales, grid_, GlobalScale::none, 1, matrix_);
    return {};
  }

  // Where groups do not divide the inputs, the last one is shorter: the least power of two that
  // makes as many.
  int64_t group_of_columns(const SafetensorsTensor& scales) const {
    if (scales.shape.size() != 2 || scales.shape[1] < 2) return 0;
    const int64_t n_groups = scales.shape[1];
    if (matrix_.n_in % n_groups == 0) return 0;
    int64_t group = 1;
    while (group < matrix_.n_in && ceil_of(matrix_.n_in, group) > n_groups) group *= 2;
    return group;
  }

  // Signed zeros, to which half the range is added as to the codes.
  Status read_zeros() {
    const auto half = static_cast<float>(1 << (matrix_.n_bits - 1));
    const int64_t n_columns = grid_.n_columns;
    const SafetensorsTensor* const zeros = checkpoint_.take(module_, "weight_zero_point");
    if (zeros == nullptr) {
      matrix_.zeros = [half, n_columns](int64_t, float* to) { std::fill_n(to, n_columns, half); };
      matrix_.zeros_in = ZeroRange{static_cast<int>(half), static_cast<int>(half)};
      return {};
    }
    const bool is_packed = zeros->dtype_name == "I32";
    if (!is_packed && zeros->dtype_name != "I8") {
      return checkpoint_.wrong(*zeros, "is neither int32 nor int8");
    }
    std::vector<int64_t> shape = zeros->shape;
    while (shape.size() < 2) shape.push_back(1);
    const int64_t n_rows = is_packed ? ceil_of(grid_.n_rows * matrix_.n_bits, 32) : grid_.n_rows;
    if (shape != std::vector{n_rows, n_columns} || zeros->bytes.empty() ||
        (is_packed && 32 % matrix_.n_bits != 0)) {
      return checkpoint_.wrong(*zeros, "does not fit the scales");
    }
    if (is_packed) matrix_.zeros_in = ZeroRange{0, (1 << matrix_.n_bits) - 1};
    matrix_.zeros = [bytes = zeros->bytes.data(), half, n_columns, is_packed,
                     rows = grid_.block_rows, bits = matrix_.n_bits](int64_t row, float* to) {
      const int64_t at = row / rows;
      for (int64_t g = 0; g < n_columns; ++g) {
        to[g] = is_packed
                    ? static_cast<float>(code_at(bytes + 4 * g, n_columns, bits, at))
                    : half + static_cast<float>(static_cast<int8_t>(bytes[at * n_columns + g]));
      }
    };
    return {};
  }

  Status read_order() {
    const SafetensorsTensor* const order = checkpoint_.take(module_, "weight_g_idx");
    if (order == nullptr) return {};
    const PieceNumbers groups(*order);
    if (order->dtype_name != "I32" || groups.size() != matrix_.n_in) {
      return checkpoint_.wrong(*order, "is not an int32 for each input");
    }
    matrix_.group_of.resize(static_cast<size_t>(matrix_.n_in));
    bool is_plain = true;
    for (int64_t i = 0; i < matrix_.n_in; ++i) {
      const uint32_t g = word_at(order->bytes.data(), i);
      if (g >= static_cast<uint64_t>(matrix_.n_groups)) {
        return checkpoint_.wrong(*order, fmt::format("number {} is not a group", i));
      }
      matrix_.group_of[static_cast<size_t>(i)] = static_cast<int32_t>(g);
      is_plain = is_plain && g == static_cast<uint64_t>(i / matrix_.group);
    }
    if (is_plain) matrix_.group_of.clear();
    return {};
  }

  void drop_activations() {
    for (const std::string_view piece : {"input_scale", "input_zero_point", "output_scale"}) {
      checkpoint_.drop(module_, piece);
    }
  }

  const ForeignConfig& config_;
  std::string module_;
  ForeignCheckpoint& checkpoint_;
  CodedMatrix matrix_;
  ScaleGrid grid_;
};

// A byte of exponent for each 32 codes.
Status read_mxfp4_module(const std::string& module, ForeignCheckpoint& checkpoint) {
  constexpr int64_t kGroup = 32;
  const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "weight_packed", "U8"));
  const SafetensorsTensor& scales = *TRY(checkpoint.need(module, "weight_scale", "U8 F8_E8M0"));
  if (codes.shape.size() != 2) return checkpoint.wrong(codes, "is not a matrix");
  CodedMatrix matrix{.kind = CodeKind::e2m1, .n_out = codes.shape[0], .n_in = 2 * codes.shape[1]};
  const int64_t n_groups = ceil_of(matrix.n_in, kGroup);
  if (scales.shape != std::vector{matrix.n_out, n_groups}) {
    return checkpoint.wrong(scales, "does not have a scale for each 32 codes");
  }
  matrix.group = kGroup;
  matrix.n_groups = n_groups;
  matrix.scales = [bytes = scales.bytes.data(), n_groups](int64_t row, float* to) {
    for (int64_t g = 0; g < n_groups; ++g) {
      to[g] = std::ldexp(1.0F, static_cast<int>(bytes[row * n_groups + g]) - 127);
    }
  };
  lay_nibble_codes(codes, matrix);
  checkpoint.put(module, codes, std::move(matrix));
  return {};
}

}  // namespace

Status read_compressed_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("weight_packed")) {
    const bool is_float = checkpoint.find(module, "weight_packed")->dtype_name == "U8";
    if (checkpoint.find(module, "weight_global_scale") != nullptr) {
      TRY(read_nvfp4_module(module, {"weight_packed", "weight_global_scale", GlobalScale::divided},
                            checkpoint));
    } else if (is_float) {
      TRY(read_mxfp4_module(module, checkpoint));
    } else {
      TRY(IntegerModule(config, module, checkpoint).read_packed());
    }
  }
  for (const std::string& module : checkpoint.modules_with("weight")) {
    if (checkpoint.find(module, "weight")->dtype_name != "I8") continue;
    TRY(IntegerModule(config, module, checkpoint).read_bytes());
  }
  return read_float8_tensors(config, checkpoint);
}

}  // namespace ruv
