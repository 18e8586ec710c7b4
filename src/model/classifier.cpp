// Sums are of doubles in the order of the numbers, so that scores have the same bytes on every
// machine.
#include "model/classifier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.h"
#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {
namespace {

// out = weight · x + bias, for rows of as many numbers as x has.
std::vector<double> product(std::span<const float> weight, std::span<const float> bias,
                            std::span<const double> x) {
  std::vector<double> out(weight.size() / x.size());
  for (size_t row = 0; row < out.size(); ++row) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += double{weight[row * x.size() + i]} * x[i];
    out[row] = bias.empty() ? sum : sum + double{bias[row]};
  }
  return out;
}

// The error function by a series of positive terms.
double erf_of(double x) {
  const double limit = 6;  // beyond it the rest is below 1e-16
  if (std::abs(x) > limit) return x > 0 ? 1 : -1;
  double term = x, sum = x;
  for (int n = 1; n < 200; ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return 2 * std::numbers::inv_sqrtpi * exact_exp(-x * x) * sum;
}

double activated(double x, HeadAct act) {
  switch (act) {
    case HeadAct::none:
      return x;
    case HeadAct::relu:
      return std::max(x, 0.0);
    case HeadAct::gelu:
      return x / 2 * (1 + erf_of(x / std::numbers::sqrt2));
    case HeadAct::tanh:
      return exact_tanh(x);
  }
  return x;
}

void normalise(std::vector<double>& x, const Classifier& head) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) squares += (v - mean) * (v - mean) / n;
  const double root = std::sqrt(squares + double{head.norm_eps});
  for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - mean) / root * double{head.norm[i]};
}

Result<HeadAct> activation_of(const ModelFile& file, HeadAct usual) {
  constexpr std::string_view kKey = "classifier.activation";
  if (file.find(kKey) == nullptr) return usual;
  const std::string name = TRY(file.text(kKey));
  if (name == "tanh") return HeadAct::tanh;
  if (name == "relu") return HeadAct::relu;
  if (name == "gelu") return HeadAct::gelu;
  return fail(Code::unsupported, "{}: '{}' is '{}'; tanh, relu and gelu are supported", file.path(),
              file.shown_key(kKey), name);
}

// Their number is that of the last matrix's rows; names that do not fit it are none.
std::vector<std::string> labels_of(const ModelFile& file, int64_t n) {
  const MetaValue* const value = file.find("classifier.output_labels");
  const auto* const array =
      value == nullptr ? nullptr : std::get_if<std::shared_ptr<const MetaArray>>(value);
  if (array == nullptr || std::cmp_not_equal((*array)->strings.size(), n)) return {};
  return (*array)->strings;
}

// A decoder that answers yes or no scores a text by the first of its two labels: its share of the
// softmax is the sigmoid of the difference of both.
void join_answers(Classifier& head) {
  if (head.info.pooling != Pooling::last ||
      head.info.labels != std::vector<std::string>{"yes", "no"})
    return;
  const size_t n = head.out.size() / 2;
  for (size_t i = 0; i < n; ++i) head.out[i] -= head.out[n + i];
  head.out.resize(n);
  if (!head.out_bias.empty()) head.out_bias = {head.out_bias[0] - head.out_bias[1]};
  head.info = {.n_labels = 1, .labels = {}, .pooling = Pooling::last};
}

// Only the last state of a decoder has seen the whole text.
Pooling scored_state(const Model& model) {
  if (!model.h.bidirectional) return Pooling::last;
  const auto says = [&](std::string_view key) {
    const MetaValue* const value = model.file->find(key);
    const bool* const flag = value == nullptr ? nullptr : std::get_if<bool>(value);
    return flag != nullptr && *flag;
  };
  if (says("classifier.of_each")) return Pooling::none;
  return says("classifier.of_mean") ? Pooling::mean : Pooling::cls;
}

}  // namespace

