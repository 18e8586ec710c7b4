#include "chat/tools/answer_format.h"

#include <algorithm>

#include "chat/chat_template.h"
#include "text/tokenizer.h"

namespace ruv {

AnswerFormat answer_format(const ChatTemplate& chat_template, const Tokenizer* tokenizer) {
  const FoundDialect& found = chat_template.dialect();
  const TemplateCapabilities& can = chat_template.capabilities();
  AnswerFormat format{.dialect = found.dialect,
                      .has_calls = found.source != DialectSource::none,
                      .thinking_switch = can.thinking_switch,
                      .reasoning_effort = can.reasoning_effort};
  if (tokenizer == nullptr || !format.has_parts()) return format;
  const std::vector<std::string> marks = dialect_marks(format.dialect);
  for (Token id = 0; id < tokenizer->vocab_size(); ++id) {
    if (!tokenizer->is_control(id)) continue;
    const std::string text = tokenizer->token_bytes(id, true);
    const bool in_marks = !text.empty() && std::ranges::any_of(marks, [&](const std::string& mark) {
      return mark.find(text) != std::string::npos;
    });
    if (!in_marks) continue;
    format.shown.push_back(id);
    format.control.emplace_back(text, id);
  }
  return format;
}

}  // namespace ruv
