// The same logits from every instruction set: a small random Llama, written in each weight format
// and asked with each type of keys and values, and one with experts, has one hash of all its
// logits. All tables of all machines share the hashes committed here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "format/gguf_writer.h"
#include "format/quantize.h"
#include "kernels/kernels.h"
#include "ruv/kv_type.h"
#include "ruv/logits.h"
#include "ruv/model.h"

namespace ruv::same_logits_test {
namespace {

constexpr int64_t kEmbd = 256;
constexpr int64_t kVocab = 96;
constexpr int64_t kLayers = 2;
constexpr int64_t kFf = 512;
constexpr int64_t kKv = 128;  // two heads of 64
constexpr int64_t kExpertFf = 256;
constexpr int64_t kSharedFf = 320;

struct Matrix {
  std::string name;
  std::vector<int64_t> shape;
};

// The feed-forwards of a model. No experts: a gated one. grouped: experts are chosen by sigmoids, a
// bias and groups, beside one that all rows share.
struct FeedForwards {
  int64_t n_experts = 0;
  bool grouped = false;
};

std::vector<Matrix> matrices(FeedForwards ff) {
  const int64_t n_experts = ff.n_experts;
  std::vector<Matrix> all = {{"token_embd.weight", {kVocab, kEmbd}},
                             {"output_norm.weight", {kEmbd}},
                             {"output.weight", {kVocab, kEmbd}}};
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    all.push_back({block + "attn_norm.weight", {kEmbd}});
    all.push_back({block + "attn_q.weight", {kEmbd, kEmbd}});
    all.push_back({block + "attn_k.weight", {kKv, kEmbd}});
    all.push_back({block + "attn_v.weight", {kKv, kEmbd}});
    all.push_back({block + "attn_output.weight", {kEmbd, kEmbd}});
    all.push_back({block + "ffn_norm.weight", {kEmbd}});
    if (n_experts == 0) {
      all.push_back({block + "ffn_gate.weight", {kFf, kEmbd}});
      all.push_back({block + "ffn_up.weight", {kFf, kEmbd}});
      all.push_back({block + "ffn_down.weight", {kEmbd, kFf}});
      continue;
    }
    all.push_back({block + "ffn_gate_inp.weight", {n_experts, kEmbd}});
    all.push_back({block + "ffn_gate_exps.weight", {n_experts, kExpertFf, kEmbd}});
    all.push_back({block + "ffn_up_exps.weight", {n_experts, kExpertFf, kEmbd}});
    all.push_back({block + "ffn_down_exps.weight", {n_experts, kEmbd, kExpertFf}});
    if (!ff.grouped) continue;
    all.push_back({block + "exp_probs_b.bias", {n_experts}});
    all.push_back({block + "ffn_gate_shexp.weight", {kSharedFf, kEmbd}});
    all.push_back({block + "ffn_up_shexp.weight", {kSharedFf, kEmbd}});
    all.push_back({block + "ffn_down_shexp.weight", {kEmbd, kSharedFf}});
  }
  return all;
}

// Weights are multiples of 2^-12, so that every machine makes the same ones.
std::vector<float> random_weights(const Matrix& matrix, Rng& rng) {
  int64_t n = 1;
  for (const int64_t length : matrix.shape) n *= length;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) {
    const auto step = static_cast<float>(rng.below(1025)) - 512.0F;
    v = matrix.shape.size() == 1 ? 1.0F + step * 0x1p-12F : step * 0x1p-12F;
  }
  return x;
}

Status write_model(const std::string& path, FeedForwards ff) {
  GgufWriter writer = TRY(GgufWriter::create(path));
  writer.add_text("general.architecture", "llama");
  writer.add_u32("llama.context_length", 512);
  writer.add_u32("llama.embedding_length", kEmbd);
  writer.add_u32("llama.block_count", kLayers);
  writer.add_u32("llama.feed_forward_length", kFf);
  writer.add_u32("llama.attention.head_count", 4);
  writer.add_u32("llama.attention.head_count_kv", 2);
  writer.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add_f32("llama.rope.freq_base", 500000);
  if (ff.n_experts > 0) {
    writer.add_u32("llama.expert_count", static_cast<uint32_t>(ff.n_experts));
    writer.add_u32("llama.expert_used_count", 3);
    writer.add_u32("llama.expert_feed_forward_length", kExpertFf);
  }
  if (ff.grouped) {
    writer.add_u32("llama.expert_gating_func", 2);
    writer.add_u32("llama.expert_group_count", 4);
    writer.add_u32("llama.expert_group_used_count", 2);
    writer.add_f32("llama.expert_weights_scale", 2.5F);
    writer.add_u32("llama.expert_shared_feed_forward_length", kSharedFf);
  }
  const std::vector<Matrix> all = matrices(ff);
  for (const Matrix& m : all) writer.declare_tensor(m.name, DType::f32, m.shape);
  TRY(writer.begin_tensors());
  Rng rng(7);
  for (const Matrix& m : all) {
    const std::vector<float> x = random_weights(m, rng);
    TRY(writer.write(std::as_bytes(std::span(x))));
  }
  return writer.commit();
}

