// Reads GBNF, the grammars of llama.cpp: `name ::= alternatives`, one rule after another.
//
// Texts in quotes, classes in brackets, `.`, groups, `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`,
// comments after '#', and tokens: `<text>`, `<[id]>`, and with '!' before it any other token. A
// rule ends with its line, but lines may end after `::=` and `|` and anywhere in a group.
// Everything that llama.cpp reads means the same here, but for four things:
// - Rules may be left-recursive; llama.cpp refuses these.
// - Counts up to 65,535 are exact. llama.cpp refuses a lower limit above 2,000 and repetitions that
//   multiply to as many, and takes an upper limit above 2,000 for none.
// - A rule with two definitions is an error; there the last one counts.
// - An empty class, and a range that ends before it begins, are errors; there they match the empty
//   text and nothing.
// Read as well: a line that begins with `|` continues the rule, `_` in names, and sets of tokens
// as the Lark dialect has them (`<[1-5,10]>`).
#pragma once

#include "grammar/rules/token_terminal.h"

namespace ruv {

// Terminals become languages in `languages`, an overflow of which is an error. fold_languages makes
// larger languages of them. Linear time. Fails: corrupt (not GBNF), not_found (a rule or token that
// does not exist), unsupported (too large, nested too deep, a lookahead); errors name line and
// column.
Result<RuleSet> read_gbnf(Languages& languages, std::string_view text, const GrammarTokens& tokens,
                          std::string_view start = "root");

}  // namespace ruv
