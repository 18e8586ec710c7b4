// Calls with each argument between tags, as bare text.
#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

using Kind = CallPartKind;

ToolDialect tagged(const char* name, std::vector<CallPart> call, TaggedArguments tags) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.call = std::move(call);
  row.tagged = std::move(tags);
  return row;
}

std::vector<ToolDialect> function_tags() {
  const CallPart name = part_of(Kind::name);
  const CallPart arguments = part_of(Kind::tagged);
  std::vector<ToolDialect> rows;
  // <tool_call><function=f><parameter=k>v</parameter></function></tool_call>, on lines of their
  // own. The first mark is left out at times, and the last then comes alone.
  rows.push_back(
      tagged("tagged_parameters",
             {optional_part("<tool_call>\n"), mark_part("<function="), name, mark_part(">\n"),
              arguments, mark_part("</function>\n"), mark_part("</tool_call>")},
             {"<parameter=", {{">\n", "\n</parameter>\n"}}}));
  rows.back().separator = "\n";
  rows.back().hints = {"<tool_call>", "<function=", "<parameter="};
  rows.push_back(
      tagged("namespaced_tagged_parameters",
             {mark_part("<seed:tool_call>\n"), mark_part("<function="), name, mark_part(">\n"),
              arguments, mark_part("</function>\n"), mark_part("</seed:tool_call>")},
             {"<parameter=", {{">", "</parameter>\n"}}}));
  rows.back().separator = "\n";
  rows.back().hints = {"<seed:tool_call>"};
  rows.push_back(tagged(
      "function_params",
      {mark_part("<function name=\""), name, mark_part("\">"), arguments, mark_part("</function>")},
      {"<param name=\"", {{"\"><![CDATA[", "]]></param>", TagValue::text}, {"\">", "</param>"}}}));
  rows.back().separator = "\n";
  rows.back().hints = {"<function name=", "<param name="};
  return rows;
}

std::vector<ToolDialect> invoke_tags() {
  const CallPart name = part_of(Kind::name);
  const CallPart arguments = part_of(Kind::tagged);
  std::vector<ToolDialect> rows;
  // <invoke name="f"><parameter name="k">v</parameter></invoke> in a section
  ToolDialect invoke = tagged(
      "invoke_parameters",
      {mark_part("<invoke name=\""), name, mark_part("\">\n"), arguments, mark_part("</invoke>")},
      {"<parameter name=\"", {{"\">", "</parameter>\n"}}});
  invoke.section_begin = {mark_part("<minimax:tool_call>\n")};
  invoke.section_end = {mark_part("\n</minimax:tool_call>")};
  invoke.separator = "\n";
  invoke.hints = {"<minimax:tool_call>", "<parameter name="};
  rows.push_back(invoke);

  ToolDialect typed =
      tagged("typed_invoke_parameters",
             {mark_part("<｜DSML｜invoke name=\""), name, mark_part("\">\n"), arguments,
              mark_part("</｜DSML｜invoke>")},
             {"<｜DSML｜parameter name=\"",
              {{"\" string=\"true\">", "</｜DSML｜parameter>\n", TagValue::text},
               {"\" string=\"false\">", "</｜DSML｜parameter>\n", TagValue::json}}});
  typed.section_begin = {mark_part("<｜DSML｜function_calls>\n")};
  typed.section_end = {mark_part("\n</｜DSML｜function_calls>")};
  typed.separator = "\n";
  typed.hints = {"｜DSML｜", "function_calls"};
  rows.push_back(typed);
  // The next version has another word for the section.
  typed.name = "typed_invoke_parameters_tool_calls";
  typed.section_begin = {mark_part("<｜DSML｜tool_calls>\n")};
  typed.section_end = {mark_part("\n</｜DSML｜tool_calls>")};
  typed.hints = {"｜DSML｜", "tool_calls"};
  rows.push_back(typed);

  // The same inside the marks of a call.
  ToolDialect steps = tagged(
      "token_invoke_parameters",
      {mark_part("<｜tool_call_begin｜>"), mark_part("function"), mark_part("<｜tool_sep｜>"),
       mark_part("<steptml:invoke name=\""), name, mark_part("\">"), arguments,
       mark_part("</steptml:invoke>"), mark_part("<｜tool_call_end｜>")},
      {"<steptml:parameter name=\"", {{"\">", "</steptml:parameter>"}}});
  steps.section_begin = {mark_part("<｜tool_calls_begin｜>")};
  steps.section_end = {mark_part("<｜tool_calls_end｜>")};
  steps.hints = {"<steptml:invoke"};
  rows.push_back(steps);

  // <invoke name="f"><k>v</k><list><item>v</item></list></invoke>, each tag after a mark
  ToolDialect nested;
  nested.name = "nested_elements";
  nested.shape = ToolDialect::Shape::marked;
  nested.section_begin = {mark_part("]<]minimax[>[<tool_call>\n")};
  nested.section_end = {mark_part("]<]minimax[>[</tool_call>")};
  nested.call = {mark_part("]<]minimax[>[<invoke name=\""), name, mark_part("\">"),
                 part_of(Kind::nested), mark_part("]<]minimax[>[</invoke>\n")};
  nested.nested = {"]<]minimax[>[", "item"};
  nested.hints = {"]<]minimax[>["};
  rows.push_back(nested);
  return rows;
}

std::vector<ToolDialect> key_value_tags() {
  const CallPart name = part_of(Kind::name);
  const CallPart arguments = part_of(Kind::tagged);
  std::vector<ToolDialect> rows;
  rows.push_back(tagged(
      "arg_key_value",
      {mark_part("<tool_call>"), name, optional_part("\n"), arguments, mark_part("</tool_call>")},
      {"<arg_key>",
       {{"</arg_key>\n<arg_value>", "</arg_value>\n"},
        {"</arg_key><arg_value>", "</arg_value>"}}}));
  rows.back().separator = "\n";
  rows.back().hints = {"<tool_call>", "<arg_key>"};
  // The same with a suffix in each mark, and a section around.
  ToolDialect suffixed =
      tagged("suffixed_arg_key_value",
             {mark_part("<tool_call:opensource>"), name, mark_part("<tool_sep:opensource>\n"),
              arguments, mark_part("</tool_call:opensource>")},
             {"<arg_key:opensource>",
              {{"</arg_key:opensource>\n<arg_value:opensource>", "</arg_value:opensource>\n"}}});
  suffixed.section_begin = {mark_part("<tool_calls:opensource>\n")};
  suffixed.section_end = {mark_part("\n</tool_calls:opensource>")};
  suffixed.separator = "\n";
  suffixed.hints = {"<tool_call:opensource>"};
  rows.push_back(suffixed);
  return rows;
}

}  // namespace

std::vector<ToolDialect> tagged_dialects() {
  std::vector<ToolDialect> rows = function_tags();
  for (const auto& more : {invoke_tags(), key_value_tags()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace ruv
