// RegexScanner: finds the matches of a regular expression in a text, with the automata that split
// texts. Used by the normalizer's replace_regex.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/split/word.h"

namespace ruv {

class RegexScanner {
 public:
  // Fails as SplitRegex::parse, and unsupported when the automaton becomes too large.
  static Result<RegexScanner> create(std::string_view regex);

  // The leftmost match at or after `from`. It may be empty; a caller that replaces all matches then
  // continues one character later. Requires: from <= text.size() < 2^31, and `from` is not inside a
  // character.
  std::optional<Word> find(std::string_view text, size_t from) const;

 private:
  struct Automaton;
  std::shared_ptr<const Automaton> automaton_;
};

}  // namespace ruv
