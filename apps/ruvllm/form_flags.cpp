#include "form_flags.h"

#include "base/file.h"

namespace ruv {
namespace {

// The text of a flag, or of the file that it names.
Result<std::string> text_or_file(const std::string& value, char first) {
  const bool is_text = value.find('\n') != std::string::npos || value.find("::=") != value.npos ||
                       value.find_first_not_of(" \t") == value.find(first);
  if (is_text) return value;
  return read_text_file(value);
}

}  // namespace

bool has_form(const FormCall& call) {
  return call.json_object || !(call.schema + call.grammar + call.regex).empty();
}

void add_form_flags(CommandLine& line, FormCall& call) {
  const OptionGroup group(line, "Form of the answer");
  line.alternatives({"--schema", "--grammar", "--regex", "--json-object"});
  line.text("--schema", call.schema,
            "The answer is JSON of this JSON schema, or of the one in this file");
  line.text("--grammar", call.grammar,
            "The answer is of this grammar, or of the one in this file: GBNF, or Lark");
  line.text("--regex", call.regex, "The answer as a whole matches this pattern");
  line.flag("--json-object", call.json_object, "The answer is any JSON object");
}

std::string objection_to(const FormCall& call) {
  const int n = (call.schema.empty() ? 0 : 1) + (call.grammar.empty() ? 0 : 1) +
                (call.regex.empty() ? 0 : 1) + (call.json_object ? 1 : 0);
  if (n < 2) return {};
  return "give one of --schema, --grammar, --regex and --json-object";
}

Result<std::optional<AnswerForm>> answer_form(const FormCall& call) {
  AnswerForm form;
  if (call.json_object) {
    form.text = R"({"type": "object"})";
  } else if (!call.schema.empty()) {
    form.text = TRY(text_or_file(call.schema, '{'));
  } else if (!call.regex.empty()) {
    form.kind = AnswerForm::Kind::regex;
    form.text = call.regex;
  } else if (!call.grammar.empty()) {
    form.text = TRY(text_or_file(call.grammar, '\n'));
    const bool is_gbnf = form.text.find("::=") != std::string::npos;
    form.kind = is_gbnf ? AnswerForm::Kind::gbnf : AnswerForm::Kind::lark;
  } else {
    return std::nullopt;
  }
  return form;
}

}  // namespace ruv
