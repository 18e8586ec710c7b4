// Reads grammars in the Lark dialect of llguidance: rules in small letters, terminals in capitals.
//
// What a grammar accepts is the union over all ways to divide a text: no lexer decides beforehand.
// A terminal takes any text that its expression matches as a whole, be it the longest or not, so
// `"if"` may also be an identifier, priorities (`NAME.2`) mean nothing, and a lazy loop in a
// regular expression means what a greedy one does. Any number of texts of `%ignore` may begin
// the text, and follow each terminal, token and value of a rule; none are allowed in terminals.
//
// Rules have texts ("a", "a"i), ranges ("a".."z"), regular expressions (/…/ with the flags i, s and
// m, in RE2's syntax, where \d, \w and \s are those of ASCII and flag i concerns letters of ASCII),
// names, groups, `[x]`, `*`, `+`, `?`, `~n`, `~n..m`, `{n}`, `{n,}`, `{,m}`, `{n,m}`, `%json {…}`,
// `%regex {…}` with substrings, tokens (`<name>`, `<[1-5,10]>`), and in expressions of terminals
// `&` and `~x`, all texts of whole characters but x. Aliases, `?rule` and `!rule` shape a tree,
// which is not made here. `%import common.…` has the terminals of Lark's library.
//
// If the body of a rule is an expression of terminals, `[lazy]` accepts the texts that no shorter
// one begins; `[suffix=x]` the same of the body and then x; `[stop="…"]` the texts of the body
// after which the stop would come for the first time, without it.
//
// Refused by name: %declare, %override, %extend and other statements, imports from elsewhere,
// templates, rules with parameters, other grammars (@name), the attributes max_tokens, temperature,
// capture and stop_capture, regular expressions with the flags l, u and x or with anchors, word
// edges, lookaround and back references, and options of %llguidance other than skip_repetition.
#pragma once

#include "grammar/rules/token_terminal.h"

namespace ruv {

// Terminals become languages in `languages`, an overflow of which is an error. fold_languages makes
// larger languages of them. The rule `start` is the start. Linear time but for the languages that
// are made. Fails: corrupt (not such a grammar), not_found (a name or token), unsupported (too
// large, nested too deep, what is listed above); errors name line and column.
Result<RuleSet> read_lark(Languages& languages, std::string_view text, const GrammarTokens& tokens);

}  // namespace ruv
