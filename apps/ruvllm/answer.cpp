// The stream is read on the calling thread: a terminal may block, which the engine's thread must
// not.
#include "answer.h"

#include <fmt/format.h>

#include "base/result.h"
#include "terminal.h"

namespace ruv {

Result<Answer> ask(Engine& engine, Request request,
                   const std::function<void(std::string_view)>& on_text) {
  InterruptScope ctrl_c;  // a signal wakes no waiting thread, so collect() asks
  Stream stream = TRY(engine.stream(std::move(request)));
  return stream.collect(
      [&](const Event& event) {
        if (on_text && !event.text.empty()) on_text(event.text);
      },
      [&] { return ctrl_c.interrupted(); });
}

std::string speed_line(const Timings& timings) {
  const std::string kept =
      timings.n_cached_tokens > 0 ? fmt::format(" ({} kept)", timings.n_cached_tokens) : "";
  return fmt::format("prompt {} tokens{}, {:.1f} tokens/s; answer {} tokens, {:.1f} tokens/s",
                     timings.n_prompt_tokens, kept, timings.prefill_tokens_per_s,
                     timings.n_generated_tokens, timings.decode_tokens_per_s);
}

}  // namespace ruv
