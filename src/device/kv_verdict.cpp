// The file is written by `ruvllm kv-gate` and read when an engine starts with a tiered type. It may
// come from anywhere, so every number is checked; "passed" and "why" are for people, and the reader
// decides again.
#include "device/kv_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace ruv {

namespace {

constexpr int kVersion = 1;  // of the file; others are refused

Result<double> number_of(const Json& row, const char* name, std::string_view source) {
  const Json* found = row.find(name);
  if (found == nullptr || !found->is_number() || !std::isfinite(found->get<double>())) {
    return fail(Code::corrupt, "{}: member \"{}\" of a tier is not a number", source, name);
  }
  return found->get<double>();
}

Result<KvVerdict> read_verdict(const Json& row, std::string_view source) {
  if (!row.is_object() || !row.contains("type") || !row.at("type").is_string()) {
    return fail(Code::corrupt, "{}: a tier has no member \"type\"", source);
  }
  const std::string name = row.at("type").get<std::string>();
  const auto* const type = std::ranges::find(kKvTypes, name, kv_type_name);
  if (type == std::end(kKvTypes)) {
    return fail(Code::corrupt, "{}: '{}' is not a type of keys and values", source, name);
  }
  KvVerdict verdict;
  verdict.type = *type;
  verdict.bytes_of_f16 = TRY(number_of(row, "bytes_of_f16", source));
  verdict.perplexity = TRY(number_of(row, "perplexity", source));
  verdict.perplexity_loss = TRY(number_of(row, "perplexity_loss", source));
  verdict.kl = TRY(number_of(row, "kl", source));
  verdict.greedy_agreement = TRY(number_of(row, "greedy_agreement", source));
  const double found = TRY(number_of(row, "needles_found", source));
  const double wanted = TRY(number_of(row, "needles_of_f16", source));
  constexpr double kMost = 1e6;
  if (std::min(found, wanted) < 0 || std::max(found, wanted) > kMost) {
    return fail(Code::corrupt, "{}: a count of needles is not within 0 to {}", source, kMost);
  }
  verdict.needles_found = static_cast<int64_t>(found);
  verdict.needles_of_f16 = static_cast<int64_t>(wanted);
  return verdict;
}

}  // namespace

std::string KvVerdict::why_refused() const {
  if (!(perplexity_loss <= kMostPerplexityLost)) {
    return fmt::format("perplexity rises by {:.2f} %, more than {:.0f} %", 100 * perplexity_loss,
                       100 * kMostPerplexityLost);
  }
  if (static_cast<double>(needles_found) <
      kLeastNeedlesKept * static_cast<double>(needles_of_f16)) {
    return fmt::format("it finds {} of the {} needles that f16 finds", needles_found,
                       needles_of_f16);
  }
  return {};
}

std::string kv_verdicts_text(std::string_view model, std::span<const KvVerdict> verdicts) {
  Json tiers = Json::array();
  for (const KvVerdict& verdict : verdicts) {
    Json row;
    row["type"] = kv_type_name(verdict.type);
    row["bytes_of_f16"] = verdict.bytes_of_f16;
    row["perplexity"] = verdict.perplexity;
    row["perplexity_loss"] = verdict.perplexity_loss;
    row["kl"] = verdict.kl;
    row["greedy_agreement"] = verdict.greedy_agreement;
    row["needles_found"] = verdict.needles_found;
    row["needles_of_f16"] = verdict.needles_of_f16;
    row["passed"] = verdict.passed();
    if (!verdict.passed()) row["why"] = verdict.why_refused();
    tiers.push_back(std::move(row));
  }
  Json whole;
  whole["kv_gate"] = kVersion;
  whole["model"] = model;
  whole["tiers"] = std::move(tiers);
  return whole.dump(2) + "\n";
}

Result<std::vector<KvVerdict>> read_kv_verdicts(std::string_view text, std::string_view source) {
  const Json whole = TRY(parse_json(text, source, {.depth = 8}));
  if (!whole.is_object() || !whole.contains("kv_gate") || whole.at("kv_gate") != kVersion ||
      !whole.contains("tiers") || !whole.at("tiers").is_array()) {
    return fail(Code::corrupt, "{}: not a verdict of version {}; run `ruvllm kv-gate` again",
                source, kVersion);
  }
  std::vector<KvVerdict> verdicts;
  for (const Json& row : whole.at("tiers")) verdicts.push_back(TRY(read_verdict(row, source)));
  return verdicts;
}

Status check_kv_type(KvType type, std::span<const KvVerdict> verdicts) {
  if (type == KvType::f16 || type == KvType::int8) return {};
  const auto found = std::ranges::find(verdicts, type, &KvVerdict::type);
  if (found == verdicts.end()) {
    return fail(Code::unsupported,
                "keys and values in {}: not measured for this model; run `ruvllm kv-gate` or use "
                "int8",
                kv_type_name(type));
  }
  if (found->passed()) return {};
  return fail(Code::unsupported, "keys and values in {}: refused for this model: {}; use int8",
              kv_type_name(type), found->why_refused());
}

}  // namespace ruv
