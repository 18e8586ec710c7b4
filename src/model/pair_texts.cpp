// The texts of pairs as ids, and scores of their vectors.
#include <algorithm>
#include <map>

#include "model/model.h"
#include "ruv/rank.h"

namespace ruv {
namespace {

// Names that models give their prompts of queries and of documents.
constexpr std::string_view kQueryNames[] = {"query"};
constexpr std::string_view kDocumentNames[] = {"document", "passage", "corpus"};

// The first name that the model has; nothing: the default prompt.
std::optional<std::string> prompt_for(const EmbedInfo& info,
                                      std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    for (const auto& [known, text] : info.prompts) {
      if (known == name) return known;
    }
  }
  return std::nullopt;
}

// Texts that are computed, each once.
class TextList {
 public:
  TextList(const Model& model, PairTexts& out) : model_(model), out_(out) {}

  Result<size_t> add(std::string_view text, const EmbedPrompt& prompt) {
    const auto [known, is_new] = places_.try_emplace({prompt.name, text}, out_.ids.size());
    if (!is_new) return known->second;
    out_.ids.push_back(TRY(tokenize_embedding(model_, text, prompt)));
    if (out_.ids.back().empty()) return fail(Code::invalid, "a text gives no tokens");
    return known->second;
  }

 private:
  const Model& model_;
  PairTexts& out_;
  std::map<std::pair<std::optional<std::string>, std::string_view>, size_t> places_;
};

}  // namespace

Status can_rank(const Model& model) {
  const EmbedInfo info = TRY(embed_info(model));
  if (info.pooling_is_stated && info.pooling != Pooling::none) return {};
  return fail(Code::unsupported,
              "the model is neither a classifier of pairs of texts nor, as its files say, a model "
              "of embeddings: they name no pooling");
}

Result<PairTexts> tokenize_pairs(const Model& model, std::span<const TextPair> pairs, PairKind kind,
                                 int64_t max_tokens) {
  const EmbedInfo info = TRY(embed_info(model));
  PairTexts out;
  out.pooling = info.pooling == Pooling::none ? Pooling::last : info.pooling;
  EmbedPrompt first{.max_tokens = max_tokens}, second{.max_tokens = max_tokens};
  if (kind == PairKind::document) {
    first.name = prompt_for(info, kQueryNames);
    second.name = prompt_for(info, kDocumentNames);
  }
  TextList texts(model, out);
  for (const TextPair& pair : pairs) {
    const size_t place = TRY(texts.add(pair.first, first));
    out.pairs.push_back({place, TRY(texts.add(pair.second, second))});
  }
  return out;
}

std::vector<double> pair_scores(const PairTexts& texts, std::span<const Embedding> vectors) {
  std::vector<double> scores;
  scores.reserve(texts.pairs.size());
  for (const PairTexts::Places& pair : texts.pairs) {
    scores.push_back(cosine_of(vectors[pair.first].numbers, vectors[pair.second].numbers));
  }
  return scores;
}

}  // namespace ruv
