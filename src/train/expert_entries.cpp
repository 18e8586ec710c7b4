#include "train/expert_entries.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/elementary.h"

namespace ruv {
namespace {

// The n greatest, ascending by number; of equal ones the first.
std::vector<int64_t> greatest_of(const std::vector<double>& numbers, int64_t n) {
  std::vector<int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](int64_t i) { return numbers[static_cast<size_t>(i)]; });
  order.resize(static_cast<size_t>(n));
  std::ranges::sort(order);
  return order;
}

// How a group of experts ranks among the groups.
double group_rank_of(std::span<const double> group, GroupRank rank) {
  double first = group[0];
  double second = -INFINITY;
  for (const double x : group.subspan(1)) {
    second = std::max(second, std::min(first, x));
    first = std::max(first, x);
  }
  return rank == GroupRank::best || group.size() == 1 ? first : first + second;
}

}  // namespace

// Softmax over all experts, or a sigmoid of each.
template <class T>
std::vector<double> RouteEntry<T>::scores_of(const T* logits) const {
  std::vector<double> scores(logits, logits + logits_.n_cols);
  if (params_.score == RouterScore::sigmoid) {
    for (double& x : scores) x = sigmoid_of(x);
    return scores;
  }
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& x : scores) sum += x = exact_exp(x - most);
  for (double& x : scores) x /= sum;
  return scores;
}

// Experts of groups that are not used rank below all others.
template <class T>
std::vector<int64_t> RouteEntry<T>::choose(const std::vector<double>& scores) const {
  std::vector<double> ranks = scores;
  for (int64_t e = 0; e < vectors_.choice_bias.size(); ++e) {
    ranks[static_cast<size_t>(e)] += double{vectors_.choice_bias.values[e]};
  }
  if (params_.n_groups > 1) {
    const size_t size = ranks.size() / static_cast<size_t>(params_.n_groups);
    std::vector<double> groups;
    for (size_t g = 0; g < ranks.size(); g += size) {
      groups.push_back(group_rank_of(std::span(ranks).subspan(g, size), params_.group_rank));
    }
    const std::vector<int64_t> used = greatest_of(groups, params_.n_groups_used);
    for (size_t e = 0; e < ranks.size(); ++e) {
      if (!std::ranges::binary_search(used, static_cast<int64_t>(e / size))) ranks[e] = -INFINITY;
    }
  }
  return greatest_of(ranks, n_chosen());
}

// The least divisor is a constant: where it counts, the sum has no adjoint.
template <class T>
double RouteEntry<T>::divisor_of(double sum) const {
  if (!params_.normalises) return 1;
  return std::max(sum + double{params_.sum_added}, double{params_.sum_least});
}

// The routes are kept as well: which experts were chosen is read from them.
template <class T>
void RouteEntry<T>::run(bool keeps) {
  if (keeps) kept_logits_.keep(logits_.values, logits_.size(), this->team_);
  const int64_t n = n_chosen();
  for (int64_t i = 0; i < logits_.n_rows; ++i) {
    const std::vector<double> scores = scores_of(logits_.row(i));
    const std::vector<int64_t> chosen = choose(scores);
    double sum = 0;
    for (const int64_t e : chosen) sum += scores[static_cast<size_t>(e)];
    T* const route = routes_.row(i);
    for (int64_t at = 0; at < n; ++at) {
      const int64_t e = chosen[static_cast<size_t>(at)];
      double weight = scores[static_cast<size_t>(e)] / divisor_of(sum) * double{params_.scale};
      if (!vectors_.expert_scales.empty()) weight *= double{vectors_.expert_scales.values[e]};
      route[at] = static_cast<T>(e);
      route[n + at] = static_cast<T>(weight);
    }
  }
  if (keeps) kept_routes_.keep(routes_.values, routes_.size(), this->team_);
}

