// Asking an engine from the main thread: text is handed on as it comes, Ctrl-C ends the answer.
#pragma once

#include <functional>
#include <string_view>

#include "ruv/stream.h"

namespace ruv {

// Submits, waits, and calls on_text on the calling thread. Ctrl-C cancels the request: the answer
// then ends with FinishReason::cancelled and holds what was said so far.
// Fails: as Engine::submit, and with the status of an answer that ended with `error`.
Result<Answer> ask(Engine& engine, Request request,
                   const std::function<void(std::string_view)>& on_text);

// "prompt 12 tokens (8 kept), 340 tokens/s; answer 56 tokens, 79 tokens/s".
std::string speed_line(const Timings& timings);

}  // namespace ruv
