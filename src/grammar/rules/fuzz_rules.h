// What the fuzzers of grammar readers share. Input is a grammar, a zero byte, a text.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "grammar/rules/fold_languages.h"
#include "grammar/rules/test_recogniser.h"
#include "grammar/rules/token_terminal.h"

namespace ruv {

// Reads the grammar: nothing may take long or fail other than with a Status. Folding may not change
// whether the text is accepted, nor whether it begins an accepted one, as it does if it is one.
template <typename Read>
void fuzz_rules(std::string_view input, Read&& read) {
  constexpr size_t kMaxText = 12;
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size())).substr(0, kMaxText);
  const GrammarTokens tokens = {[](std::string_view name) -> std::optional<Token> {
                                  if (name == "<x>") return 3;
                                  return std::nullopt;
                                },
                                8};
  Languages languages(1 << 16);
  Result<RuleSet> rules = read(languages, input.substr(0, end), tokens);
  if (!rules) return;
  RuleSet folded = *rules;
  fold_languages(languages, folded,
                 {.language = {.size = 2000, .height = 60}, .total_size = 20000});
  const Language value = languages.text("{}");
  TestRecogniser plain(languages, *rules, value);
  TestRecogniser other(languages, folded, value);
  const bool accepts = plain.accepts(text);
  const bool other_accepts = other.accepts(text);
  const bool begins = plain.can_continue(text);
  const bool other_begins = other.can_continue(text);
  if (languages.overflowed()) return;
  CHECK(accepts == other_accepts);
  CHECK(begins == other_begins);
  CHECK(begins || !accepts);
}

}  // namespace ruv
