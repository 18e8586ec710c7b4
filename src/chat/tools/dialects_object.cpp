// Calls that are JSON objects: {"name": …, "arguments": …}, alone or in a list, between marks.
#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

using Kind = CallPartKind;

CallKeys usual_keys() { return {.name = {"name"}, .arguments = {"arguments", "parameters"}}; }

// [{…}, {…}] between two texts.
ToolDialect list_between(const char* name, const char* begin, const char* end) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.section_begin = {mark_part(begin), mark_part("[")};
  row.section_end = {mark_part("]")};
  if (end[0] != '\0') row.section_end.push_back(mark_part(end));
  row.separator = ", ";
  row.call = {part_of(Kind::object)};
  row.keys = usual_keys();
  return row;
}

// Each call between two texts.
ToolDialect object_between(const char* name, const char* begin, const char* end) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.call = {mark_part(begin), part_of(Kind::object)};
  if (end[0] != '\0') row.call.push_back(mark_part(end));
  row.separator = "\n";
  row.keys = usual_keys();
  return row;
}

}  // namespace

std::vector<ToolDialect> object_dialects() {
  std::vector<ToolDialect> rows;

  // [TOOL_CALLS][{"name": "f", "arguments": {}, "id": "a1B2c3D4e"}]
  ToolDialect ids = list_between("bracket_token_list", "[TOOL_CALLS]", "");
  ids.keys.id = {"id"};
  ids.has_ids = true;
  ids.hints = {"[TOOL_CALLS]"};
  rows.push_back(ids);

  // <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {}}]<|END_ACTION|>
  ToolDialect actions = list_between("action_token_list", "<|START_ACTION|>", "<|END_ACTION|>");
  actions.keys = {.name = {"tool_name"}, .arguments = {"parameters"}, .id = {"tool_call_id"}};
  actions.strays = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"};
  actions.hints = {"<|START_ACTION|>"};
  rows.push_back(actions);

  // Action: ```json [{"tool_name": "f", "parameters": {}}] ```
  ToolDialect fenced = list_between("action_fence_list", "Action: ```json\n", "```");
  fenced.keys = {.name = {"tool_name"}, .arguments = {"parameters"}};
  fenced.hints = {"Action:", "tool_name", "```json"};
  rows.push_back(fenced);

  // <|tools_prefix|>[{"f": {}}]<|tools_suffix|>
  ToolDialect keyed = list_between("keyed_token_list", "<|tools_prefix|>", "<|tools_suffix|>");
  keyed.keys = {.name_is_key = true};
  keyed.hints = {"<|tools_prefix|>"};
  rows.push_back(keyed);

  // <tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>, and the same between other marks
  rows.push_back(list_between("tool_calls_list", "<tool_calls>", "</tool_calls>"));
  rows.back().hints = {"<tool_calls>", "["};
  rows.push_back(list_between("toolcall_list", "<TOOLCALL>", "</TOOLCALL>"));
  rows.back().hints = {"<TOOLCALL>"};
  // <|tool_call|>[{"name": "f", "arguments": {}}], with or without an end mark
  ToolDialect token = list_between("tool_call_token_list", "<|tool_call|>", "");
  token.section_end.push_back(optional_part("<|/tool_call|>"));
  token.hints = {"<|tool_call|>"};
  rows.push_back(token);
  // functools[{"name": "f", "arguments": {}}]
  rows.push_back(list_between("functools_list", " functools", ""));
  rows.back().hints = {"functools"};

  // <tool_calls>, a call on each line, </tool_calls>
  ToolDialect lines;
  lines.name = "tool_calls_lines";
  lines.shape = ToolDialect::Shape::marked;
  lines.section_begin = {mark_part("<tool_calls>\n")};
  lines.section_end = {mark_part("\n</tool_calls>")};
  lines.separator = "\n";
  lines.call = {part_of(Kind::object)};
  lines.keys = usual_keys();
  rows.push_back(lines);

  // <tool_call>{"name": "f", "arguments": {}}</tool_call>, and the same between other marks
  ToolDialect hermes = object_between("hermes_json", "<tool_call>\n", "\n</tool_call>");
  hermes.hints = {"<tool_call>", "name", "arguments"};
  rows.push_back(hermes);
  rows.push_back(object_between("longcat_json", "<longcat_tool_call>\n", "\n</longcat_tool_call>"));
  rows.back().hints = {"<longcat_tool_call>"};
  // <|action_start|><|plugin|>{"name": "f", "parameters": {}}<|action_end|>
  ToolDialect plugin =
      object_between("plugin_json", "<|action_start|><|plugin|>\n", "<|action_end|>");
  plugin.call[0].text = "<|action_start|>";
  plugin.call.insert(plugin.call.begin() + 1, mark_part("<|plugin|>\n"));
  plugin.keys.arguments = {"parameters", "arguments"};
  plugin.hints = {"<|action_start|>", "<|plugin|>"};
  rows.push_back(plugin);
  // function call<|role_sep|>{"name": "f", "arguments": {}}
  rows.push_back(object_between("role_separator_json", "function call<|role_sep|>\n", ""));
  rows.back().hints = {"function call<|role_sep|>"};
  return rows;
}

std::vector<ToolDialect> bare_dialects() {
  std::vector<ToolDialect> rows;
  // {"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}
  ToolDialect object;
  object.name = "bare_json";
  object.shape = ToolDialect::Shape::marked;
  object.bare = true;
  object.call = {optional_part("<|python_tag|>"), optional_part("<|python_start|>"),
                 optional_part("<|python_end|>"), part_of(Kind::object)};
  object.separator = ";";
  object.keys = {.name = {"name"}, .arguments = {"parameters", "arguments"}};
  object.hints = {"\"parameters\": "};
  rows.push_back(object);

  // [{"name": "f", "arguments": {}}]
  ToolDialect list;
  list.name = "bare_json_list";
  list.shape = ToolDialect::Shape::marked;
  list.bare = true;
  list.section_begin = {mark_part("[")};
  list.section_end = {mark_part("]")};
  list.separator = ", ";
  list.call = {part_of(Kind::object)};
  list.keys = usual_keys();
  list.keys.id = {"id"};
  rows.push_back(list);
  return rows;
}

}  // namespace ruv
