#include "learn/gradient_model.h"

#include <algorithm>
#include <cmath>

#include "base/allocation.h"
#include "base/elementary.h"

namespace ruv {
namespace {

// ln Σ exp of a row of logits, computed so that it neither overflows nor vanishes.
template <class T>
double log_of_sum(const T* logits, int64_t n) {
  double most = double{logits[0]};
  for (int64_t c = 1; c < n; ++c) most = std::max(most, double{logits[c]});
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += exact_exp(double{logits[c]} - most);
  return exact_log(sum) + most;
}

// The first judged token and the last one.
std::pair<size_t, size_t> judged_range(const JudgedText& text) {
  size_t first = 1;
  while (first < text.tokens.size() && text.weights[first] == 0) ++first;
  size_t last = text.tokens.size() - 1;
  while (last > first && text.weights[last] == 0) --last;
  return {first, last};
}

// The rows of a step that predict the tokens of that range.
BatchBuilder rows_of(const JudgedText& text, AdapterMix adapters) {
  const auto [first, last] = judged_range(text);
  BatchBuilder rows;
  rows.begin_sequence(0, {});
  rows.set_adapters(adapters);
  rows.add(std::span(text.tokens).first(last));
  rows.want_logits(static_cast<int64_t>(last - first + 1));
  return rows;
}

}  // namespace

int64_t JudgedText::n_judged() const {
  return std::ranges::count_if(weights, [](float w) { return w != 0; });
}

template <class T>
Result<std::unique_ptr<GradientModel<T>>> GradientModel<T>::create(const std::string& path,
                                                                   const GradientOptions& options) {
  if (options.max_rows < 1 || options.n_threads < 0) {
    return fail(Code::invalid, "learning: {} rows, {} threads", options.max_rows,
                options.n_threads);
  }
  std::unique_ptr<GradientModel> made(new GradientModel(options));
  TRY(made->prepare(path));
  return made;
}

// A draft head is left out: it changes none of the model's logits.
template <class T>
Status GradientModel<T>::prepare(const std::string& path) {
  LoadOptions load;
  load.n_threads = options_.n_threads;
  load.draft_head = false;
  model_ = TRY(load_model_on(device_, path, load));
  parameters_ = TRY(Parameters<T>::choose(*model_, *device_, [](auto) { return false; }));
  const int64_t first = TRY(first_layer());
  LowRankOptions low_rank{.rank = options_.rank, .alpha = options_.alpha};
  low_rank.adapts = [&](std::string_view tensor) {
    for (int64_t layer = first; layer < model_->h.n_layers; ++layer) {
      for (const std::string& name : options_.matrices) {
        if (tensor == fmt::format("blk.{}.{}.weight", layer, name)) return true;
      }
    }
    return false;
  };
  adapter_ = TRY(TrainedAdapter<T>::create(*model_, *device_, low_rank, parameters_));
  activations_ = TRY(Activations::create(*model_, options_.max_rows, options_.max_rows,
                                         adapter_->adapter().max_rank()));
  ops_ = device_->make_ops(pool_);
  return {};
}

// Layers from the last one on, as long as there is room.
template <class T>
Result<int64_t> GradientModel<T>::first_layer() const {
  int64_t left = options_.max_bytes / int64_t{sizeof(float)};
  int64_t first = model_->h.n_layers;
  while (first > 0 && model_->h.n_layers - first < options_.n_layers) {
    int64_t n = 0;
    for (const RoleRow& row : role_rows()) {
      if (std::ranges::find(options_.matrices, row.tensor) == options_.matrices.end()) continue;
      const Weight& base = model_->layers[static_cast<size_t>(first - 1)][row.role].weight;
      n += options_.rank * (base.n_in + base.n_out);
    }
    if (n > left) break;
    left -= n;
    --first;
  }
  if (first < model_->h.n_layers) return first;
  return fail(Code::invalid,
              "learning: {} bytes have no room for the adapter of one layer; choose fewer matrices",
              options_.max_bytes);
}

template <class T>
double GradientModel<T>::base_norm(const AdaptedModule& module) {
  const Weight& weight = model_->layers[static_cast<size_t>(module.layer)][module.role].weight;
  const TrainMatrix<T>& matrix = device_->matrices().of(weight);
  std::vector<T> row(static_cast<size_t>(matrix.n_in()));
  double sum = 0;
  for (int64_t i = 0; i < matrix.n_out(); ++i) {
    matrix.read_row(i, row.data());
    for (const T x : row) sum += double{x} * double{x};
  }
  return std::sqrt(sum);
}

template <class T>
void GradientModel<T>::put(std::span<const T> numbers) {
  for (const Parameter<T>& group : groups()) {
    std::ranges::copy(numbers.first(group.values.size()), group.values.begin());
    numbers = numbers.subspan(group.values.size());
  }
}

template <class T>
std::vector<T> GradientModel<T>::numbers() const {
  std::vector<T> all;
  for (const Parameter<T>& group : groups()) {
    all.insert(all.end(), group.values.begin(), group.values.end());
  }
  return all;
}

template <class T>
std::vector<T> GradientModel<T>::gradient() const {
  std::vector<T> all;
  for (const Parameter<T>& group : groups()) {
    all.insert(all.end(), group.gradient.begin(), group.gradient.end());
  }
  return all;
}

template <class T>
Status GradientModel<T>::check(const JudgedText& text) const {
  const auto n = std::ssize(text.tokens);
  if (std::ssize(text.weights) != n || text.n_judged() == 0 || text.weights[0] != 0) {
    return fail(Code::invalid, "learning: a text of {} tokens with {} weights, {} of them not 0", n,
                text.weights.size(), text.n_judged());
  }
  if (n - 1 > options_.max_rows) {
    return fail(Code::invalid, "learning: a text of {} tokens; there is room for {}", n,
                options_.max_rows + 1);
  }
  for (const int32_t token : text.tokens) {
    if (token < 0 || token >= model_->h.n_vocab) {
      return fail(Code::invalid, "learning: token {} is not one of {}", token, model_->h.n_vocab);
    }
  }
  if (std::ranges::all_of(text.weights, [](float w) { return std::isfinite(w); })) return {};
  return fail(Code::invalid, "learning: a weight is not finite");
}

// Memory of the tape is the standard library's, which reports that it ran out by an exception.
template <class T>
template <class F>
Status GradientModel<T>::compute(const JudgedText& text, Beside beside, bool learns, F f) {
  TRY(check(text));
  device_->forgive();
  const bool had_memory = try_allocating([&] {
    const BatchBuilder rows =
        rows_of(text, beside == Beside::adapter ? adapter_->mix() : AdapterMix());
    if (learns) device_->tape().record(0);
    const auto output = decode(*ops_, *model_, rows.batch(), *activations_, options_.max_rows);
    if (!device_->failure().ok()) return;
    f(device_->memory().numbers(output->logits, learns));
    if (learns) device_->tape().backward();
  });
  device_->tape().stop();
  device_->tape().clear();
  if (!had_memory) return fail(Code::out_of_memory, "learning: no memory for a text");
  return device_->failure();
}

// d loss / d logit c = w (softmax(logits)[c] - [c is the token]).
template <class T>
Result<double> GradientModel<T>::add_gradient(const JudgedText& text, double scale) {
  double sum = 0;
  TRY(compute(text, Beside::adapter, true, [&](const Adjoined<T>& logits) {
    const size_t first = judged_range(text).first;
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      const double weight = text.weights[first + static_cast<size_t>(i)];
      if (weight == 0) continue;
      const auto token = text.tokens[first + static_cast<size_t>(i)];
      const T* const row = logits.row(i);
      const double total = log_of_sum(row, logits.n_cols);
      for (int64_t c = 0; c < logits.n_cols; ++c) {
        const double share = exact_exp(double{row[c]} - total);
        logits.adjoint(i)[c] += static_cast<T>(scale * weight * (share - (c == token ? 1 : 0)));
      }
      sum += weight * (total - double{row[token]});
    }
  }));
  if (std::isfinite(sum)) return sum;
  return fail(Code::invalid, "learning: the loss of a text is {}", sum);
}

