// Finds how a model writes calls and reasoning from its chat template: the template writes past
// answers as the model wrote them.
#pragma once

#include <span>
#include <string>

#include "chat/tools/tool_dialect.h"

namespace ruv {

class ChatTemplate;

// How the dialect was found.
enum class DialectSource : uint8_t {
  none,      // no calls are known
  rendered,  // the template's rendering of calls is parsed back to the same calls
  derived,   // no table has it; it was made from what the template renders, and parses that back
  declared,  // the model's response template says it, and the chat template shows no other
  hinted,    // the template shows no calls, but its text names the marks
};

// A dialect without calls where none is known; its reasoning may be known all the same.
struct FoundDialect {
  ToolDialect dialect;
  DialectSource source = DialectSource::none;
};

// Renders a few conversations with made-up tools; tries every dialect of `known` on what comes out,
// then what the model's files declare, and makes one from what came out where none fits.
FoundDialect find_dialect(const ChatTemplate& chat_template,
                          std::span<const ToolDialect> known = tool_dialects());

// What the template wrote at the end of a prompt, before the text that the answer continues.
struct RenderedPart;
std::string prompt_tail(std::span<const RenderedPart> parts);

}  // namespace ruv
