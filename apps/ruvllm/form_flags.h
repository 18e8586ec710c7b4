// The flags that ask for a form of the answer.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "ruv/form.h"

namespace ruv {

// The values of these flags; empty: not given.
struct FormCall {
  std::string schema;   // JSON, or the name of a file that has it
  std::string grammar;  // a grammar, or the name of a file that has one
  std::string regex;
  bool json_object = false;
};

bool has_form(const FormCall& call);
// At most one of them may be given.
void add_form_flags(CommandLine& line, FormCall& call);
// Why the flags contradict each other, if so.
std::string objection_to(const FormCall& call);
// Fails: as reading a file.
Result<std::optional<AnswerForm>> answer_form(const FormCall& call);

}  // namespace ruv
