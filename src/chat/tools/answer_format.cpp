#include "chat/tools/answer_format.h"

#include <algorithm>

#include "chat/chat_template.h"
#include "text/tokenizer.h"

namespace ruv {

namespace {

// The tokens of a mark, each of its control tokens one.
std::vector<Token> mark_tokens(const Tokenizer& tokenizer, std::string_view mark) {
  std::vector<Token> ids;
  tokenizer.encode(mark, SpecialParsing::on, false, ids);
  return ids;
}

// Only an end that is a token of its own is found in whatever the model writes before it.
std::optional<ReasoningRegion> region_of(const ToolDialect& dialect, const Tokenizer& tokenizer) {
  ReasoningRegion region;
  if (dialect.shape == ToolDialect::Shape::channels) {
    region.end = mark_tokens(tokenizer, "<|channel|>final<|message|>");
    region.is_open = true;
    if (region.end.size() != 3) return std::nullopt;
    return region;
  }
  if (dialect.reasoning.end.empty()) return std::nullopt;
  region.end = mark_tokens(tokenizer, mark_core(dialect.reasoning.end));
  if (region.end.size() != 1) return std::nullopt;
  const std::vector<Token> begin = mark_tokens(tokenizer, mark_core(dialect.reasoning.begin));
  if (begin.size() == 1) region.begin = begin[0];
  for (const std::string_view gap : {"\n", "\n\n"}) {
    const std::vector<Token> ids = mark_tokens(tokenizer, gap);
    if (ids.size() == 1) region.gap.push_back(ids[0]);
  }
  return region;
}

}  // namespace

AnswerFormat answer_format(const ChatTemplate& chat_template, const Tokenizer* tokenizer) {
  const FoundDialect& found = chat_template.dialect();
  const TemplateCapabilities& can = chat_template.capabilities();
  AnswerFormat format{.dialect = found.dialect,
                      .has_calls = found.source != DialectSource::none,
                      .thinking_switch = can.thinking_switch,
                      .reasoning_effort = can.reasoning_effort};
  if (tokenizer == nullptr || !format.has_parts()) return format;
  format.region = region_of(format.dialect, *tokenizer);
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
