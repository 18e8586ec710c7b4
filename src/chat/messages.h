// Conversations as OpenAI's API sends them, made into what chat templates expect.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/chat_template.h"

namespace ruv {

// The context of a template: messages, tools, add_generation_prompt and the members of
// `extra_variables` (may be null). Content given as parts [{"type": "text", "text": …}] becomes one
// text, and tool calls' arguments given as JSON text become objects, which most templates want.
// Fails: invalid (shape; the message is named by its index), unsupported (a part that is no text).
Result<Json> template_context(const Json& messages, const Json* tools, bool add_generation_prompt,
                              const Json* extra_variables);

// Renders such a context in the form that the template asks for by its capabilities: arguments of
// calls as objects or as JSON text, content as text or as parts, null or "" beside calls, reasoning
// in the member that it reads. When that fails, it is tried once more with arguments as text.
// Fails: as the first ChatTemplate::render.
Result<std::vector<RenderedPart>> render_chat(const ChatTemplate& chat_template,
                                              const Json& context, const RenderOptions& options);

}  // namespace ruv
