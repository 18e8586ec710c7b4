#include "engine/sample/gap_cuts.h"

#include <algorithm>
#include <limits>
#include <string>

namespace ruv {
namespace {

// An end counts as likely when it has this many times the mean probability that is left for texts.
constexpr double kEndsCount = 3;
// The least share of the probability that a text must have.
constexpr double kLeastShare = 0.2;

}  // namespace

GapCuts::GapCuts(const GenerateParams& params, const Tokenizer* tokenizer)
    : tokenizer_(tokenizer),
      ends_by_model_(!params.ignore_eos && tokenizer != nullptr),
      stop_tokens_(params.stop_tokens) {
  std::ranges::sort(stop_tokens_);
}

bool GapCuts::is_end(Token id) const {
  return std::ranges::binary_search(stop_tokens_, id) ||
         (ends_by_model_ && tokenizer_->ends_answer(id));
}

std::optional<WeighedToken> GapCuts::likeliest_end(std::span<const float> logits) const {
  std::optional<WeighedToken> best;
  for (size_t i = 0; i < logits.size(); ++i) {
    const WeighedToken token{1, logits[i], static_cast<Token>(i)};
    if (token.logit == -std::numeric_limits<float>::infinity()) continue;
    if (best && token.logit <= best->logit) continue;
    if (is_end(token.id)) best = token;
  }
  return best;
}

void GapCuts::apply(std::vector<WeighedToken>& tokens,
                    const std::optional<WeighedToken>& end) const {
  weigh(tokens, 1);
  const auto is_text = [&](const WeighedToken& token) { return !is_end(token.id); };
  double ends = 0;
  for (const WeighedToken& token : tokens) ends += is_text(token) ? 0 : token.weight;
  const double texts = total_weight(tokens) - ends;
  if (kEndsCount * ends * static_cast<double>(tokens.size()) > texts) {
    std::erase_if(tokens, is_text);
    return;
  }
  const WeighedToken likeliest = *std::ranges::min_element(tokens, precedes);
  join_beginnings(tokens);
  const size_t n_texts = keep_texts(tokens, kLeastShare * (ends + texts));
  if (n_texts == 0) {
    tokens = {end.value_or(likeliest)};
    return;
  }
  (void)keep_texts(tokens, total_weight(tokens) / static_cast<double>(n_texts + 1));
}

// From the likeliest token on, each takes in, or is taken in by, those that it begins.
void GapCuts::join_beginnings(std::vector<WeighedToken>& tokens) const {
  if (tokenizer_ == nullptr) return;
  std::ranges::sort(tokens, precedes);
  std::vector<std::string> texts;
  for (const WeighedToken& token : tokens) {
    texts.push_back(tokenizer_->token_bytes(token.id, false));
  }
  std::vector<bool> is_joined(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    for (size_t k = 0; k < tokens.size() && !is_joined[i]; ++k) {
      if (k == i || is_joined[k] || texts[i].empty() || !texts[k].starts_with(texts[i])) continue;
      const bool takes_in = tokens[k].weight <= tokens[i].weight;
      const size_t from = takes_in ? k : i;
      tokens[takes_in ? i : k].weight += tokens[from].weight;
      tokens[from].weight = 0;
      is_joined[from] = true;
    }
  }
}

size_t GapCuts::keep_texts(std::vector<WeighedToken>& tokens, double least) const {
  std::erase_if(
      tokens, [&](const WeighedToken& token) { return token.weight < least && !is_end(token.id); });
  return static_cast<size_t>(
      std::ranges::count_if(tokens, [&](const WeighedToken& t) { return !is_end(t.id); }));
}

}  // namespace ruv
