// structural_tag of vLLM and XGrammar: free text with tags in it, whose contents have forms.
// Becomes a grammar in the dialect of Lark.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "net/api_error.h"

namespace ruv {

// `field` is where the tag was given; errors name the member in it. Both generations are read:
// {"structures": [{"begin", "schema", "end"}], "triggers"} and {"format": {"type", …}} with the
// types const_string, json_schema, regex, any_text, sequence, or, tag, triggered_tags and
// tags_with_separator; others are refused by name.
ApiResult<std::string> structural_tag_grammar(const std::string& field, const Json& value);

}  // namespace ruv
