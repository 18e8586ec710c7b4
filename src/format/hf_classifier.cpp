// Keys and tensors of classes that score texts.
#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMostLabels = 65536;

// Names of labels, by their numbers as texts: {"0": "no", "1": "yes"}.
Status read_labels(const Members& config, HfValues& out) {
  constexpr std::string_view kLabels = "id2label";
  if (!config.is_set(kLabels)) return {};
  const Members labels = TRY(config.object(kLabels));
  const auto n = static_cast<int64_t>(labels.json().size());
  if (n > kMostLabels) return config.wrong(kLabels, "has more than 65536 labels");
  auto names = std::make_shared<MetaArray>();
  for (int64_t i = 0; i < n; ++i) {
    const Json* const name = labels.find(fmt::format("{}", i));
    if (name == nullptr || !name->is_string()) return {};  // other programs' numbering
    names->strings.push_back(name->get<std::string>());
  }
  if (n == 0) return {};
  out.set("classifier.output_labels", std::shared_ptr<const MetaArray>(names),
          config.path_of(kLabels));
  return {};
}

constexpr std::string_view kScoring = "ForSequenceClassification";

}  // namespace

bool scores_by(const FoundClass& decoder, std::string_view named) {
  if (!named.ends_with(kScoring) || decoder.family->block.bidirectional) return false;
  named.remove_suffix(kScoring.size());
  return is_word_of(decoder.hf->class_names, fmt::format("{}ForCausalLM", named));
}

const HfClassifier* classifier_of(const FoundClass& found, std::string_view named) {
  static constexpr HfClassifier kOfLastState{.out = "score"};
  if (found.family->block.bidirectional) {
    const HfClassifier& own = found.hf->classifier;
    return is_word_of(own.class_names, named) ? &own : nullptr;
  }
  return scores_by(found, named) ? &kOfLastState : nullptr;
}

Status read_hf_classifier(const Members& config, HfValues& out) {
  const HfClassifier& head = *out.classifier();
  // The class has one activation, or a key for it.
  std::string act(head.act);
  if (!head.act_key.empty()) act = TRY(config.text_or(head.act_key, head.act));
  out.set("classifier.activation", act, std::string(head.act_key));
  // Scores are those of the first token, or where a key says so of the mean or of each.
  if (!head.pooling_key.empty()) {
    const std::vector<std::string_view> known = words_of(head.poolings);
    const std::string pooling = TRY(config.text_or(head.pooling_key, known.front()));
    if (!is_word_of(head.poolings, pooling)) {
      return config.wrong(head.pooling_key, fmt::format("is none of: {}", head.poolings),
                          Code::unsupported);
    }
    out.set("classifier.of_mean", pooling == "mean", config.path_of(head.pooling_key));
    if (pooling == "late") {
      out.set("classifier.of_each", true, config.path_of(head.pooling_key));
    }
  }
  return read_labels(config, out);
}

Status read_hf_output_dense(const Members& config, HfValues& out) {
  const HfClass& hf = out.hf();
  if (!out.family().block.output_dense) return {};
  out.set("output_dense_act", TRY(config.text_or(hf.output_dense_act, "gelu")),
          config.path_of(hf.output_dense_act));
  const bool has_bias = TRY(config.truth(hf.output_dense_bias)).value_or(false);
  out.set("output_dense_bias", has_bias, config.path_of(hf.output_dense_bias));
  return {};
}

std::string HfConfig::classifier_tensor(std::string_view hf_name) const {
  // The names of the head are those of the class; the names before them are the family's.
  if (classifier == nullptr) return {};
  for (const std::string_view prefix : words_of(family->head_prefixes)) {
    if (!hf_name.starts_with(prefix)) continue;
    hf_name.remove_prefix(prefix.size());
    break;
  }
  const HfClassifier& head = *classifier;
  const std::pair<std::string_view, std::string_view> names[] = {
      {head.out, "cls.output"}, {head.dense, "cls"}, {head.norm, "cls.norm"}};
  for (const auto& [stem, gguf] : names) {
    for (const std::string_view ending : {".weight", ".bias"}) {
      if (!stem.empty() && hf_name == fmt::format("{}{}", stem, ending)) {
        return fmt::format("{}{}", gguf, ending);
      }
    }
  }
  return {};
}

}  // namespace ruv
