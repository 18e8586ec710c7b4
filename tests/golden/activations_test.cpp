// Every activation of a real model against those its training framework wrote down: the decoder
// runs with operations that note each result. Needs the shared data.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/worker_pool.h"
#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "device/ops.h"
#include "model/decoder.h"

namespace ruv::activations_test {
namespace {

// Forwards every operation and keeps a copy of what it wrote.
class NotingOps final : public Ops {
 public:
  NotingOps(Ops& ops, Device& device) : ops_(ops), device_(device) {}
  const std::vector<std::vector<float>>& notes() const { return notes_; }

  void begin(const Batch& batch, std::span<const RopePlan> plans) override {
    ops_.begin(batch, plans);
  }
  void embed(View out, const Weight& table, std::span<const int32_t> tokens, float scale) override {
    ops_.embed(out, table, tokens, scale);
    note(out);
  }
  void add_embedding(View x, const Weight& table, std::span<const Position> positions) override {
    ops_.add_embedding(x, table, positions);
    note(x);
  }
  void add_rows(View x, const Weight& table, std::span<const int32_t> rows) override {
    ops_.add_rows(x, table, rows);
    note(x);
  }
  void copy(View out, View x) override { ops_.copy(out, x); }
  void norm(View out, View x, const Vector& weight, const Vector& bias,
            NormParams params) override {
    ops_.norm(out, x, weight, bias, params);
    note(out);
  }
  void matmul(View out, View x, const Weight& weight, const Vector& bias) override {
    ops_.matmul(out, x, weight, bias);
    note(out);
  }
  void rope(View x, int64_t head_dim, const RopePlan& plan) override {
    ops_.rope(x, head_dim, plan);
    note(x);
  }
  void scale_by_position(View x, const PositionScale& scale) override {
    ops_.scale_by_position(x, scale);
    note(x);
  }
  void matmul_heads(View out, View x, std::span<const Weight> heads) override {
    ops_.matmul_heads(out, x, heads);
    note(out);
  }
  void join(View out, View a, View b) override { ops_.join(out, a, b); }
  void store_kv(int64_t layer, View k, View v, const Vector& key_centre) override {
    ops_.store_kv(layer, k, v, key_centre);
  }
  void choose_keys(View chosen, View q, View weights, const ChooseParams& params) override {
    ops_.choose_keys(chosen, q, weights, params);
  }
  void attend(View out, View q, const AttendParams& params) override {
    ops_.attend(out, q, params);
    note(out);
  }
  void short_conv(View out, View bcx, const ShortConvParams& params) override {
    ops_.short_conv(out, bcx, params);
    note(out);
  }
  void convolve(View x, const ConvolveParams& params) override {
    ops_.convolve(x, params);
    note(x);
  }
  void delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) override {
    ops_.delta_rule(out, in, params);
    note(out);
  }
  void gated_recurrence(View x, View input_gate, View decay_gate,
                        const GatedRecurrenceParams& params) override {
    ops_.gated_recurrence(x, input_gate, decay_gate, params);
    note(x);
  }
  void matrix_memory(View out, const MatrixMemoryInputs& in,
                     const MatrixMemoryParams& params) override {
    ops_.matrix_memory(out, in, params);
    note(out);
  }
  void scan_columns(View out, const ColumnScanInputs& in, const ColumnScanParams& params) override {
    ops_.scan_columns(out, in, params);
    note(out);
  }
  void scan_heads(View out, const HeadScanInputs& in, const HeadScanParams& params) override {
    ops_.scan_heads(out, in, params);
    note(out);
  }
  void token_shift(View out, View x, const TokenShiftParams& params) override {
    ops_.token_shift(out, x, params);
  }
  void lerp(View out, View x, View y, View share) override { ops_.lerp(out, x, y, share); }
  void multiply(View x, View y) override { ops_.multiply(x, y); }
  void average(View out, View k, View v, const AverageParams& params) override {
    ops_.average(out, k, v, params);
    note(out);
  }
  void time_mix(View out, const TimeMixInputs& in, const TimeMixParams& params) override {
    ops_.time_mix(out, in, params);
    note(out);
  }
  void route(View routes, View logits, const Vector& choice_bias,
             const RouteParams& params) override {
    ops_.route(routes, logits, choice_bias, params);
    note(routes);
  }
  void experts(View out, View x, View routes, const ExpertsParams& params) override {
    ops_.experts(out, x, routes, params);
    note(out);
  }
  void gate(View gate, View up, Act act) override {
    ops_.gate(gate, up, act);
    note(gate);
  }
  void activate(View x, Act act) override {
    ops_.activate(x, act);
    note(x);
  }
  void clamp(View x, float limit) override {
    ops_.clamp(x, limit);
    note(x);
  }
  void scale(View x, float factor) override {
    ops_.scale(x, factor);
    note(x);
  }
  void scale_columns(View x, const Vector& factors, const Vector& shifts) override {
    ops_.scale_columns(x, factors, shifts);
    note(x);
  }
  void scale_rows(View x, View factors) override {
    ops_.scale_rows(x, factors);
    note(x);
  }
  void add(View x, View y) override {
    ops_.add(x, y);
    note(x);
  }
  void add_vector(View x, const Vector& y, float factor) override {
    ops_.add_vector(x, y, factor);
    note(x);
  }
  void add_scaled(View x, View y, const RowFactors& factors) override {
    ops_.add_scaled(x, y, factors);
    note(x);
  }
  void cut_below(View x, float deviations) override {
    ops_.cut_below(x, deviations);
    note(x);
  }
  void match_size(View x, View like, float least) override {
    ops_.match_size(x, like, least);
    note(x);
  }
  void gather(View out, View x, std::span<const int32_t> rows) override {
    ops_.gather(out, x, rows);
  }
  void xielu(View x, const Xielu& numbers) override {
    ops_.xielu(x, numbers);
    note(x);
  }
  void softcap(View x, float cap) override {
    ops_.softcap(x, cap);
    note(x);
  }

