#include <iterator>

#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

// Formats that are known by their marks come before those that any text might be.
std::vector<ToolDialect> all_dialects() {
  std::vector<ToolDialect> all;
  for (std::vector<ToolDialect> rows :
       {channel_dialects(), tagged_dialects(), named_json_dialects(), literal_dialects(),
        object_dialects(), bare_dialects()}) {
    all.insert(all.end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
  }
  return all;
}

}  // namespace

std::vector<std::string> dialect_marks(const ToolDialect& dialect) {
  std::vector<std::string> marks = dialect.strays;
  for (const auto* parts : {&dialect.section_begin, &dialect.call, &dialect.section_end}) {
    for (const CallPart& part : *parts) marks.push_back(part.text);
  }
  marks.push_back(dialect.separator);
  marks.push_back(dialect.tagged.begin);
  for (const TagForm& form : dialect.tagged.forms) {
    marks.push_back(form.key_end);
    marks.push_back(form.value_end);
  }
  marks.push_back(dialect.nested.prefix);
  marks.push_back(dialect.literals.quote);
  marks.push_back(dialect.reasoning.begin);
  marks.push_back(dialect.reasoning.end);
  std::erase(marks, std::string());
  return marks;
}

std::optional<size_t> open_reasoning(const ReasoningMarks& marks, std::string_view prompt_tail) {
  const std::string_view begin = mark_core(marks.begin);
  if (marks.end.empty() || begin.empty()) return std::nullopt;
  const size_t at = prompt_tail.rfind(begin);
  if (at == prompt_tail.npos) return std::nullopt;
  const bool ended = prompt_tail.find(mark_core(marks.end), at + begin.size()) != prompt_tail.npos;
  return ended ? std::nullopt : std::optional(at);
}

std::span<const ToolDialect> tool_dialects() {
  static const std::vector<ToolDialect> kDialects = all_dialects();
  return kDialects;
}

}  // namespace ruv
