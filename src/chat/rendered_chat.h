// RenderedChat: a conversation as the model's own template writes it.
#pragma once

#include <vector>

#include "chat/chat_template.h"
#include "ruv/conversation.h"

namespace ruv {

struct RenderedChat {
  std::vector<RenderedPart> parts;
  // Bytes at the end that are the final message's, which the answer continues; 0: the template
  // ends the prompt.
  size_t n_open_bytes = 0;
};

// Fails: invalid (the template refuses or drops the message to continue, or the end does not fit
// the last message), unsupported (a part that is not text), corrupt (as ChatTemplate::render).
Result<RenderedChat> render_conversation(const ChatTemplate& chat_template,
                                         const RenderOptions& options,
                                         const Conversation& conversation);

}  // namespace ruv