// With D the divisor and c what a weight is multiplied by: d of a score += c · g / D, less, where D
// is the sum, Σ c · g · s / D² for each that is chosen.
template <class T>
void RouteEntry<T>::row_back(int64_t i, const T* logits, const T* routes,
                             std::vector<double>& of_scores) {
  const int64_t n = n_chosen();
  const std::vector<double> scores = scores_of(logits);
  std::ranges::fill(of_scores, 0);
  double sum = 0;
  for (int64_t at = 0; at < n; ++at) sum += scores[static_cast<size_t>(routes[at])];
  const double divisor = divisor_of(sum);
  const bool is_sum =
      params_.normalises && sum + double{params_.sum_added} >= double{params_.sum_least};
  double together = 0;
  T* const g = routes_.adjoint(i);
  for (int64_t at = 0; at < n; ++at) {
    const auto e = static_cast<size_t>(routes[at]);
    const double of_weight = double{std::exchange(g[n + at], T{0})};
    g[at] = 0;
    double factor = double{params_.scale};
    const Adjoined<T>& scales = vectors_.expert_scales;
    if (scales.adjoints != nullptr) {
      scales.adjoints[e] += static_cast<T>(of_weight * factor * scores[e] / divisor);
    }
    if (!scales.empty()) factor *= double{scales.values[e]};
    of_scores[e] += of_weight * factor / divisor;
    together += of_weight * factor * scores[e] / (divisor * divisor);
  }
  for (int64_t at = 0; is_sum && at < n; ++at) {
    of_scores[static_cast<size_t>(routes[at])] -= together;
  }
  double along = 0;
  for (size_t e = 0; e < scores.size(); ++e) along += of_scores[e] * scores[e];
  const bool is_sigmoid = params_.score == RouterScore::sigmoid;
  T* const to = logits_.adjoint(i);
  for (size_t e = 0; e < scores.size(); ++e) {
    const double d = is_sigmoid ? of_scores[e] * (1 - scores[e]) : of_scores[e] - along;
    to[e] += static_cast<T>(scores[e] * d);
  }
}

// Rows one after another: they add to the gradients of the same scales.
template <class T>
void RouteEntry<T>::backward() {
  std::vector<double> of_scores(static_cast<size_t>(logits_.n_cols));
  for (int64_t i = 0; i < logits_.n_rows; ++i) {
    row_back(i, kept_logits_.get() + i * logits_.n_cols, kept_routes_.get() + i * routes_.n_cols,
             of_scores);
  }
}

template <class T>
void RouteEntry<T>::forget() {
  kept_logits_.drop();
  kept_routes_.drop();
}

template <class T>
void RouteEntry<T>::use(MemoryUse<T>& use) const {
  use.read(logits_);
  use.write(routes_);
}

// In the order of rows.
template <class T>
std::vector<typename ExpertsEntry<T>::Choice> ExpertsEntry<T>::choices_of(const T* routes) const {
  const int64_t n_cols = rows_.routes.n_cols;
  std::vector<Choice> choices(experts_.size());
  for (int64_t i = 0; i < rows_.x.n_rows; ++i) {
    for (int64_t at = 0; at < n_cols / 2; ++at) {
      Choice& choice = choices[static_cast<size_t>(routes[i * n_cols + at])];
      choice.rows.push_back(i);
      choice.places.push_back(i * n_cols + n_cols / 2 + at);
    }
  }
  return choices;
}

template <class T>
bool ExpertsEntry<T>::is_gate_cut(T number) const {
  return form_.limits.limit > 0 && double{number} > double{form_.limits.limit};
}
template <class T>
bool ExpertsEntry<T>::is_up_cut(T number) const {
  return form_.limits.limit > 0 && std::abs(double{number}) > double{form_.limits.limit};
}
template <class T>
double ExpertsEntry<T>::gate_of(T number) const {
  return is_gate_cut(number) ? double{form_.limits.limit} : double{number};
}
template <class T>
double ExpertsEntry<T>::up_of(T number) const {
  const double x = double{number};
  const double cut = is_up_cut(number) ? std::copysign(double{form_.limits.limit}, x) : x;
  return cut + double{form_.limits.up_shift};
}

