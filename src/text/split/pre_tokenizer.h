// PreTokenizer: cuts a text into words; merges never cross their boundaries. A scheme is a list of
// published regular expressions, each applied inside the pieces of the one before. They run as
// automata, so time is linear in the text and nothing recurses:
//
//   SplitRegex (syntax tree) → RegexNfa (ordered choices) → ScanDfa (one match in one pass) →
//   WordAutomaton (all matches of a text in one pass) or PieceScanner (the general way)
//
// Characters are first mapped to the classes of a SymbolAlphabet. Immutable; any number of threads
// may use one.
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

  // The splitter for these steps, in order; without steps the whole text is one word. Fails:
  // unsupported (a regular expression that cannot run exactly, with the reason), corrupt (a
  // malformed one).
  static Result<PreTokenizer> create(std::span<const SplitStep> steps);

  // Replaces `words` by about a thousand words of `text` from byte `at` on, ascending, and moves
  // `at` past them. Steps that remove their matches leave gaps between words. False: no words are
  // left. Requires: at is 0 or as left by the previous call for the same text; text.size() < 2^31.
  // Linear time.
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