// d KL(p ‖ q) / d logit c of q = q[c] - p[c].
template <class T>
Result<double> GradientModel<T>::add_divergence(const JudgedText& text, std::span<const float> base,
                                                double scale) {
  double sum = 0;
  TRY(compute(text, Beside::adapter, true, [&](const Adjoined<T>& logits) {
    const size_t first = judged_range(text).first;
    const float* p = base.data();
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      if (text.weights[first + static_cast<size_t>(i)] == 0) continue;
      const T* const q = logits.row(i);
      const double of_p = log_of_sum(p, logits.n_cols);
      const double of_q = log_of_sum(q, logits.n_cols);
      for (int64_t c = 0; c < logits.n_cols; ++c) {
        const double log_p = double{p[c]} - of_p;
        const double log_q = double{q[c]} - of_q;
        const double share = exact_exp(log_p);
        sum += share * (log_p - log_q);
        logits.adjoint(i)[c] += static_cast<T>(scale * (exact_exp(log_q) - share));
      }
      p += logits.n_cols;
    }
  }));
  if (std::isfinite(sum)) return sum;
  return fail(Code::invalid, "learning: the divergence of a text is {}", sum);
}

template <class T>
Result<double> GradientModel<T>::loss(const JudgedText& text) {
  double sum = 0;
  TRY(compute(text, Beside::adapter, false, [&](const Adjoined<T>& logits) {
    const size_t first = judged_range(text).first;
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      const double weight = text.weights[first + static_cast<size_t>(i)];
      if (weight == 0) continue;
      const auto token = text.tokens[first + static_cast<size_t>(i)];
      sum += weight * (log_of_sum(logits.row(i), logits.n_cols) - double{logits.row(i)[token]});
    }
  }));
  if (std::isfinite(sum)) return sum;
  return fail(Code::invalid, "learning: the loss of a text is {}", sum);
}

template <class T>
Result<JudgedRows> GradientModel<T>::rows(const JudgedText& text, Beside beside, bool with_logits) {
  JudgedRows result;
  TRY(compute(text, beside, false, [&](const Adjoined<T>& logits) {
    const size_t first = judged_range(text).first;
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      if (text.weights[first + static_cast<size_t>(i)] == 0) continue;
      const auto token = text.tokens[first + static_cast<size_t>(i)];
      const T* const row = logits.row(i);
      result.log_probabilities.push_back(double{row[token]} - log_of_sum(row, logits.n_cols));
      if (with_logits) result.logits.insert(result.logits.end(), row, row + logits.n_cols);
    }
  }));
  return result;
}

template class GradientModel<float>;
template class GradientModel<double>;

}  // namespace ruv
