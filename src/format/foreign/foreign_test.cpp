// Quantised matrices of other tools: goldens with the numbers that each layout stands for, settings
// that must change them, and pieces that do not fit each other.
#include "format/foreign/foreign.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/file.h"
#include "base/test_safetensors.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

// One golden: its pieces and its settings.
class ForeignGolden {
 public:
  explicit ForeignGolden(const std::string& name) {
    const std::string folder = RUV_SOURCE_DIR "/tests/golden/foreign/";
    const std::string path = folder + name + ".safetensors";
    file_ = std::make_unique<MappedFile>(*MappedFile::open(path));
    auto tensors = *parse_safetensors(file_->bytes(), path);
    for (SafetensorsTensor& tensor : tensors) {
      if (tensor.name == "expected") {
        expected_ = std::move(tensor);
      } else {
        pieces_.push_back(std::move(tensor));
      }
    }
    const MappedFile text = *MappedFile::open(folder + "settings.json");
    settings_ = (*parse_json(as_text(text.bytes()), "settings"))[name];
  }

  Json& settings() { return settings_; }
  std::vector<SafetensorsTensor>& pieces() { return pieces_; }
  SafetensorsTensor& piece(std::string_view name) {
    return *std::ranges::find(pieces_, name, &SafetensorsTensor::name);
  }

  // The tensor "m.weight", or the error.
  Result<TensorInfo> read() {
    const std::string source = "config.json";
    const ForeignConfig config = TRY(parse_foreign_config(Members(settings_, source, "q."), "q"));
    StoredTensors stored = {{"file", pieces_}};
    remarks_.clear();
    TRY(read_foreign_tensors(config, stored, remarks_));
    for (const SafetensorsTensor& tensor : stored[0].second) {
      if (tensor.name != "m.weight" || tensor.maker == nullptr) continue;
      return TensorInfo{.name = tensor.name,
                        .dtype = *tensor.dtype,
                        .shape = tensor.shape,
                        .bytes = tensor.bytes,
                        .maker = tensor.maker};
    }
    return fail(Code::not_found, "no tensor was made");
  }
  std::string error() {
    const auto read_tensor = read();
    return read_tensor ? "no error" : read_tensor.error().message();
  }
  // Whether every number is the golden's.
  bool is_expected(const TensorInfo& tensor) const {
    if (tensor.shape != expected_.shape) return false;
    std::vector<float> row(static_cast<size_t>(tensor.shape[1]));
    for (int64_t r = 0; r < tensor.shape[0]; ++r) {
      tensor.decode_row(r, row.data());
      for (int64_t i = 0; i < tensor.shape[1]; ++i) {
        const float mine = row[static_cast<size_t>(i)];
        if (mine != PieceNumbers(expected_).at(r * tensor.shape[1] + i)) return false;
      }
    }
    return true;
  }
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::unique_ptr<MappedFile> file_;
  std::vector<SafetensorsTensor> pieces_;
  SafetensorsTensor expected_;
  Json settings_;
  std::vector<std::string> remarks_;
};

TEST(Foreign, GoldensHaveTheNumbersOfTheirLayout) {
  struct Row {
    const char* name;
    DType dtype;
  };
  constexpr Row kRows[] = {
      {"gptq_4_bits_sym", DType::q4_0},
      {"gptq_4_bits_asym", DType::a4},
      {"gptq_3_bits_asym", DType::q4_0},
      {"gptq_2_bits_act-order", DType::f32},
      {"gptq_v2", DType::a4},
      {"gptq_v2_sym_8_bits", DType::q8_0},
      {"gptq_f32_scales", DType::a4_f32},
      {"awq_gemm", DType::a4},
      {"awq_gemv", DType::a4},
      {"compressed-tensors_int4_group_asym", DType::a4},
      {"compressed-tensors_int8_group", DType::q8_0},
      {"compressed-tensors_int4_act-order", DType::f32},
      {"compressed-tensors_w8a8_asym", DType::a8_f32},
      {"compressed-tensors_fp8_channel", DType::e4m3},
      {"compressed-tensors_nvfp4", DType::e2m1},
      {"compressed-tensors_mxfp4", DType::mxfp4},
      {"fp8_small_blocks", DType::e4m3},
      {"fp8_e5m2", DType::e5m2},
      {"modelopt_nvfp4", DType::e2m1},
      {"modelopt_nvfp4_factor_1", DType::nvfp4},
      {"bitsandbytes_nf4_nested", DType::nf4},
      {"bitsandbytes_nf4_odd_widths", DType::f32},
      {"bitsandbytes_fp4", DType::fp4},
      {"bitsandbytes_int8", DType::a8_f32},
      {"hqq_4_bits", DType::a4_f32},
      {"hqq_3_bits", DType::a4_f32},
      {"hqq_axis_0", DType::f32},
      {"bitnet", DType::a4_f32},
  };
  for (const Row& row : kRows) {
    ForeignGolden golden(row.name);
    const auto tensor = golden.read();
    ASSERT_TRUE(tensor) << row.name << ": " << tensor.error().message();
    EXPECT_EQ(std::string_view(format_of(tensor->dtype).name), format_of(row.dtype).name)
        << row.name;
    EXPECT_TRUE(golden.is_expected(*tensor)) << row.name;
  }
}

