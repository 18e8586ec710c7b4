// RenderedChat: a conversation as the model's own template writes it.
#pragma once

#include <string_view>
#include <vector>

#include "chat/chat_template.h"

namespace ruv {

struct RenderedChat {
  std::vector<RenderedPart> parts;
  // Bytes at the end that are the final message's, which the answer goes on with; 0: the template
  // ends the prompt.
  size_t n_open_bytes = 0;
};

// `json`: {"messages": […], "tools", "add_generation_prompt" (true), "continue_final_message"
// (false), "chat_template_kwargs"}, all but the first may be missing. Fails: invalid (shape, the
// template refuses or drops the message to go on with).
Result<RenderedChat> render_conversation(const ChatTemplate& chat_template,
                                         const RenderOptions& options, std::string_view json);

}  // namespace ruv