// The same for each row.
template <class T>
void ExpertsEntry<T>::add_bias(std::vector<T>& rows, const Adjoined<T>& bias) const {
  if (bias.empty()) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] += bias.values[static_cast<int64_t>(i) % bias.n_cols];
  }
}

// The rows of an expert, its inner rows before and after the activation, and what it gives.
template <class T>
typename ExpertsEntry<T>::Inner ExpertsEntry<T>::compute(const Expert& expert, const Choice& choice,
                                                         const T* x, const T* routes) const {
  const auto n = std::ssize(choice.rows);
  const int64_t n_in = rows_.x.n_cols;
  Inner inner;
  for (size_t i = 0; i < choice.rows.size(); ++i) {
    const T* const row = x + choice.rows[i] * n_in;
    const T weight = form_.weighs_inputs ? routes[choice.places[i]] : T{1};
    for (int64_t c = 0; c < n_in; ++c) inner.x.push_back(row[c] * weight);
  }
  MatrixProducts<T>& products = this->team_.products;
  const auto multiply = [&](const TrainMatrix<T>& w, const Adjoined<T>& bias,
                            const std::vector<T>& from, std::vector<T>& to) {
    to.resize(static_cast<size_t>(n * w.n_out()));
    products.forward(to.data(), w.n_out(), whole<T>(from.data(), n, w.n_in()), w);
    add_bias(to, bias);
  };
  multiply(*expert.up, expert.up_bias, inner.x, inner.up);
  if (expert.gate != nullptr) multiply(*expert.gate, expert.gate_bias, inner.x, inner.gate);
  const ActPoint act = {form_.act};
  for (size_t i = 0; i < inner.up.size(); ++i) {
    const double made = expert.gate == nullptr
                            ? act.value(double{inner.up[i]})
                            : act.value(gate_of(inner.gate[i])) * up_of(inner.up[i]);
    inner.made.push_back(static_cast<T>(made));
  }
  multiply(*expert.down, expert.down_bias, inner.made, inner.out);
  return inner;
}

// Only x and the routes are kept.
template <class T>
void ExpertsEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_x_.keep(rows_.x.values, rows_.x.size(), this->team_);
    kept_routes_.keep(rows_.routes.values, rows_.routes.size(), this->team_);
  }
  const std::vector<Choice> choices = choices_of(rows_.routes.values);
  const int64_t n_cols = rows_.out.n_cols;
  std::fill_n(rows_.out.values, rows_.out.size(), T{0});
  for (size_t e = 0; e < experts_.size(); ++e) {
    const Choice& choice = choices[e];
    if (choice.rows.empty()) continue;
    const Inner inner = compute(experts_[e], choice, rows_.x.values, rows_.routes.values);
    for (size_t i = 0; i < choice.rows.size(); ++i) {
      const T weight = form_.weighs_inputs ? T{1} : rows_.routes.values[choice.places[i]];
      T* const out = rows_.out.row(choice.rows[i]);
      const T* const row = inner.out.data() + static_cast<int64_t>(i) * n_cols;
      for (int64_t c = 0; c < n_cols; ++c) out[c] += weight * row[c];
    }
  }
}

// dW += gᵀ x, d of the bias += Σ g.
template <class T>
void ExpertsEntry<T>::product_back(TrainMatrix<T>& w, const Adjoined<T>& bias,
                                   const std::vector<T>& g, const std::vector<T>& x,
                                   std::vector<T>& dx) {
  MatrixProducts<T>& products = this->team_.products;
  const int64_t n = std::ssize(g) / w.n_out();
  const Factor<T> of_out = whole<T>(g.data(), n, w.n_out());
  if (w.is_trained()) {
    products.multiply({w.gradient(), w.n_in(), true}, of_out.transposed(),
                      whole<T>(x.data(), n, w.n_in()).transposed());
  }
  for (size_t i = 0; bias.adjoints != nullptr && i < g.size(); ++i) {
    bias.adjoints[static_cast<int64_t>(i) % bias.n_cols] += g[i];
  }
  dx.resize(static_cast<size_t>(n * w.n_in()));
  products.backward(dx.data(), w.n_in(), of_out, w);
}

