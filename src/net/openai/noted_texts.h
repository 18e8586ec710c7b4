// The contents of a request for a log that shows them (RequestContents): its prompts and what the
// model wrote, up to a limit.
#pragma once

#include <span>
#include <string_view>

#include "net/http/request_record.h"
#include "net/model_text.h"

namespace ruv {

// Bytes that are kept of all prompts of a request together, and of all its answers. A running
// request may hold as many of each; in a line of JSON a byte may take six.
inline constexpr size_t kMaxNotedBytes = 64 << 10;

// Adds the text of a prompt, control tokens included, as far as there is room: of a longer one its
// end, which has what was asked last.
void note_prompt(const ModelText& text, std::span<const Token> ids, RequestContents& contents);
// Adds to an answer, as far as there is room. Requires: whole characters, an answer of the list.
void note_answer(size_t index, std::string_view text, RequestContents& contents);

}  // namespace ruv
