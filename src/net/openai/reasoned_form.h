// Forms beside reasoning: where the prompt ends inside the model's reasoning, an answer first ends
// that as it likes, and has its form after it. Else the form would be taken for reasoning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/tools/answer_format.h"
#include "net/openai/answer_form.h"

namespace ruv {

// The form for an answer to a prompt that ends with `prompt_tail`; nothing: as it is. Fails:
// unsupported_field, for forms that are neither schemas nor choices.
ApiResult<std::optional<AnswerForm>> after_reasoning(const AnswerFormat& format,
                                                     std::string_view prompt_tail,
                                                     const AskedForm& asked);

}  // namespace ruv