Result<std::shared_ptr<const Classifier>> bind_classifier(const Model& model,
                                                          WeightSource& source) {
  const ModelFile& file = *model.file;
  const BlockSpec& block = model.family->block;
  const int64_t n = model.h.n_embd;
  auto head = std::make_shared<Classifier>();
  const TensorInfo* const out = file.find_tensor("cls.output.weight");
  if (out == nullptr || out->shape.size() != 2) {
    return fail(Code::not_found, "{}: tensor '{}' is missing, or no matrix", file.path(),
                file.shown_tensor("cls.output.weight"));
  }
  head->info.n_labels = out->shape[0];
  head->info.labels = labels_of(file, head->info.n_labels);
  head->out = TRY(source.vector("cls.output.weight", head->info.n_labels * n));
  const auto bias = [&](const std::string& name, int64_t n_out) -> Result<std::vector<float>> {
    if (!source.has(name)) return std::vector<float>();
    return source.vector(name, n_out);
  };
  head->out_bias = TRY(bias("cls.output.bias", head->info.n_labels));
  if (source.has("cls.norm.weight")) {
    head->norm = TRY(source.vector("cls.norm.weight", n));
    head->norm_eps = model.h.norm_eps;
  }
  if (source.has("cls.weight")) {
    head->dense = TRY(source.vector("cls.weight", n * n));
    head->dense_bias = TRY(bias("cls.bias", n));
    head->act = TRY(
        activation_of(file, block.norm_place == NormPlace::pre ? HeadAct::gelu : HeadAct::tanh));
  }
  head->info.pooling = scored_state(model);
  join_answers(*head);
  return std::shared_ptr<const Classifier>(head);
}

Result<std::shared_ptr<const Classifier>> token_classifier(const Model& model,
                                                           const LogitScore& tokens) {
  const ModelFile& file = *model.file;
  const TensorInfo* matrix = file.find_tensor("output.weight");
  if (matrix == nullptr) matrix = file.find_tensor("token_embd.weight");
  if (matrix == nullptr || matrix->shape.size() != 2 || matrix->shape[1] != model.h.n_embd) {
    return fail(Code::not_found, "{}: no output matrix", file.path());
  }
  if (model.h.final_softcap > 0 || !model.output_bias.empty()) {
    return fail(Code::unsupported,
                "{}: scores of tokens whose logits are capped or have biases are not supported",
                file.path());
  }
  auto head = std::make_shared<Classifier>();
  head->info = {.n_labels = 1, .labels = {}, .pooling = Pooling::last};
  head->out.resize(static_cast<size_t>(model.h.n_embd));
  std::vector<float> row(head->out.size());
  const auto add = [&](int64_t token, float sign) -> Status {
    if (token >= matrix->shape[0]) {
      return fail(Code::corrupt, "{}: token {} of 1_LogitScore is not among the {} of tensor '{}'",
                  file.path(), token, matrix->shape[0], file.shown_tensor(matrix->name));
    }
    matrix->decode_row(token, row.data());
    for (size_t i = 0; i < row.size(); ++i) head->out[i] += sign * model.h.logit_scale * row[i];
    return {};
  };
  TRY(add(tokens.true_token, 1));
  if (tokens.false_token) TRY(add(*tokens.false_token, -1));
  return std::shared_ptr<const Classifier>(head);
}

Result<ClassifierInfo> classifier_info(const Model& model) {
  if (model.classifier != nullptr) return model.classifier->info;
  return fail(Code::unsupported, "the model has no classifier, so it scores no texts");
}

namespace {

std::vector<double> scores_of_state(const Classifier& head, std::span<const float> state) {
  std::vector<double> x(state.begin(), state.end());
  if (!head.dense.empty()) {
    x = product(head.dense, head.dense_bias, x);
    for (double& v : x) v = activated(v, head.act);
  }
  if (!head.norm.empty()) normalise(x, head);
  return product(head.out, head.out_bias, x);
}

}  // namespace

std::vector<float> class_scores(const Model& model, std::span<const float> states) {
  const auto width = static_cast<size_t>(model.h.n_embd);
  const auto n = static_cast<double>(states.size() / width);
  std::vector<double> sum;
  for (size_t at = 0; at < states.size(); at += width) {
    const std::vector<double> one = scores_of_state(*model.classifier, states.subspan(at, width));
    sum.resize(one.size());
    for (size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
  }
  for (double& score : sum) score /= n;
  return {sum.begin(), sum.end()};
}

}  // namespace ruv
