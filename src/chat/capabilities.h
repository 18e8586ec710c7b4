// TemplateCapabilities: what a chat template can show, found by rendering small conversations and
// looking for their words in what comes out.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace ruv {

class ChatTemplate;

struct TemplateCapabilities {
  // A conversation of one user message renders (with tools, where it refuses to without).
  bool renders = false;
  bool needs_tools = false;  // … and only with tools
  // Content given as text, and as parts [{"type": "text", "text": …}], shows its text alone.
  bool content_text = false;
  bool content_parts = false;
  // Roles whose content given as a list of several text parts shows every text.
  std::vector<std::string> list_roles;
  bool images = false;  // an image part leaves a mark
  bool system_role = false;
  bool system_needs_parts = false;   // … but only when its content is given as parts
  bool tools = false;                // their names appear
  bool tool_calls = false;           // names and arguments of past calls appear
  bool parallel_tool_calls = false;  // … of two calls in one message
  bool tool_results = false;         // messages of role tool appear
  // Arguments of calls given as a JSON object, and as JSON text, come out as JSON.
  bool arguments_object = false;
  bool arguments_text = false;
  // Calls appear only when the content beside them is null, or only when it is a text.
  bool calls_need_null_content = false;
  bool calls_need_text_content = false;
  // The member of an assistant message whose text is shown as its reasoning; empty: none.
  std::string reasoning_field;
  // The variable that switches thinking on and off in the prompt; empty: none.
  std::string thinking_switch;
  bool reasoning_effort = false;   // the variable of that name changes the prompt
  bool generation_prompt = false;  // add_generation_prompt adds text
  bool alternating_roles = false;  // two user messages in a row are refused
  bool writes_bos = false;
  bool generation_blocks = false;  // marks what the assistant said with {% generation %}
};

// Renders some forty conversations of a few words each.
TemplateCapabilities find_capabilities(const ChatTemplate& chat_template);

// One member for each field.
Json to_json(const TemplateCapabilities& capabilities);

}  // namespace ruv
