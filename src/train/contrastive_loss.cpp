#include "train/contrastive_loss.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"

namespace ruv {
namespace {

// An embedding of zeros points nowhere: its cosines are 0.
constexpr double kLeastLength = 1e-12;

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

double length_of(const Embeddings& e, int64_t row) {
  const double* const x = e.values.data() + row * e.width;
  return std::max(std::sqrt(dot(x, x, e.width)), kLeastLength);
}

double cosine(const Embeddings& e, int64_t a, int64_t b) {
  return dot(e.values.data() + a * e.width, e.values.data() + b * e.width, e.width) /
         (length_of(e, a) * length_of(e, b));
}

// Adds factor times the derivative of a cosine, (b / |b| - cos · a / |a|) / |a| by a.
void add_cosine_gradient(Embeddings& e, int64_t a, int64_t b, double factor) {
  const double of_a = length_of(e, a);
  const double of_b = length_of(e, b);
  const double cos = cosine(e, a, b);
  for (int64_t i = 0; i < e.width; ++i) {
    const double x = e.values[static_cast<size_t>(a * e.width + i)] / of_a;
    const double y = e.values[static_cast<size_t>(b * e.width + i)] / of_b;
    e.gradients[static_cast<size_t>(a * e.width + i)] += factor * (y - cos * x) / of_a;
    e.gradients[static_cast<size_t>(b * e.width + i)] += factor * (x - cos * y) / of_b;
  }
}

}  // namespace

double triplet_loss(Embeddings& embeddings, const Triplet& t, double margin, double scale) {
  const double loss =
      margin + cosine(embeddings, t.anchor, t.negative) - cosine(embeddings, t.anchor, t.positive);
  if (loss <= 0) return 0;
  add_cosine_gradient(embeddings, t.anchor, t.negative, scale);
  add_cosine_gradient(embeddings, t.anchor, t.positive, -scale);
  return loss;
}

double info_nce_loss(Embeddings& embeddings, const RightCandidate& choice, double temperature,
                     double scale) {
  std::vector<double> scores;
  for (const int64_t candidate : choice.candidates) {
    scores.push_back(cosine(embeddings, choice.anchor, candidate) / temperature);
  }
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (const double score : scores) sum += exact_exp(score - most);
  double loss = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool is_right = choice.candidates[i] == choice.positive;
    const double share = exact_exp(scores[i] - most) / sum;
    if (is_right) loss = most + exact_log(sum) - scores[i];
    add_cosine_gradient(embeddings, choice.anchor, choice.candidates[i],
                        scale * (share - (is_right ? 1 : 0)) / temperature);
  }
  return loss;
}

}  // namespace ruv
