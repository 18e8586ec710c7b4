// Parses the Lark dialect into a LarkFile.
#pragma once

#include "grammar/rules/lark_file.h"
#include "grammar/rules/lark_scanner.h"
#include "grammar/rules/token_terminal.h"

namespace ruv {

// Linear time. Names are not resolved. Fails: corrupt (not such a grammar), not_found (an unknown
// token or common terminal), unsupported (constructs that lark.h lists, too large, nested too
// deep).
Result<LarkFile> parse_lark(std::string_view text, const GrammarTokens& tokens);

// The regular expression of a terminal of Lark's library `common`, by its name there.
std::optional<std::string_view> common_lark_terminal(std::string_view name);

}  // namespace ruv
