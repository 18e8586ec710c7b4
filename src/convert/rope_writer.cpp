// GGUF files have the divisors of llama3 and longrope as tensors, configs the numbers that they are
// made of.
#include "convert/rope_writer.h"

#include <algorithm>
#include <cmath>

#include "family/word_list.h"
#include "format/decimal.h"
#include "format/rope_scaling.h"

namespace ruv {
namespace {

constexpr double kUsualBase = 10000;

// The settings of one model.
class RopeWriter {
 public:
  RopeWriter(const Model& model, const HfClass& hf, Json& config)
      : file_(*model.file), family_(*model.family), h_(model.h), hf_(hf), config_(config) {}

  Status write();

 private:
  double number(std::string_view key, double otherwise) const {
    return shortest_number(file_.number(key).value_or(otherwise));
  }
  int64_t n_dims() const { return file_.integer("rope.dimension_count").value_or(h_.head_dim); }
  Result<Json> scaling() const;
  Result<Json> llama3() const;
  Result<Json> longrope() const;
  Json yarn() const;
  std::string type() const;
  Json factors(std::string_view tensor) const;
  void put_part();
  void put_share(double part);

  const ModelFile& file_;
  const FamilyRecord& family_;
  const HParams& h_;
  const HfClass& hf_;
  Json& config_;
};

// The numbers of a tensor of one row.
std::vector<float> numbers_of(const TensorInfo& tensor) {
  std::vector<float> numbers(static_cast<size_t>(tensor.n_elements()));
  if (!numbers.empty()) tensor.decode_row(0, numbers.data());
  return numbers;
}

// Tensors of divisors say what the key does not.
std::string RopeWriter::type() const {
  const std::string said = file_.text("rope.scaling.type").value_or("none");
  if (said != "none") return said;
  if (file_.find_tensor("rope_factors_long.weight") != nullptr) return "longrope";
  return file_.find_tensor("rope_freqs.weight") != nullptr ? "llama3" : "none";
}

// One divisor for each pair.
Json RopeWriter::factors(std::string_view tensor) const {
  Json list = Json::array();
  for (const float number : numbers_of(*file_.find_tensor(tensor))) {
    list.push_back(shortest_number(double{number}));
  }
  return list;
}

// Only the ratios of the context to the two factors can be told from divisors, so that the low one
// is taken as 1 where that gives them. The usual settings come first.
Result<Json> RopeWriter::llama3() const {
  const TensorInfo& tensor = *file_.find_tensor("rope_freqs.weight");
  const std::vector<float> wanted = numbers_of(tensor);
  const double base = number("rope.freq_base", kUsualBase);
  const float most = wanted.empty() ? 1 : *std::ranges::max_element(wanted);
  for (const double low : {1.0, 0.5, 2.0}) {
    for (const double high : {4.0, 2.5, 8.0, 2.0, 32.0}) {
      for (int64_t original = 8; original <= (int64_t{1} << 22); original *= 2) {
        const Llama3Scaling tried{.factor = shortest_number(double{most}),
                                  .low = low,
                                  .high = high,
                                  .original = static_cast<double>(original)};
        if (!tried.is_valid() || llama3_divisors(tried, base, n_dims()) != wanted) continue;
        Json json = {{"rope_type", "llama3"}, {"factor", tried.factor}};
        json["low_freq_factor"] = low;
        json["high_freq_factor"] = high;
        json["original_max_position_embeddings"] = original;
        return json;
      }
    }
  }
  return fail(Code::unsupported,
              "{}: tensor 'rope_freqs.weight' holds divisors of rotary frequencies that no llama3 "
              "scaling with usual numbers gives, and a config.json cannot say others",
              file_.path());
}

// The factor of cos and sin is left out where the formula gives it.
Result<Json> RopeWriter::longrope() const {
  constexpr std::string_view kOriginal = "rope.scaling.original_context_length";
  for (const std::string_view name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (file_.find_tensor(name) != nullptr) continue;
    return fail(Code::unsupported, "{}: tensor '{}' is missing", file_.path(), name);
  }
  if (file_.find(kOriginal) == nullptr) {
    return fail(Code::unsupported, "{}: key '{}' is missing", file_.path(),
                file_.shown_key(kOriginal));
  }
  const int64_t original = TRY(file_.integer(kOriginal));
  Json json = {{"rope_type", "longrope"}};
  json["short_factor"] = factors("rope_factors_short.weight");
  json["long_factor"] = factors("rope_factors_long.weight");
  if (hf_.original_positions > 0) {
    config_["original_max_position_embeddings"] = original;
  } else {
    json["original_max_position_embeddings"] = original;
  }
  const double by_length = static_cast<double>(h_.n_ctx_train) / static_cast<double>(original);
  const double magnitude = number("rope.scaling.attn_factor", 1);
  const double usual = original < 2 ? 0 : longrope_magnitude(by_length, original);
  if (static_cast<float>(magnitude) != static_cast<float>(usual)) {
    json["attention_factor"] = magnitude;
  }
  return json;
}

// The file has what the magnitude by length is multiplied by, as float32; of the numbers that give
// it, the one with the fewest digits.
double attention_factor(double stored, double factor) {
  const double by_length = yarn_magnitude(factor);
  for (const double digits : {1e1, 1e2, 1e3, 1e4, 1e5}) {
    const double rounded = std::round(stored * by_length * digits) / digits;
    if (static_cast<float>(rounded / by_length) == static_cast<float>(stored)) return rounded;
  }
  return shortest_number(double{static_cast<float>(stored * by_length)});
}

Json RopeWriter::yarn() const {
  const double factor = number("rope.scaling.factor", 1);
  Json json = {{"rope_type", "yarn"}, {"factor", factor}};
  if (const auto original = file_.integer("rope.scaling.original_context_length")) {
    json["original_max_position_embeddings"] = *original;
  }
  for (const std::string_view name : {"beta_fast", "beta_slow"}) {
    const std::string key = fmt::format("rope.scaling.yarn_{}", name);
    if (file_.find(key) != nullptr) json[name] = number(key, 0);
  }
  const double magnitude = number("rope.scaling.attn_factor", 1);
  if (magnitude != 1) json["attention_factor"] = attention_factor(magnitude, factor);
  if (file_.find("rope.scaling.yarn_truncate") != nullptr) json["truncate"] = false;
  return json;
}

// Null: positions are not scaled.
Result<Json> RopeWriter::scaling() const {
  const std::string kind = type();
  if (kind == "none") return Json();
  if (kind == "linear") {
    return Json({{"rope_type", kind}, {"factor", number("rope.scaling.factor", 1)}});
  }
  if (kind == "yarn") return yarn();
  if (kind == "longrope") return longrope();
  if (kind == "llama3") return llama3();
  return fail(Code::unsupported, "{}: key '{}' is '{}', which is not written to a config.json",
              file_.path(), file_.shown_key("rope.scaling.type"), kind);
}

// The share of a head that is rotated, of which classes take the whole part.
void RopeWriter::put_part() {
  if (hf_.rope != HfRope::partial && hf_.rope != HfRope::longrope) return;
  const auto whole = static_cast<double>(h_.head_dim);
  double part = static_cast<double>(n_dims()) / whole;
  // Several numbers may give as many dimensions; the usual ones first.
  for (const double usual : {0.5, 0.25, 0.75}) {
    if (static_cast<int64_t>(whole * usual) == n_dims()) return put_share(usual);
  }
  for (const double digits : {1e1, 1e2, 1e3, 1e4}) {
    const double rounded = std::round(part * digits) / digits;
    if (static_cast<int64_t>(whole * rounded) != n_dims()) continue;
    part = rounded;
    break;
  }
  if (static_cast<int64_t>(whole * part) < n_dims()) part = std::nextafter(part, 2.0);
  put_share(part);
}

void RopeWriter::put_share(double part) {
  if (hf_.rope == HfRope::partial || part != 1) config_[hf_.rotary_part_key] = part;
}

// Bases and scaling beside each other, as configs had them at first and all readers know; in
// objects for each kind of layer only where the class has no other words for two bases.
Status RopeWriter::write() {
  if (hf_.rope == HfRope::none) return {};
  if (hf_.rope == HfRope::counted || hf_.rope_base_key.empty()) {
    return fail(Code::unsupported, "{}: positions of model type {} are not written", file_.path(),
                hf_.model_type);
  }
  const double base = number("rope.freq_base", kUsualBase);
  const std::vector<std::string_view> names = words_of(hf_.rope_base_key);
  Json scaled = TRY(scaling());
  if (hf_.rope == HfRope::by_kind && hf_.local_base_key.empty()) {
    Json full = scaled.is_null() ? Json({{"rope_type", "default"}}) : std::move(scaled);
    full["rope_theta"] = base;
    Json local = {{"rope_type", "default"}, {"rope_theta", number("rope.freq_base_swa", base)}};
    config_["rope_parameters"] = {{"full_attention", std::move(full)},
                                  {"sliding_attention", std::move(local)}};
    return {};
  }
  config_[names.front()] = base;
  if (hf_.rope == HfRope::by_kind) {
    const double usual = family_.local_rope_base > 0 ? double{family_.local_rope_base} : base;
    config_[hf_.local_base_key] = number("rope.freq_base_swa", usual);
  }
  put_part();
  config_["rope_scaling"] = std::move(scaled);
  return {};
}

}  // namespace

Status put_rope(const Model& model, const HfClass& hf, Json& config) {
  return RopeWriter(model, hf, config).write();
}

}  // namespace ruv
