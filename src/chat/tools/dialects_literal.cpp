// Calls that are written as in a programming language, and answers that are messages.
#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

using Kind = CallPartKind;

ToolDialect pythonic(const char* name, std::vector<CallPart> begin, std::vector<CallPart> end,
                     const char* separator) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.section_begin = std::move(begin);
  row.section_end = std::move(end);
  row.separator = separator;
  row.call = {part_of(Kind::name), part_of(Kind::literals)};
  return row;
}

ToolDialect braces(const char* name, const char* begin, const char* end, const char* quote) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.call = {mark_part(begin), mark_part("call:"), part_of(Kind::name), part_of(Kind::literals),
              mark_part(end)};
  row.literals = {.open = '{', .close = '}', .assign = ':', .quote = quote};
  return row;
}

}  // namespace

std::vector<ToolDialect> literal_dialects() {
  std::vector<ToolDialect> rows;
  // <|tool_call>call:f{k:<|"|>text<|"|>,n:3}<tool_call|>
  rows.push_back(braces("quoted_braces", "<|tool_call>", "<tool_call|>", "<|\"|>"));
  rows.back().strays = {"<|channel>", "<channel|>"};
  rows.back().hints = {"<|tool_call>", "<|\"|>"};
  // <start_function_call>call:f{k:<escape>text<escape>,n:3}<end_function_call>
  rows.push_back(
      braces("escaped_braces", "<start_function_call>", "<end_function_call>", "<escape>"));
  rows.back().hints = {"<start_function_call>"};
  // [f(k="text", n=3), g()] between marks
  rows.push_back(pythonic("pythonic_token_list", {mark_part("<|tool_call_start|>"), mark_part("[")},
                          {mark_part("]"), mark_part("<|tool_call_end|>")}, ", "));
  rows.back().hints = {"<|tool_call_start|>"};
  // Calls on lines of their own, between marks or in a fence
  rows.push_back(pythonic("pythonic_lines", {mark_part("<function_calls>")},
                          {mark_part("</function_calls>")}, "\n"));
  rows.back().hints = {"<function_calls>"};
  rows.push_back(
      pythonic("pythonic_fence", {mark_part("```tool_code\n")}, {mark_part("\n```")}, "\n"));
  rows.back().hints = {"```tool_code"};
  // [f(k="text", n=3), g()]
  rows.push_back(pythonic("pythonic_list", {optional_part("<|python_start|>"), mark_part("[")},
                          {mark_part("]"), optional_part("<|python_end|>")}, ", "));
  rows.back().bare = true;
  rows.back().hints = {"[func_name1(params_name1=params_value1"};
  return rows;
}

std::vector<ToolDialect> channel_dialects() {
  ToolDialect row;
  row.name = "harmony";
  row.shape = ToolDialect::Shape::channels;
  row.strays = {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
                "<|end|>",   "<|return|>",  "<|call|>"};
  row.hints = {"<|channel|>", "<|message|>"};
  return {row};
}

}  // namespace ruv
