// Calls with the name before a JSON object.
#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

using Kind = CallPartKind;

ToolDialect named_json(const char* name, std::vector<CallPart> call) {
  ToolDialect row;
  row.name = name;
  row.shape = ToolDialect::Shape::marked;
  row.call = std::move(call);
  return row;
}

// Names between control tokens.
std::vector<ToolDialect> named_by_tokens() {
  const CallPart name = part_of(Kind::name);
  const CallPart json = part_of(Kind::json);
  std::vector<ToolDialect> rows;

  // [TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{}, for each call
  ToolDialect bracket_id =
      named_json("bracket_id_json", {mark_part("[TOOL_CALLS]"), name, mark_part("[CALL_ID]"),
                                     part_of(Kind::id), mark_part("[ARGS]"), json});
  bracket_id.has_ids = true;
  bracket_id.hints = {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"};
  rows.push_back(bracket_id);
  rows.push_back(
      named_json("bracket_json", {mark_part("[TOOL_CALLS]"), name, mark_part("[ARGS]"), json}));
  rows.back().hints = {"[TOOL_CALLS]", "[ARGS]"};

  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f ```json {}
  // ```<｜tool▁call▁end｜>…
  ToolDialect fence =
      named_json("token_fence_json", {mark_part("<｜tool▁call▁begin｜>"), mark_part("function"),
                                      mark_part("<｜tool▁sep｜>"), name, mark_part("\n```json\n"),
                                      json, mark_part("\n```"), mark_part("<｜tool▁call▁end｜>")});
  fence.section_begin = {mark_part("<｜tool▁calls▁begin｜>")};
  fence.section_end = {mark_part("<｜tool▁calls▁end｜>")};
  fence.separator = "\n";
  fence.hints = {"<｜tool▁call▁begin｜>", "```json"};
  rows.push_back(fence);
  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>…
  ToolDialect plain_sep =
      named_json("token_separator_json",
                 {mark_part("<｜tool▁call▁begin｜>"), name, mark_part("<｜tool▁sep｜>"), json,
                  mark_part("<｜tool▁call▁end｜>")});
  plain_sep.section_begin = fence.section_begin;
  plain_sep.section_end = fence.section_end;
  plain_sep.hints = {"<｜tool▁call▁begin｜>"};
  rows.push_back(plain_sep);

  // <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}…
  ToolDialect section_id = named_json("section_id_json", {mark_part("<|tool_call_begin|>"),
                                                          {Kind::named_id, "functions.", false},
                                                          mark_part("<|tool_call_argument_begin|>"),
                                                          json,
                                                          mark_part("<|tool_call_end|>")});
  section_id.section_begin = {mark_part("<|tool_calls_section_begin|>")};
  section_id.section_end = {mark_part("<|tool_calls_section_end|>")};
  section_id.hints = {"<|tool_calls_section_begin|>"};
  rows.push_back(section_id);

  // <|tool_calls|><|tool_call:begin|>id<|tool_call:name|>f<|tool_call:args|>{}<|tool_call:end|>…
  ToolDialect fields = named_json(
      "id_name_args_json",
      {mark_part("<|tool_call:begin|>"), part_of(Kind::id), mark_part("<|tool_call:name|>"), name,
       mark_part("<|tool_call:args|>"), json, mark_part("<|tool_call:end|>")});
  fields.section_begin = {mark_part("<|tool_calls|>")};
  fields.section_end = {optional_part("<|calls|>")};
  fields.strays = {"<|begin|>assistant", "<|content|>", "<|end|>"};
  fields.hints = {"<|tool_call:begin|>"};
  rows.push_back(fields);

  return rows;
}

// Names between texts.
std::vector<ToolDialect> named_by_texts() {
  const CallPart name = part_of(Kind::name);
  const CallPart json = part_of(Kind::json);
  std::vector<ToolDialect> rows;
  // <function=f>{}</function>
  rows.push_back(named_json("function_tag_json", {mark_part("<function="), name, mark_part(">"),
                                                  json, mark_part("</function>")}));
  rows.back().hints = {"<function=", "</function>"};

  // >>>f {} for calls, >>>all for text; the prompt writes the first >>>
  ToolDialect recipient =
      named_json("recipient_json", {mark_part(">>>"), name, mark_part("\n"), json});
  recipient.strays = {">>>all\n"};
  recipient.prefilled = ">>>";
  recipient.hints = {">>>all"};
  rows.push_back(recipient);

  // <use_mcp_tool><server_name>s</server_name><tool_name>f</tool_name><arguments>{}</arguments>…
  ToolDialect mcp =
      named_json("mcp_tool_json",
                 {mark_part("<use_mcp_tool>\n"), mark_part("<server_name>"), part_of(Kind::skipped),
                  mark_part("</server_name>\n"), mark_part("<tool_name>"), name,
                  mark_part("</tool_name>\n"), mark_part("<arguments>\n"), json,
                  mark_part("\n</arguments>\n"), mark_part("</use_mcp_tool>")});
  mcp.separator = "\n";
  mcp.hints = {"<use_mcp_tool>"};
  rows.push_back(mcp);
  return rows;
}

}  // namespace

std::vector<ToolDialect> named_json_dialects() {
  std::vector<ToolDialect> rows = named_by_tokens();
  for (const ToolDialect& row : named_by_texts()) rows.push_back(row);
  return rows;
}

}  // namespace ruv
