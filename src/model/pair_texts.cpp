// The texts of pairs as ids, and scores of their vectors.
#include <algorithm>
#include <map>

#include "base/elementary.h"
#include "base/utf8.h"
#include "chat/prompt.h"
#include "model/classifier.h"
#include "model/model.h"
#include "model/pair_prompt.h"
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

// Fails: unsupported (labels other than one, no form of pairs).
Status check_classifier(const Model& model) {
  const int64_t n_labels = model.classifier->info.n_labels;
  if (n_labels != 1) {
    return fail(Code::unsupported, "the model's classifier has {} labels; pairs are scored by one",
                n_labels);
  }
  // All states of many long texts would wait in memory for their scores.
  if (model.classifier->info.pooling == Pooling::none) {
    return fail(Code::unsupported,
                "the model's classifier scores each state of a text; it is not asked for pairs, "
                "but for one text by Engine::classify");
  }
  return {};
}

// Shortens the longer of two texts, token by token, until both are n together.
void cut_pair(std::vector<Token>& first, std::vector<Token>& second, size_t n) {
  while (first.size() + second.size() > n) {
    (first.size() > second.size() ? first : second).pop_back();
  }
}

// A pair as its tokenizer joins it.
Status add_joined(const Model& model, const TextPair& pair, int64_t max_tokens, PairTexts& out) {
  const Tokenizer& tokenizer = *model.tokenizer;
  const std::span<const Token> before = tokenizer.spec().first_tokens();
  const std::span<const Token> after = tokenizer.spec().last_tokens();
  const std::vector<Token>& middle = model.pair_form->middle;
  std::vector<Token> first, second;
  tokenizer.encode(pair.first, SpecialParsing::off, false, first);
  tokenizer.encode(pair.second, SpecialParsing::off, false, second);
  const size_t n_special = before.size() + middle.size() + after.size();
  if (max_tokens > 0) {
    if (std::cmp_less(max_tokens, n_special + 2)) {
      return fail(Code::invalid, "max_tokens: {} leave no room beside {} special tokens",
                  max_tokens, n_special);
    }
    cut_pair(first, second, static_cast<size_t>(max_tokens) - n_special);
  }
  std::vector<Token> ids(before.begin(), before.end());
  ids.insert(ids.end(), first.begin(), first.end());
  ids.insert(ids.end(), middle.begin(), middle.end());
  const bool has_types = model.pair_form->has_types && model.token_types.n_out > 1;
  out.second_texts.push_back(has_types ? std::ssize(ids) : 0);
  ids.insert(ids.end(), second.begin(), second.end());
  ids.insert(ids.end(), after.begin(), after.end());
  out.pairs.push_back({out.ids.size(), out.ids.size()});
  out.ids.push_back(std::move(ids));
  return {};
}

Result<std::vector<Token>> encoded_prompt(const Model& model, const TextPair& pair) {
  const auto parts =
      TRY(write_pair(*model.pair_prompt, render_options(model.tokenizer.get()), pair));
  std::vector<Token> ids = encode_parts(*model.tokenizer, parts);
  if (model.pair_prompt->chat_template == nullptr) add_missing_bos(*model.tokenizer, ids);
  return ids;
}

// A pair as the model's prompt has it. What is too long loses the end of its second text.
Status add_prompt(const Model& model, const TextPair& pair, int64_t max_tokens, PairTexts& out) {
  std::vector<Token> ids = TRY(encoded_prompt(model, pair));
  std::vector<Token> second;
  std::string kept;
  const auto too_many = [&] { return max_tokens > 0 ? std::ssize(ids) - max_tokens : 0; };
  if (too_many() > 0) model.tokenizer->encode(pair.second, SpecialParsing::off, false, second);
  while (too_many() > 0) {
    if (second.empty()) {
      return fail(Code::invalid,
                  "max_tokens: {} leave no room for the second text beside {} others", max_tokens,
                  ids.size());
    }
    const int64_t n_cut = std::min<int64_t>(std::ssize(second), too_many());
    second.erase(second.end() - static_cast<std::ptrdiff_t>(n_cut), second.end());
    kept = model.tokenizer->decode(second, false);
    kept.resize(whole_utf8_prefix(kept));
    ids = TRY(encoded_prompt(model, {pair.first, kept}));
  }
  out.second_texts.push_back(0);
  out.pairs.push_back({out.ids.size(), out.ids.size()});
  out.ids.push_back(std::move(ids));
  return {};
}

Result<PairTexts> joined_pairs(const Model& model, std::span<const TextPair> pairs,
                               int64_t max_tokens) {
  TRY(can_rank(model));
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported, "{}: no usable tokenizer: {}", model.file->path(),
                model.tokenizer_status.message());
  }
  PairTexts out;
  out.classified = true;
  out.pooling = model.classifier->info.pooling;
  for (const TextPair& pair : pairs) {
    TRY(model.pair_prompt != nullptr ? add_prompt(model, pair, max_tokens, out)
                                     : add_joined(model, pair, max_tokens, out));
  }
  return out;
}

}  // namespace

Status can_rank(const Model& model) {
  if (!model.pair_form) return model.pair_form.error();
  if (model.classifier != nullptr) return check_classifier(model);
  const EmbedInfo info = TRY(embed_info(model));
  if (info.pooling_is_stated && info.pooling != Pooling::none) return {};
  return fail(Code::unsupported,
              "the model is neither a classifier of pairs of texts nor, as its files say, a model "
              "of embeddings: they name no pooling");
}

Result<PairTexts> tokenize_pairs(const Model& model, std::span<const TextPair> pairs, PairKind kind,
                                 int64_t max_tokens) {
  if (!model.pair_form) return tl::unexpected<Status>(model.pair_form.error());
  if (model.classifier != nullptr) return joined_pairs(model, pairs, max_tokens);
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

std::vector<double> pair_scores(const Model& model, const PairTexts& texts,
                                std::span<const Embedding> vectors) {
  std::vector<double> scores;
  scores.reserve(texts.pairs.size());
  for (const auto& pair : texts.pairs) {
    if (texts.classified) {
      const double score = double{class_scores(model, vectors[pair.first].numbers)[0]};
      scores.push_back(1 / (1 + exact_exp(-score)));
      continue;
    }
    scores.push_back(cosine_of(vectors[pair.first].numbers, vectors[pair.second].numbers));
  }
  return scores;
}

}  // namespace ruv
