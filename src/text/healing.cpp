// What a tokenizer does at the end of a text depends on merges, words, scores and normalisation.
// Instead of knowing all of them, the end of the prompt is encoded again with continuations; what
// all of them share is stable.
#include "text/healing.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr size_t kMaxWindow = 16;  // tokens looked at
constexpr size_t kMinWindow = 4;   // fewer are too little context to judge by
constexpr size_t kMaxTakenBack = 8;
constexpr int kMaxContinuations = 1000;

// Each moves the borders of words in some scheme: contractions, runs of digits, spaces, line breaks
// and marks, changes of case and script.
constexpr std::string_view kBorders[] = {
    "a", "A", "1", "\u00e9", "\u65e5", " ",  "\n", "'",    "'s",  "'t",   "ll",
    ".", "-", "_", "/",      " a",     " 1", "\t", "\n\n", " \n", "\r\n", "\U0001f600"};

bool can_heal(TokenizerKind kind) { return kind != TokenizerKind::wordpiece; }

// The last tokens of a prompt, and how many of them are stable.
class PromptTail {
 public:
  PromptTail(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
             std::span<const Token> tokens)
      : tokenizer_(tokenizer), prefixes_(prefixes), tokens_(tokens) {
    for (const Token id : tokens_) text_ += prefixes_.bytes(id);
    n_stable_ = tokens_.size();
  }

  // Whether the tokenizer itself cuts the text so.
  bool is_canonical() {
    return shared_with(text_, "") == tokens_.size() && ids_.size() == tokens_.size();
  }

  size_t find_stable() {
    for (const std::string_view border : kBorders) {
      n_stable_ = std::min(n_stable_, shared_with(text_, border));
    }
    for (size_t at = first_start(); at < text_.size(); ++at) {
      const std::span<const Token> longer = prefixes_.longer_than(end_from(at));
      if (longer.empty()) continue;
      const size_t shared = shared_with(std::string_view(text_).substr(0, at), "");
      if (shared < n_stable_) try_tokens(longer, text_.size() - at, shared);
    }
    return n_stable_;
  }

  // For tokens that the tokenizer would not choose: those before the first byte from which some
  // token spans the end.
  size_t before_spanning() const {
    size_t at = first_start();
    while (at < text_.size() && prefixes_.longer_than(end_from(at)).empty()) ++at;
    size_t n = 0;
    for (size_t end = 0; n < tokens_.size(); ++n) {
      end += prefixes_.bytes(tokens_[n]).size();
      if (end > at) break;
    }
    return n;
  }

 private:
  size_t first_start() const {
    return text_.size() < prefixes_.longest() ? 0 : text_.size() - prefixes_.longest() + 1;
  }
  std::string_view end_from(size_t at) const { return std::string_view(text_).substr(at); }

  // The number of tokens with which the tokens of text + continuation begin as these do.
  size_t shared_with(std::string_view text, std::string_view continuation) {
    continued_.assign(text);
    continued_ += continuation;
    ids_.clear();
    tokenizer_.encode(continued_, SpecialParsing::off, true, ids_);
    const size_t n = std::min(ids_.size(), tokens_.size());
    const auto begin = tokens_.begin();
    return static_cast<size_t>(
        std::mismatch(begin, begin + static_cast<std::ptrdiff_t>(n), ids_.begin()).first - begin);
  }

  // Tries each of `longer`, whose first n_bytes the text already has, as a continuation. No
  // continuation can leave fewer than `least` tokens.
  void try_tokens(std::span<const Token> longer, size_t n_bytes, size_t least) {
    for (const Token id : longer) {
      if (++n_tried_ > kMaxContinuations) n_stable_ = least;
      if (n_stable_ <= least) return;
      n_stable_ = std::min(n_stable_, shared_with(text_, prefixes_.bytes(id).substr(n_bytes)));
    }
  }

  const Tokenizer& tokenizer_;
  const TokenPrefixes& prefixes_;
  std::span<const Token> tokens_;
  std::string text_;
  std::string continued_;
  std::vector<Token> ids_;
  size_t n_stable_;
  int n_tried_ = 0;
};

// The end of the prompt that is plain text.
std::span<const Token> plain_end(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
                                 std::span<const Token> prompt) {
  const std::vector<AddedToken>& added = tokenizer.spec().added;
  const auto is_plain = [&](Token id) {
    return prefixes.contains(id) &&
           std::none_of(added.begin(), added.end(), [&](const auto& one) { return one.id == id; });
  };
  size_t n = 0;
  while (n < prompt.size() && n < kMaxWindow && is_plain(prompt[prompt.size() - n - 1])) ++n;
  return prompt.last(n);
}

// How many of these tokens to take back.
size_t count_unstable(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
                      std::span<const Token> end) {
  // The first tokens may only be what they are because of text before them.
  for (size_t skip = 0; skip == 0 || skip + kMinWindow <= end.size(); ++skip) {
    PromptTail part(tokenizer, prefixes, end.subspan(skip));
    if (part.is_canonical()) return end.size() - skip - part.find_stable();
  }
  return end.size() - PromptTail(tokenizer, prefixes, end).before_spanning();
}

}  // namespace

HealedPrompt heal_prompt(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
                         std::span<const Token> prompt, size_t n_fixed) {
  HealedPrompt healed{prompt.size(), {}};
  const size_t least = std::max<size_t>(1, n_fixed);
  if (!can_heal(tokenizer.spec().kind) || prompt.size() <= least) return healed;
  const std::span<const Token> end = plain_end(tokenizer, prefixes, prompt);
  if (end.empty()) return healed;
  const size_t wanted = std::min(count_unstable(tokenizer, prefixes, end), kMaxTakenBack);
  healed.n_kept = std::max(least, prompt.size() - wanted);
  for (const Token id : prompt.subspan(healed.n_kept)) healed.prefix += prefixes.bytes(id);
  return healed;
}

Status ForcedPrefix::allow(TokenMask& mask) const {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  for (size_t n = 1; n < left.size() && n <= prefixes_->longest(); ++n) {
    mask.add(prefixes_->equal_to(left.substr(0, n)));
  }
  mask.add(prefixes_->beginning_with(left));
  return {};
}

bool ForcedPrefix::allows(Token id) const {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  const std::string_view bytes = prefixes_->bytes(id);
  return bytes.size() < left.size() ? !bytes.empty() && left.starts_with(bytes)
                                    : bytes.starts_with(left);
}

void ForcedPrefix::accept(Token id) {
  at_ += std::min(prefixes_->bytes(id).size(), bytes_.size() - at_);
}

}  // namespace ruv
