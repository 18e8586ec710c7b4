// The fields of a body that ask for a form of the answer: OpenAI's response_format, vLLM's
// structured_outputs and guided_…, llama.cpp's json_schema and grammar, ollama's format. They all
// become one AnswerForm.
#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "net/api_error.h"
#include "ruv/form.h"

namespace ruv {

// A form, and the field that asks for it.
struct AskedForm {
  AnswerForm form;
  std::string field;
};

// Nothing: any text. Fails: 400 naming the field: two fields ask for a form, a value of a wrong
// type, a member that is not known.
ApiResult<std::optional<AskedForm>> read_answer_form(const Json& body);

}  // namespace ruv
