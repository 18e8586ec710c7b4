// What an MCP server says of its tools and of the outcome of a call, read into this module's types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tool.h"

namespace ruv {

// A page of the answer to tools/list.
struct McpToolPage {
  struct Listed {
    std::string name;  // by the server's own rules
    std::string description;
    Json input_schema;
    // Its annotations say that it is read-only and reaches nothing outside its own world.
    bool is_harmless = false;
  };
  std::vector<Listed> tools;
  std::optional<std::string> next_cursor;
};

// Fails: corrupt, naming the tool and the member. Members that no rule of ours needs (titles,
// output schemas, icons, other annotations) are not looked at.
Result<McpToolPage> read_tool_page(const Json& result);

// The answer to tools/call as one text: its texts, then a line for each part that is not text.
// Links give name, address and description; images, sounds and binary resources only their type
// and size, as no model here takes them. "structuredContent" is used where there is no text.
// Fails: corrupt, naming the part; unsupported, by name, for a kind of part that the protocol does
// not have.
Result<ToolReply> read_call_result(const Json& result);

}  // namespace ruv
