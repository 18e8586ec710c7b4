#include "net/openai/reasoned_form.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/lark_writer.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

// Any text, and then the mark: as the token that it is, or as text that did not occur before.
std::string reasoning_rules(const AnswerFormat& format) {
  const std::string_view end = mark_core(format.dialect.reasoning.end);
  const auto control =
      std::ranges::find_if(format.control, [&](const auto& entry) { return entry.first == end; });
  if (control != format.control.end()) {
    return fmt::format("reasoning: REASONING <[{}]> /\\n*/\nREASONING: /.*/s\n", control->second);
  }
  return fmt::format("reasoning: REASONING {} /\\n*/\nREASONING: /.*/s & ~/.*{}.*/s\n",
                     Json(end).dump(), escaped_pattern(end));
}

// The form as a part of a rule; nothing: it cannot be one.
std::optional<std::string> rule_part(const AnswerForm& form) {
  if (form.kind == AnswerForm::Kind::json_schema) {
    const bool is_object = form.text.find('{') != std::string::npos;  // or true
    return "%json " + (is_object ? form.text : fmt::format("{{\"allOf\": [{}]}}", form.text));
  }
  if (form.kind == AnswerForm::Kind::choice) {
    const auto choices = parse_json(form.text, "choices");
    if (!choices || !choices->is_array()) return std::nullopt;
    std::string texts;
    for (const Json& choice : *choices) {
      texts += (texts.empty() ? "" : " | ") + Json(choice.text()).dump();
    }
    return "(" + texts + ")";
  }
  return std::nullopt;
}

}  // namespace

ApiResult<std::optional<AnswerForm>> after_reasoning(const AnswerFormat& format,
                                                     std::string_view prompt_tail,
                                                     const AskedForm& asked) {
  if (!open_reasoning(format.dialect.reasoning, prompt_tail)) return std::nullopt;
  const std::optional<std::string> part = rule_part(asked.form);
  if (!part) {
    return tl::unexpected(bad_request(
        asked.field,
        fmt::format("'{}': the model's chat template begins reasoning, after which only a JSON "
                    "schema can be held; \"reasoning_effort\": \"none\" switches it off where the "
                    "template can",
                    asked.field),
        "unsupported_field"));
  }
  AnswerForm form;
  form.kind = AnswerForm::Kind::lark;
  form.text = fmt::format("start: reasoning {}\n{}", *part, reasoning_rules(format));
  form.layout = asked.form.layout;
  return form;
}

}  // namespace ruv