// FNV-1a of the bits of all logits.
uint64_t logits_hash(const Model& model, KvType kv_type, int64_t n_tokens) {
  std::vector<Token> ids;
  Rng rng(3);
  for (int64_t i = 0; i < n_tokens; ++i) ids.push_back(static_cast<Token>(rng.below(kVocab)));
  uint64_t hash = 0xCBF29CE484222325ULL;
  const Status status = compute_logits(
      model, ids, {.n_threads = 2, .chunk_tokens = 77, .all = true, .kv_type = kv_type},
      [&](int64_t, std::span<const float> row) {
        for (const std::byte b : std::as_bytes(row)) {
          hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001B3ULL;
        }
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return hash;
}

std::string hex(uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llX", static_cast<unsigned long long>(hash));
  return text;
}

struct LogitsCase {
  const char* weights;
  KvType kv;
  int64_t n_tokens;  // 300: more than one chunk of keys
  uint64_t expected;
  FeedForwards ff = {};
};

// f32 and f16 agree because the weights have few bits.
constexpr LogitsCase kCases[] = {
    {"q8_0", KvType::f16, 300, 0x2E5C623108AA2EA6ULL},
    {"q8_0", KvType::int8, 300, 0x8A018200AA2F6F03ULL},
    {"q8_0", KvType::int4, 300, 0xFCA339FC0C41ABC6ULL},
    {"q8_0", KvType::int2, 300, 0x26B5FFC27F28E1CCULL},
    {"f32", KvType::int8, 20, 0x3955C0AF25B25822ULL},
    {"f16", KvType::int8, 20, 0x3955C0AF25B25822ULL},
    {"bf16", KvType::int8, 20, 0x7C7180DD32D5A818ULL},
    {"q4_0", KvType::int8, 20, 0xCCD555D9D3872EB2ULL},
    {"q4_1", KvType::int8, 20, 0xC71B99530BBA0098ULL},
    {"q5_0", KvType::int8, 20, 0xB0645574BA9B8E70ULL},
    {"q5_1", KvType::int8, 20, 0xF8827B1AB5CFF748ULL},
    {"q2_k", KvType::int8, 20, 0x8172AC77A91A531FULL},
    {"q3_k_m", KvType::int8, 20, 0xD9C71213F46E0177ULL},
    {"q4_k_m", KvType::int8, 20, 0x4F4F9018856DAE21ULL},
    {"q5_k_m", KvType::int8, 20, 0x9AF13F9F455CDA30ULL},
    {"q6_k", KvType::int8, 20, 0x948D39748592F5C4ULL},
    {"iq4_nl", KvType::int8, 20, 0xCF8C1C8E2DC83749ULL},
    {"iq4_xs", KvType::int8, 20, 0x879EDDA937940EF3ULL},
    {"f32", KvType::int8, 20, 0x1B37B3942E46EEABULL, {7}},
    {"q8_0", KvType::f16, 300, 0x2AAAAE1C23F7E085ULL, {7}},
    {"q4_k_m", KvType::int8, 20, 0x071F97FD18849D2DULL, {7}},
    {"f32", KvType::int8, 20, 0x831A9519F6A82624ULL, {8, true}},
    {"q8_0", KvType::f16, 300, 0xA840806172D043F3ULL, {8, true}},
};

class SameLogits : public testing::TestWithParam<LogitsCase> {};

TEST_P(SameLogits, OnEveryInstructionSet) {
  const LogitsCase& c = GetParam();
  const std::string folder = testing::TempDir() + "ruv_logits_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_model(folder + "/f32.gguf", c.ff).ok());
  const auto plain = ModelFile::open(folder + "/f32.gguf");
  ASSERT_TRUE(plain.has_value()) << plain.error().message();
  const std::string path = folder + "/" + c.weights + "_.gguf";
  const Status written = quantize_model(**plain, c.weights, path);
  ASSERT_TRUE(written.ok()) << written.message();
  std::string tables;  // printed, so that a run under an emulator shows which it has
  for (const Kernels* table : all_kernels()) {
    if (!table->portable) continue;
    tables += std::string(" ") + table->isa;
    LoadOptions options;
    options.isa = table->isa;
    const auto model = load_model(path, options);
    ASSERT_TRUE(model.has_value()) << model.error().message();
    EXPECT_EQ(hex(logits_hash(**model, c.kv, c.n_tokens)), hex(c.expected)) << table->isa;
  }
  LoadOptions options;
  options.portable = true;
  const auto model = load_model(path, options);
  ASSERT_TRUE(model.has_value()) << model.error().message();
  EXPECT_EQ(hex(logits_hash(**model, c.kv, c.n_tokens)), hex(c.expected)) << "portable";
  std::printf("tables:%s\n", tables.c_str());
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, SameLogits, testing::ValuesIn(kCases), [](const auto& info) {
  return std::string(info.param.weights) + "_" + std::string(kv_type_name(info.param.kv)) +
         (info.param.ff.grouped         ? "_grouped"
          : info.param.ff.n_experts > 0 ? "_experts"
                                        : "");
});

}  // namespace
}  // namespace ruv::same_logits_test