// From the rows of the result to the weights, the matrices and the rows of x. An adjoint of a row
// is multiplied by its weight where the row was.
template <class T>
void ExpertsEntry<T>::expert_back(const Expert& expert, const Choice& choice) {
  const Inner inner = compute(expert, choice, kept_x_.get(), kept_routes_.get());
  const int64_t n_out = rows_.out.n_cols;
  const int64_t n_in = rows_.x.n_cols;
  std::vector<T> g(inner.out.size());
  for (size_t i = 0; i < choice.rows.size(); ++i) {
    const T* const of_out = rows_.out.adjoint(choice.rows[i]);
    const int64_t first = static_cast<int64_t>(i) * n_out;
    const T weight = form_.weighs_inputs ? T{1} : kept_routes_.get()[choice.places[i]];
    double of_weight = 0;
    for (int64_t c = 0; c < n_out; ++c) {
      g[static_cast<size_t>(first + c)] = of_out[c] * weight;
      of_weight += double{of_out[c]} * double{inner.out[static_cast<size_t>(first + c)]};
    }
    if (!form_.weighs_inputs) {
      rows_.routes.adjoints[choice.places[i]] += static_cast<T>(of_weight);
    }
  }
  std::vector<T> of_made, dx;
  product_back(*expert.down, expert.down_bias, g, inner.made, of_made);
  const ActPoint act = {form_.act};
  std::vector<T> of_gate(inner.gate.size());
  for (size_t i = 0; i < of_made.size(); ++i) {
    const double d = double{of_made[i]};
    if (expert.gate == nullptr) {
      of_made[i] = static_cast<T>(d * act.slope(double{inner.up[i]}));
      continue;
    }
    const double gate = gate_of(inner.gate[i]);
    of_gate[i] =
        static_cast<T>(is_gate_cut(inner.gate[i]) ? 0 : d * up_of(inner.up[i]) * act.slope(gate));
    of_made[i] = static_cast<T>(is_up_cut(inner.up[i]) ? 0 : d * act.value(gate));
  }
  product_back(*expert.up, expert.up_bias, of_made, inner.x, dx);
  if (expert.gate != nullptr) {
    product_back(*expert.gate, expert.gate_bias, of_gate, inner.x, dx);
  }
  for (size_t i = 0; i < choice.rows.size(); ++i) {
    const int64_t row = choice.rows[i];
    const int64_t place = choice.places[i];
    const T weight = form_.weighs_inputs ? kept_routes_.get()[place] : T{1};
    double of_weight = 0;
    for (int64_t c = 0; c < n_in; ++c) {
      const T d = dx[static_cast<size_t>(static_cast<int64_t>(i) * n_in + c)];
      rows_.x.adjoint(row)[c] += d * weight;
      of_weight += double{d} * double{kept_x_.get()[row * n_in + c]};
    }
    if (form_.weighs_inputs) rows_.routes.adjoints[place] += static_cast<T>(of_weight);
  }
}

// Inner rows are computed again, expert by expert, so that no more than one expert's are in memory.
template <class T>
void ExpertsEntry<T>::backward() {
  const std::vector<Choice> choices = choices_of(kept_routes_.get());
  for (size_t e = 0; e < experts_.size(); ++e) {
    if (!choices[e].rows.empty()) expert_back(experts_[e], choices[e]);
  }
  std::fill_n(rows_.out.adjoints, rows_.out.size(), T{0});
}

template <class T>
void ExpertsEntry<T>::forget() {
  kept_x_.drop();
  kept_routes_.drop();
}

template <class T>
void ExpertsEntry<T>::use(MemoryUse<T>& use) const {
  use.read(rows_.x);
  use.read(rows_.routes);
  use.write(rows_.out);
}

template class RouteEntry<float>;
template class RouteEntry<double>;
template class ExpertsEntry<float>;
template class ExpertsEntry<double>;

}  // namespace ruv
