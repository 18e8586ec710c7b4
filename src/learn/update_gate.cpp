#include "learn/update_gate.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "base/json.h"

namespace ruv {
namespace {

constexpr int64_t kMostLogits = int64_t{1} << 25;  // 128 MiB of the base's

// For each token.
double mean_loss(const std::vector<double>& log_probabilities) {
  double sum = 0;
  for (const double x : log_probabilities) sum -= x;
  return sum / static_cast<double>(log_probabilities.size());
}

// Σ p of a row of logits and what its logarithms are counted from.
struct RowSum {
  double most, sum;
};
RowSum sum_row(const float* logits, int64_t n) {
  RowSum row{double{logits[0]}, 0};
  for (int64_t c = 1; c < n; ++c) row.most = std::max(row.most, double{logits[c]});
  for (int64_t c = 0; c < n; ++c) row.sum += exact_exp(double{logits[c]} - row.most);
  return row;
}

// KL(p ‖ q) = Σ p (ln p - ln q) of two rows of logits.
double row_divergence(const float* p, const float* q, int64_t n) {
  const RowSum of_p = sum_row(p, n);
  const RowSum of_q = sum_row(q, n);
  const double offset = of_q.most + exact_log(of_q.sum) - of_p.most - exact_log(of_p.sum);
  double divergence = 0;
  for (int64_t c = 0; c < n; ++c) {
    const double share = exact_exp(double{p[c]} - of_p.most) / of_p.sum;
    divergence += share * (double{p[c]} - double{q[c]} + offset);
  }
  return divergence;
}

// |B · A| of matrices (n_out, rank) and (rank, n_in): √ of the trace of (Bᵀ B)(A Aᵀ).
double product_norm(std::span<const float> a, std::span<const float> b, size_t rank) {
  const size_t n_in = a.size() / rank;
  const size_t n_out = b.size() / rank;
  double sum = 0;
  for (size_t i = 0; i < rank; ++i) {
    for (size_t k = 0; k < rank; ++k) {
      double of_a = 0, of_b = 0;
      for (size_t c = 0; c < n_in; ++c) of_a += double{a[i * n_in + c]} * double{a[k * n_in + c]};
      for (size_t r = 0; r < n_out; ++r) of_b += double{b[r * rank + i]} * double{b[r * rank + k]};
      sum += of_a * of_b;
    }
  }
  return std::sqrt(std::max(sum, 0.0));
}

}  // namespace

Status check(const UpdateLimits& limits) {
  for (const double x : {limits.held_out_rise, limits.divergence, limits.canary_rise, limits.norm,
                         limits.own_rise}) {
    if (!(x >= 0)) return fail(Code::invalid, "learning: a limit of the gate is {}", x);
  }
  return {};
}

Json reading_json(const UpdateReading& reading) {
  return {{"held_out", reading.held_out},
          {"base_held_out", reading.base_held_out},
          {"divergence", reading.divergence},
          {"canary_rise", reading.canary_rise},
          {"norm", reading.norm},
          {"own_before", reading.own_before},
          {"own_after", reading.own_after}};
}

// The first of two is measured.
void rehearse_half(UpdateTexts& texts) {
  for (std::vector<JudgedText>* const all : {&texts.held_out, &texts.canaries}) {
    std::vector<JudgedText> measured;
    for (size_t i = 0; i < all->size(); ++i) {
      (i % 2 == 0 ? measured : texts.rehearsed).push_back(std::move((*all)[i]));
    }
    *all = std::move(measured);
  }
}

// Comparisons are written so that a number that is not one fails them.
std::string refusal_of(const UpdateReading& reading, const UpdateLimits& limits) {
  const struct {
    const char* what;
    double value, limit;
  } rows[] = {
      {"rise of the held-out loss", reading.held_out / reading.base_held_out - 1,
       limits.held_out_rise},
      {"divergence from the base", reading.divergence, limits.divergence},
      {"rise of a canary's loss", reading.canary_rise, limits.canary_rise},
      {"norm beside the weights", reading.norm, limits.norm},
      {"rise of the feedback's own loss", reading.own_after - reading.own_before, limits.own_rise}};
  for (const auto& row : rows) {
    if (!(row.value <= row.limit)) {
      return fmt::format("{}: {:.4g}, more than {:.4g}", row.what, row.value, row.limit);
    }
  }
  return {};
}

// The base is measured once. Its logits are kept, as computing them again for each step would
// double the cost of the gate.
Result<UpdateGate> UpdateGate::create(GradientModel<float>& model, UpdateTexts texts) {
  if (texts.held_out.empty() || texts.canaries.empty()) {
    return fail(Code::invalid, "learning: a gate needs held-out texts and canaries, not {} and {}",
                texts.held_out.size(), texts.canaries.size());
  }
  int64_t n_logits = 0;
  for (const JudgedText& text : texts.held_out)
    n_logits += text.n_judged() * model.model().h.n_vocab;
  if (n_logits > kMostLogits) {
    return fail(Code::invalid, "learning: held-out texts of {} logits; give shorter ones, of {}",
                n_logits, kMostLogits);
  }
  UpdateGate gate;
  gate.texts_ = std::move(texts);
  double sum = 0;
  int64_t n = 0;
  for (const JudgedText& text : gate.texts_.held_out) {
    JudgedRows rows = TRY(model.rows(text, Beside::nothing, true));
    for (const double x : rows.log_probabilities) sum -= x;
    n += std::ssize(rows.log_probabilities);
    gate.base_logits_.push_back(std::move(rows.logits));
  }
  gate.base_held_out_ = sum / static_cast<double>(n);
  for (const JudgedText& text : gate.texts_.canaries) {
    const JudgedRows rows = TRY(model.rows(text, Beside::nothing, false));
    gate.canary_losses_.push_back(mean_loss(rows.log_probabilities));
  }
  for (const AdaptedModule& module : model.adapter().modules()) {
    gate.base_norms_.push_back(model.base_norm(module));
  }
  return gate;
}

// Both texts and modules in their order: the same numbers on every machine.
Result<UpdateReading> UpdateGate::read(GradientModel<float>& model) const {
  UpdateReading reading{.base_held_out = base_held_out_};
  const int64_t n_vocab = model.model().h.n_vocab;
  double sum = 0, divergence = 0;
  int64_t n = 0;
  for (size_t i = 0; i < texts_.held_out.size(); ++i) {
    const JudgedRows rows = TRY(model.rows(texts_.held_out[i], Beside::adapter, true));
    const auto n_rows = std::ssize(rows.log_probabilities);
    for (int64_t r = 0; r < n_rows; ++r) {
      sum -= rows.log_probabilities[static_cast<size_t>(r)];
      divergence += row_divergence(base_logits_[i].data() + r * n_vocab,
                                   rows.logits.data() + r * n_vocab, n_vocab);
    }
    n += n_rows;
  }
  reading.held_out = sum / static_cast<double>(n);
  reading.divergence = divergence / static_cast<double>(n);
  reading.canary_rise = -INFINITY;
  for (size_t i = 0; i < texts_.canaries.size(); ++i) {
    const JudgedRows rows = TRY(model.rows(texts_.canaries[i], Beside::adapter, false));
    const double rise = mean_loss(rows.log_probabilities) - canary_losses_[i];
    // A number that is not one must not be lost in a comparison.
    if (!(rise <= reading.canary_rise)) reading.canary_rise = rise;
  }
  const LowRankOptions& options = model.adapter().options();
  const double scale = options.alpha / static_cast<double>(options.rank);
  for (size_t i = 0; i < base_norms_.size(); ++i) {
    const AdaptedModule& module = model.adapter().modules()[i];
    const double norm =
        scale * product_norm(model.groups()[module.a].values, model.groups()[module.b].values,
                             static_cast<size_t>(options.rank));
    reading.norm = std::max(reading.norm, norm / std::max(base_norms_[i], 1e-30));
  }
  return reading;
}

}  // namespace ruv
