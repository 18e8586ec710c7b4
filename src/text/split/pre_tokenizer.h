// PreTokenizer: cuts a text into words; merges never cross them. A scheme is a list of published
// regular expressions, applied one after another, each inside the pieces of the one before; they
// run as automata (text/split/word_automaton.h), so time is linear and nothing recurses.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/split/schemes.h"
#include "text/split/word.h"
#include "text/tokenizer_spec.h"

namespace ruv {

class PreTokenizer {
 public:
  // The scheme by its GGUF name ("gpt-2", "llama-bpe", "qwen2", …). Fails: unsupported, naming it.
  static Result<PreTokenizer> find(std::string_view name);

  // The splitter of these steps, in order. No steps: the text is one word. Fails: unsupported (a
  // regular expression we cannot run exactly, with the reason), corrupt (a broken one).
  static Result<PreTokenizer> create(std::span<const SplitStep> steps);

  // The words of the next stretch of `text` from byte `at` on, ascending, about a thousand, in
  // place of what `words` held; moves `at` behind them. Between words there are gaps where a step
  // removes its matches. False: no words are left. Requires: at is 0 or as left by the call before
  // for the same text; text.size() < 2^31. Linear time.
  bool next_words(std::string_view text, size_t& at, std::vector<Word>& words) const;

 private:
  struct Stage;
  struct Plan;
  // Cuts words into the words of one more stage.
  static void refine(const Stage& stage, std::string_view text, std::vector<Word>& words,
                     std::vector<Word>& out);

  std::shared_ptr<const Plan> plan_;
};

}  // namespace ruv