 private:
  void note(View v) {
    notes_.emplace_back(static_cast<size_t>(v.n_rows * v.n_cols));
    device_.download(v.start, std::as_writable_bytes(std::span(notes_.back())));
  }

  Ops& ops_;
  Device& device_;
  std::vector<std::vector<float>> notes_;
};

std::string shared_file(const std::string& name) {
  const char* dir = std::getenv("RUV_DATA_DIR");
  return (dir != nullptr ? std::string(dir) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

std::vector<float> floats_of_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    if ((n += 6) >= 8) bytes.push_back(static_cast<char>(bits >> (n -= 8) & 0xFF));
  }
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

// The notes of one sequence in the order of the decoder's operations, by the framework's names.
constexpr const char* kFirstBlock[] = {"",      "x",         "ln1", "q",  "k",    "v",   "y",
                                       "yProj", "attnResid", "ln2", "fc", "gelu", "mlp", "block0"};
constexpr size_t kBlockOps = 12;  // from one block's end to the next block's

double worst(const std::vector<float>& seen, const std::vector<float>& all, size_t sequence,
             size_t first_col, size_t n_cols, size_t row_cols) {
  double result = 0;
  const size_t n_rows = seen.size() / n_cols;
  for (size_t row = 0; row < n_rows; ++row) {
    for (size_t col = 0; col < n_cols; ++col) {
      const float want = all[(sequence * n_rows + row) * row_cols + first_col + col];
      result = std::max(result, std::fabs(double{seen[row * n_cols + col]} - double{want}));
    }
  }
  return result;
}

TEST(Activations, EveryStepOfGptNanoSort) {
  const std::string path = shared_file("models/gpt-nano-sort/derived/gpt-nano-sort.f32.gguf");
  if (!file_exists(path)) GTEST_SKIP() << path << " is not here";
  const std::string partials_path =
      shared_file("models/gpt-nano-sort/gpt-nano-sort-t0-partials.json");
  const Json partials = parse_json(read_text_file(partials_path).value(), "partials").value();
  const auto golden = [&](const std::string& name) {
    return floats_of_base64(partials.at(name).at("data").get<std::string>());
  };
  LoadOptions options;
  options.isa = "ref";
  const auto model = load_model(path, options);
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const Model& m = **model;
  const std::vector<float> inputs = golden("idx");
  constexpr int64_t kTokens = 11;
  // The keys and values are half floats here, float32 there.
  constexpr double kBound = 3e-3;

  for (size_t sequence = 0; sequence < 3; ++sequence) {
    WorkerPool pool(1);
    KvPages pages = std::move(*KvPages::create(m.cache_layout(), 1));
    const auto ops =
        std::move(*m.device->make_ops(pool, pages, {kTokens, m.h.n_ff, m.h.head_dim, 1}));
    const Activations activations = std::move(*Activations::create(m, kTokens, kTokens));
    PagePool free_pages(1);
    PageList list(free_pages);
    ASSERT_TRUE(list.grow(kTokens, pages));
    BatchBuilder batch;
    batch.begin_sequence(0, list.pages());
    for (int32_t i = 0; i < kTokens; ++i) {
      batch.add(static_cast<int32_t>(inputs[sequence * kTokens + static_cast<size_t>(i)]));
    }
    batch.want_logits(kTokens);
    NotingOps noting(*ops, *m.device);
    (void)decode(noting, m, batch.batch(), activations, kTokens);

    const std::vector<std::vector<float>>& notes = noting.notes();
    const size_t last = std::size(kFirstBlock) - 1;
    ASSERT_EQ(notes.size(), last + 1 + 2 * kBlockOps + 2);
    for (size_t i = 1; i <= last; ++i) {
      const std::string name = kFirstBlock[i];
      const size_t part = name == "k" ? 1 : name == "v" ? 2 : 0;
      const bool fused = name == "q" || name == "k" || name == "v";
      const size_t n_cols = notes[i].size() / kTokens;
      EXPECT_LE(worst(notes[i], golden(fused ? "qkv" : name), sequence, part * n_cols, n_cols,
                      fused ? 3 * n_cols : n_cols),
                kBound)
          << name << " of sequence " << sequence;
    }
    const auto check = [&](size_t at, const char* name) {
      const size_t n_cols = notes[at].size() / kTokens;
      EXPECT_LE(worst(notes[at], golden(name), sequence, 0, n_cols, n_cols), kBound)
          << name << " of sequence " << sequence;
    };
    check(last + kBlockOps, "block1");
    check(last + 2 * kBlockOps, "block2");
    check(notes.size() - 2, "ln_f");
    check(notes.size() - 1, "lm_head");
  }
}

}  // namespace
}  // namespace ruv::activations_test
