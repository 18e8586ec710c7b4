// Texts that fill a gap: a prompt before it and a suffix after it, joined by the control tokens
// that models of code were trained with.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "net/api_error.h"
#include "net/model_text.h"

namespace ruv {

struct FillMarks {
  Token prefix;  // before the text that precedes the gap
  Token suffix;  // before the text that follows it
  Token middle;  // where the gap begins; -1: after the preceding text, which comes last
  // These end what fills the gap, besides the model's own end tokens.
  std::vector<Token> ends;
};

// Nothing: the model has no such tokens.
std::optional<FillMarks> fill_marks(const ModelText& text);

// The prompt that asks for what is between `before` and `after`, which is plain text: control
// tokens written in it stay text. Fails: 400 as encoding does.
ApiResult<std::vector<Token>> fill_prompt(const ModelText& text, const FillMarks& marks,
                                          std::string_view before, std::string_view after);

}  // namespace ruv
