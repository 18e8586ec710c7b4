#include "engine/sample/dry_penalty.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/elementary.h"

namespace ruv {
namespace {

// Tokens of the rest of a breaker that are compared, as in llama.cpp.
constexpr size_t kMaxRest = 20;
// A larger one would make logits infinite.
constexpr double kMaxPenalty = 1e30;
// Powers of the base stay below it: e^88.7 is the largest float32.
constexpr double kMaxLogPower = 88.7228391;

// repeats[k]: how many elements from k on equal those from 0 on (Gusfield, 1997, "Z-algorithm").
void count_repeats(std::span<const Token> all, std::vector<int64_t>& repeats) {
  const std::ptrdiff_t n = std::ssize(all);
  repeats.assign(all.size(), 0);
  const auto at = [&](std::ptrdiff_t i) { return all[static_cast<size_t>(i)]; };
  std::ptrdiff_t begin = 0;  // the stretch that reaches furthest and equals the beginning
  std::ptrdiff_t end = 0;
  for (std::ptrdiff_t k = 1; k < n; ++k) {
    std::ptrdiff_t length = 0;
    if (k < end) {
      const auto known = static_cast<std::ptrdiff_t>(repeats[static_cast<size_t>(k - begin)]);
      length = std::min(end - k, known);
    }
    while (k + length < n && at(length) == at(k + length)) ++length;
    repeats[static_cast<size_t>(k)] = length;
    if (k + length <= end) continue;
    begin = k;
    end = k + length;
  }
}

}  // namespace

SequenceBreakers::SequenceBreakers(const std::vector<std::string>& texts,
                                   const Tokenizer* tokenizer)
    : tokenizer_(tokenizer) {
  if (tokenizer == nullptr) return;
  for (const std::string& text : texts) {
    Breaker& breaker = breakers_.emplace_back(Breaker{text, {}});
    for (size_t i = 1; i < text.size(); ++i) {
      std::vector<Token>& rest = breaker.rests.emplace_back();
      tokenizer->encode(std::string_view(text).substr(i), SpecialParsing::off, true, rest);
      rest.resize(std::min(rest.size(), kMaxRest));
    }
  }
}

bool SequenceBreakers::holds_one(Token id, std::string& text) const {
  text.clear();
  if (breakers_.empty() || id >= tokenizer_->vocab_size()) return false;
  tokenizer_->append_bytes(id, true, text);
  return std::ranges::any_of(breakers_,
                             [&](const Breaker& b) { return text.find(b.text) != text.npos; });
}

int64_t SequenceBreakers::n_after(std::span<const Token> recent, size_t i,
                                  std::string& text) const {
  int64_t longest = holds_one(recent[i], text) ? 0 : -1;
  const std::string_view all = text;
  for (const Breaker& breaker : breakers_) {
    for (size_t n = 1; n <= std::min(all.size(), breaker.rests.size()); ++n) {
      const std::vector<Token>& rest = breaker.rests[n - 1];
      if (std::ssize(rest) <= longest || rest.size() > i) continue;
      if (all.substr(all.size() - n) != std::string_view(breaker.text).substr(0, n)) continue;
      const bool follows =
          std::equal(rest.begin(), rest.end(),
                     recent.rbegin() + static_cast<std::ptrdiff_t>(recent.size() - i));
      if (follows) longest = std::ssize(rest);
    }
  }
  return longest;
}

DryPenalty::DryPenalty(const GenerateParams& params, const Tokenizer* tokenizer)
    : multiplier_(params.dry_multiplier),
      base_(params.dry_base),
      allowed_length_(params.dry_allowed_length),
      last_n_(params.dry_penalty_last_n),
      breakers_(multiplier_ > 0 ? params.dry_sequence_breakers : std::vector<std::string>(),
                tokenizer) {}

void DryPenalty::take_recent(std::span<const Token> tokens, std::span<const Token> draft,
                             std::vector<Token>& recent) const {
  const size_t all = tokens.size() + draft.size();
  const size_t n = last_n_ < 0 || std::cmp_less(all, last_n_) ? all : static_cast<size_t>(last_n_);
  const size_t n_draft = std::min(n, draft.size());
  recent.assign(draft.rbegin(), draft.rbegin() + static_cast<std::ptrdiff_t>(n_draft));
  recent.insert(recent.end(), tokens.rbegin(),
                tokens.rbegin() + static_cast<std::ptrdiff_t>(n - n_draft));
}

// What is newer than the newest breaker, or than a row of a medium, which has no token.
int64_t DryPenalty::longest_repeat(DryScratch& scratch) const {
  const std::vector<Token>& recent = scratch.recent;
  for (size_t i = 0; i < recent.size(); ++i) {
    if (recent[i] < 0) return static_cast<int64_t>(i);
    const int64_t n_after = breakers_.n_after(recent, i, scratch.text);
    if (n_after >= 0) return static_cast<int64_t>(i) - n_after;
  }
  return std::ssize(recent);
}

void DryPenalty::apply(std::span<float> logits, std::span<const Token> tokens,
                       std::span<const Token> draft, DryScratch& scratch) const {
  take_recent(tokens, draft, scratch.recent);
  if (std::ssize(scratch.recent) <= allowed_length_) return;
  const int64_t most = longest_repeat(scratch);
  if (most < allowed_length_) return;
  count_repeats(scratch.recent, scratch.repeats);
  collect(most, logits.size(), scratch);
  const double most_power = base_ > 1.000001 ? std::floor(kMaxLogPower / exact_log(base_)) : 0;
  for (const auto& [id, length] : scratch.next) {
    if (breakers_.holds_one(id, scratch.text)) continue;
    auto power = static_cast<double>(length - allowed_length_);
    if (most_power > 0) power = std::min(power, most_power);
    const double penalty = std::min(kMaxPenalty, multiplier_ * exact_pow(base_, power));
    logits[static_cast<size_t>(id)] -= static_cast<float>(penalty);
  }
}

// The tokens that would continue a repetition, each with its longest.
void DryPenalty::collect(int64_t most, size_t n_vocab, DryScratch& scratch) const {
  scratch.longest.resize(n_vocab, -1);
  scratch.next.clear();
  scratch.next.reserve(scratch.recent.size());  // so that nothing below throws
  for (size_t k = 1; k < scratch.recent.size(); ++k) {
    const int64_t length = std::min(scratch.repeats[k], most);
    const Token next = scratch.recent[k - 1];
    const bool has_logit = next >= 0 && std::cmp_less(next, n_vocab);
    if (length < allowed_length_ || !has_logit) continue;
    int64_t& longest = scratch.longest[static_cast<size_t>(next)];
    if (longest < 0) scratch.next.emplace_back(next, 0);
    longest = std::max(longest, length);
  }
  for (auto& [id, length] : scratch.next) {
    length = std::exchange(scratch.longest[static_cast<size_t>(id)], -1);
  }
}

}  // namespace ruv
