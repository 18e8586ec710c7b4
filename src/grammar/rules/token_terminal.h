// Terminals that are tokens whatever their bytes are, as both syntaxes of grammars write them:
// `<name>` by the text of a token, `<[5]>` by its id, and sets of ids.
#pragma once

#include <functional>
#include <optional>

#include "grammar/rules/grammar_cursor.h"
#include "grammar/rules/rule_set.h"

namespace ruv {

// What a reader of grammars knows of the vocabulary.
struct GrammarTokens {
  // The token whose text is exactly this, angle brackets and all. None: no names are known.
  std::function<std::optional<Token>(std::string_view text)> find;
  Token n_tokens = 0;  // ids are below
};

// At '<': a token's text up to '>', or ids in brackets: `<[1]>`, `<[1-5,10]>`, `<[^1-5]>` (all
// others), `<[*]>` (all). Fails: corrupt (something else), not_found (no such token, by name).
Result<TokenSet> take_token_terminal(GrammarCursor& in, const GrammarTokens& tokens);

}  // namespace ruv