// A setting that says something else gives other numbers, or does not fit.
TEST(Foreign, EverySettingCounts) {
  struct Row {
    const char* name;
    const char* key;
    Json value;
  };
  const Row rows[] = {
      {"gptq_4_bits_asym", "checkpoint_format", "gptq_v2"},
      {"gptq_v2", "checkpoint_format", "gptq"},
      {"gptq_4_bits_asym", "bits", 8},
      {"gptq_4_bits_asym", "group_size", -1},
      {"gptq_4_bits_asym", "group_size", 16},
      {"awq_gemm", "version", "gemv"},
      {"awq_gemv", "version", "gemm"},
      {"awq_gemm", "group_size", 64},
      {"bitnet", "linear_class", "autobitlinear"},
      {"fp8_small_blocks", "weight_block_size", Json(std::vector<int64_t>{48, 16})},
  };
  for (const Row& row : rows) {
    ForeignGolden golden(row.name);
    golden.settings()[row.key] = row.value;
    const auto tensor = golden.read();
    EXPECT_FALSE(tensor && golden.is_expected(*tensor)) << row.name << ": " << row.key;
  }
}

// What says a module's layout in the file, taken away or with another value.
TEST(Foreign, EveryPieceCounts) {
  for (const char* const name :
       {"gptq_2_bits_act-order", "awq_gemm", "compressed-tensors_int4_group_asym",
        "compressed-tensors_int4_act-order", "compressed-tensors_nvfp4", "fp8_small_blocks",
        "modelopt_nvfp4", "bitsandbytes_nf4_nested", "bitsandbytes_int8", "bitnet"}) {
    const size_t n_pieces = ForeignGolden(name).pieces().size();
    for (size_t i = 0; i < n_pieces; ++i) {
      ForeignGolden golden(name);
      const std::string piece = golden.pieces()[i].name;
      if (piece.ends_with("weight_format")) continue;  // 0 is what its absence means
      golden.pieces().erase(golden.pieces().begin() + static_cast<std::ptrdiff_t>(i));
      const auto tensor = golden.read();
      EXPECT_FALSE(tensor && golden.is_expected(*tensor)) << name << " without " << piece;
    }
  }
}

TEST(Foreign, PiecesThatDoNotFitAreNamed) {
  ForeignGolden golden("gptq_4_bits_asym");
  std::erase_if(golden.pieces(), [](const SafetensorsTensor& t) { return t.name == "m.scales"; });
  EXPECT_EQ(golden.error(), "file: tensor 'm.scales' is missing");

  ForeignGolden order("gptq_2_bits_act-order");
  SafetensorsTensor& groups = order.piece("m.g_idx");
  std::vector<std::byte> bytes(groups.bytes.begin(), groups.bytes.end());
  bytes[7] = std::byte{0x80};
  groups.bytes = bytes;
  EXPECT_NE(order.error().find("'m.g_idx' number 1 is -21474836"), std::string::npos)
      << order.error();

  ForeignGolden zeros("awq_gemm");
  zeros.piece("m.qzeros").shape = {1, 1};
  EXPECT_NE(zeros.error().find("'m.scales' and qzeros do not fit 8 outputs and 64 inputs"),
            std::string::npos)
      << zeros.error();

  ForeignGolden state("bitsandbytes_nf4_nested");
  SafetensorsTensor& json = state.piece("m.weight.quant_state.bitsandbytes__nf4");
  const std::string text = R"({"shape": [2147483647, 2147483647], "blocksize": 64})";
  json.bytes = std::as_bytes(std::span(text));
  EXPECT_NE(state.error().find("'m.weight' has 256 bytes for (2147483647, 2147483647)"),
            std::string::npos)
      << state.error();
}

TEST(Foreign, WhatIsNotHonouredIsRefusedByName) {
  struct Row {
    const char* name;
    const char* key;
    Json value;
    const char* error;
  };
  const Row rows[] = {
      {"gptq_v2", "bits", 5, "'q.bits' is 5"},
      {"gptq_v2", "is_marlin_format", true, "'q.is_marlin_format' is true"},
      {"gptq_v2", "checkpoint_format", "marlin", "'q.checkpoint_format' is \"marlin\""},
      {"gptq_v2", "group_size", "big", "'q.group_size' is not an integer"},
      {"awq_gemm", "version", "gemv_fast", "'q.version' is \"gemv_fast\""},
      {"compressed-tensors_mxfp4", "format", "marlin-24", "'q.format' is \"marlin-24\""},
      {"compressed-tensors_mxfp4",
       "sparsity_config",
       {{"format", "sparse-bitmask"}},
       "'q.sparsity_config.format' is \"sparse-bitmask\""},
      {"compressed-tensors_mxfp4", "transform_config", {{"R1", 1}}, "'q.transform_config' is"},
      {"fp8_e5m2", "fmt", "e3m4", "'q.fmt' is \"e3m4\""},
      {"bitnet", "quantization_mode", "online", "'q.quantization_mode' is \"online\""},
      {"bitsandbytes_fp4", "bnb_4bit_quant_storage", "bfloat16", "'q.bnb_4bit_quant_storage' is"},
  };
  for (const Row& row : rows) {
    ForeignGolden golden(row.name);
    golden.settings()[row.key] = row.value;
    EXPECT_NE(golden.error().find(row.error), std::string::npos) << golden.error();
  }
  Json unknown = Json::object();
  unknown["quant_method"] = "exl2";
  EXPECT_FALSE(is_foreign_method(unknown));
}

TEST(Foreign, RemarksSayWhatIsNotUsed) {
  ForeignGolden golden("fp8_e5m2");
  golden.settings()["mystery"] = 3;
  ASSERT_TRUE(golden.read());
  ASSERT_EQ(golden.remarks().size(), 2U);
  EXPECT_NE(golden.remarks()[0].find("activations are not quantised"), std::string::npos);
  EXPECT_NE(golden.remarks()[1].find("'q.mystery' (3)"), std::string::npos);
  ForeignGolden order("gptq_2_bits_act-order");
  ASSERT_TRUE(order.read());
  EXPECT_NE(order.remarks().back().find("1 matrices are held as f32"), std::string::npos);
}

}  // namespace
}  // namespace ruv
