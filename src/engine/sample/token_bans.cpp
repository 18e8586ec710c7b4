#include "engine/sample/token_bans.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ruv {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

// What ends an answer: as Sequence has it.
std::vector<Token> ends_of(const GenerateParams& params, const Tokenizer* tokenizer,
                           int64_t n_vocab) {
  std::vector<Token> ends = params.stop_tokens;
  if (params.ignore_eos || tokenizer == nullptr) return ends;
  const auto add = [&](Token id) {
    if (id >= 0 && id < n_vocab) ends.push_back(id);
  };
  if (tokenizer->spec().eos) add(*tokenizer->spec().eos);
  for (const Token id : tokenizer->spec().end_of_turn) add(id);
  return ends;
}

// Alone and after a space, as words begin in the middle of a text; leading spaces say nothing.
void add_word(std::string_view word, const Tokenizer& tokenizer,
              std::vector<std::vector<Token>>& to) {
  const size_t first = word.find_first_not_of(' ');
  if (first != word.npos) word.remove_prefix(first);
  for (const std::string& text : {std::string(word), " " + std::string(word)}) {
    std::vector<Token> tokens;
    tokenizer.encode(text, SpecialParsing::on, true, tokens);
    if (!tokens.empty() && std::ranges::find(to, tokens) == to.end()) {
      to.push_back(std::move(tokens));
    }
  }
}

// Whether the answer so far, then the draft, ends with `tokens`.
bool ends_with(const SampleHistory& history, std::span<const Token> tokens) {
  if (std::cmp_greater(tokens.size(), history.n_generated)) return false;
  const size_t n_draft = std::min(tokens.size(), history.draft.size());
  const size_t n_before = tokens.size() - n_draft;
  return std::ranges::equal(history.tokens.last(n_before), tokens.first(n_before)) &&
         std::ranges::equal(history.draft.last(n_draft), tokens.last(n_draft));
}

}  // namespace

TokenBans::TokenBans(const GenerateParams& params, const Tokenizer* tokenizer, int64_t n_vocab)
    : min_tokens_(params.min_tokens) {
  if (!params.allowed_token_ids.empty()) {
    allowed_.emplace(n_vocab);
    allowed_->add(params.allowed_token_ids);
  }
  if (min_tokens_ > 0) ends_ = ends_of(params, tokenizer, n_vocab);
  if (tokenizer == nullptr) return;
  for (const std::string& word : params.bad_words) add_word(word, *tokenizer, bad_words_);
}

void TokenBans::apply(std::span<float> logits, const SampleHistory& history) const {
  if (allowed_) allowed_->apply(logits);
  if (history.n_generated < min_tokens_) {
    for (const Token id : ends_) logits[static_cast<size_t>(id)] = kBanned;
  }
  for (const std::vector<Token>& word : bad_words_) {
    const Token last = word.back();
    if (std::cmp_greater_equal(last, logits.size())) continue;
    const std::span<const Token> before(word.data(), word.size() - 1);
    if (ends_with(history, before)) logits[static_cast<size_t>(last)] = kBanned;
  }
}

}  // namespace ruv
