// PreTokenizer: cuts a text into words; merges never cross them. A scheme is a list of published
// patterns, applied one after another; each pattern is a hand-written matcher.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// Bytes [begin, end) of a text.
struct Word {
  uint32_t begin = 0;
  uint32_t end = 0;
};

class PreTokenizer {
 public:
  // The scheme by its GGUF name ("gpt-2", "llama-bpe", "qwen2", …). Fails: unsupported, naming it.
  static Result<PreTokenizer> find(std::string_view name);

  // The splitter of these steps, in order. No steps: the text is one word. Fails: unsupported (a
  // regular expression we cannot run exactly, with the reason), corrupt (a broken one).
  static Result<PreTokenizer> create(std::span<const SplitStep> steps);

  // The words of the next stretch of `text` from byte `at` on, ascending, in place of what `words`
  // held; moves `at` behind them. False: no words are left. Requires: at is 0 or as left by the
  // call before for the same text; text.size() < 2^31. Linear time.
  bool next_words(std::string_view text, size_t& at, std::vector<Word>& words) const;

  // Ends of the words of `text`, ascending; the last is text.size(). Linear time.
  void split(std::string_view text, std::vector<size_t>& ends) const;

  // Cuts text[begin, end) further and appends the ends.
  using Step = void (*)(std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends);

 private:
  std::vector<Step> steps_;
};

// The scheme that applies exactly these patterns, in order. A pattern is a regular expression as
// tokenizer.json files write it; ByteLevel with use_regex is GPT-2's.
std::optional<std::string_view> find_scheme(std::span<const std::string> patterns);

namespace patterns {
extern const std::string_view kGpt2;
extern const std::string_view kDigit;        // one digit at a time
extern const std::string_view kDigits;       // runs of digits
extern const std::string_view kPunctuation;  // runs of Unicode and ASCII punctuation
}  // namespace patterns

}  // namespace ruv
