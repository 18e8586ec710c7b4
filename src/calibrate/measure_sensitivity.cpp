// One run without noise keeps the distributions at some positions; then one run for each tensor
// compares with them. Noise is drawn anew for each tensor from the same seed: results do not depend
// on the order of tensors or the number of threads.
#include "calibrate/measure_sensitivity.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "format/gguf_export.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

constexpr int64_t kLogitBytes = int64_t{128} << 20;
constexpr uint64_t kNoiseSeed = 20261128;

// About normal, with a mean square of 1: the sum of four uniform numbers.
float drawn_noise(Rng& rng) {
  const double sum = rng.uniform() + rng.uniform() + rng.uniform() + rng.uniform();
  return static_cast<float>((sum - 2.0) * std::sqrt(3.0));
}

// Adds noise to the products of one tensor.
class ProductNoise final : public ProductWatcher {
 public:
  ProductNoise(const InputSquares& squares, std::string_view tensor, double deviation)
      : squares_(squares),
        tensor_(tensor),
        deviation_(static_cast<float>(deviation)),
        rng_(kNoiseSeed) {}

  void on_product(const Weight&, HostRows) override {}
  void on_result(const Weight& weight, HostRows out) override {
    if (squares_.name_of(weight) != tensor_) return;
    for (int64_t i = 0; i < out.n_rows * out.n_cols; ++i) {
      out.start[i] += deviation_ * drawn_noise(rng_);
    }
  }

 private:
  const InputSquares& squares_;
  std::string_view tensor_;
  float deviation_;
  Rng rng_;
};

// The root of the mean square of a tensor's products, as its importance and its numbers have it.
double product_size(const ExportTensor& tensor, const ImportanceEntry& entry) {
  const int64_t n_matrices = tensor.shape.size() > 2 ? tensor.shape.front() : 1;
  const int64_t n_columns = tensor.n_columns();
  const std::vector<float> means = mean_squares(entry, n_columns, n_matrices);
  const int64_t rows_of_matrix = std::max<int64_t>(tensor.n_rows() / n_matrices, 1);
  std::vector<float> row(static_cast<size_t>(n_columns));
  double sum = 0;
  for (int64_t r = 0; r < tensor.n_rows(); ++r) {
    read_row(tensor, r, row.data());
    const float* const weights = means.data() + r / rows_of_matrix * n_columns;
    for (int64_t c = 0; c < n_columns; ++c) {
      const auto number = static_cast<double>(row[static_cast<size_t>(c)]);
      sum += static_cast<double>(weights[c]) * number * number;
    }
  }
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(tensor.n_rows(), 1)));
}

// log softmax, in place.
void to_log_probabilities(std::span<float> logits) {
  const double max = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - max);
  const double log_sum = max + std::log(sum);
  for (float& x : logits) x = static_cast<float>(static_cast<double>(x) - log_sum);
}

// The distributions of the model at some positions of all chunks.
class Distributions {
 public:
  Distributions(const Model& model, std::span<const std::vector<Token>> chunks, int n_threads)
      : model_(model), chunks_(chunks), n_threads_(n_threads) {
    int64_t n_tokens = 0;
    for (const std::vector<Token>& chunk : chunks) n_tokens += std::ssize(chunk);
    const int64_t room = kLogitBytes / (model.h.n_vocab * int64_t{sizeof(float)});
    stride_ = std::max<int64_t>(1, (n_tokens + room - 1) / std::max<int64_t>(room, 1));
  }

  Status keep() {
    return each([this](std::span<float> logits) {
      kept_.insert(kept_.end(), logits.begin(), logits.end());
    });
  }
  // KL of what was kept and what the model gives now, in nats a position.
  Result<double> divergence() const {
    double sum = 0;
    int64_t n = 0;
    TRY(each([&](std::span<float> logits) {
      const float* const kept = kept_.data() + n * std::ssize(logits);
      for (size_t i = 0; i < logits.size(); ++i) {
        const auto p = static_cast<double>(kept[i]);
        sum += std::exp(p) * (p - static_cast<double>(logits[i]));
      }
      ++n;
    }));
    return n > 0 ? sum / static_cast<double>(n) : 0.0;
  }

 private:
  Status each(const std::function<void(std::span<float>)>& f) const {
    LogitsOptions options;
    options.n_threads = n_threads_;
    options.all = true;
    std::vector<float> row;
    for (const std::vector<Token>& chunk : chunks_) {
      TRY(compute_logits(model_, chunk, options, [&](int64_t i, std::span<const float> logits) {
        if (i % stride_ != 0) return;
        row.assign(logits.begin(), logits.end());
        to_log_probabilities(row);
        f(row);
      }));
    }
    return {};
  }

  const Model& model_;
  std::span<const std::vector<Token>> chunks_;
  int n_threads_;
  int64_t stride_ = 1;
  std::vector<float> kept_;
};

}  // namespace

Status measure_sensitivity(const WatchedModel& watched, std::span<const std::vector<Token>> chunks,
                           const SensitivityOptions& options, Importance& importance) {
  Distributions distributions(*watched.model, chunks, options.n_threads);
  watched.watch->to = nullptr;
  TRY(distributions.keep());
  const auto n = std::ssize(importance.entries);
  int64_t n_done = 0;
  for (const ExportTensor& tensor : TRY(export_tensors(*watched.model->file))) {
    const auto found = importance.entries.find(tensor.name);
    if (found == importance.entries.end()) continue;
    if (options.on_tensor && !options.on_tensor(n_done, n)) {
      return fail(Code::cancelled, "stopped after {} of {} tensors", n_done, n);
    }
    const double size = product_size(tensor, found->second);
    ProductNoise noise(*watched.squares, tensor.name, size * std::sqrt(kNoiseShare));
    watched.watch->to = &noise;
    const Result<double> divergence = distributions.divergence();
    watched.watch->to = nullptr;
    if (!divergence) return divergence.error();
    found->second.sensitivity = static_cast<float>(std::max(*divergence, 0.0) / kNoiseShare);
    ++n_done;
  }
  return {};
}

}  // namespace ruv
