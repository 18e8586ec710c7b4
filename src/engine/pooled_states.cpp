#include "engine/pooled_states.h"

#include <fmt/format.h>

#include <deque>

#include "base/result.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// Enough that steps are full, few enough that others get their turn.
constexpr size_t kMostOpen = 32;

Request request_of(PooledTexts& texts, size_t i) {
  Request request;
  request.prompt = texts.ids[i];
  if (!texts.second_texts.empty()) request.second_text = texts.second_texts[i];
  request.terms = texts.terms;
  request.output = RequestOutput::hidden;
  request.pooling = texts.pooling;
  return request;
}

}  // namespace

Status pooled_states(Engine& engine, PooledTexts texts,
                     const std::function<void(std::vector<float>, int64_t)>& on_states) {
  const size_t n = texts.ids.size();
  std::deque<Stream> open;
  for (size_t next = 0, n_done = 0; n_done < n;) {
    if (next < n && open.size() < kMostOpen) {
      Result<Stream> stream = engine.stream(request_of(texts, next));
      if (stream) {
        open.push_back(std::move(*stream));
        texts.ids[next++] = {};
        continue;
      }
      const bool waits = stream.error().code() == Code::unavailable && !open.empty();
      if (!waits) {
        if (n == 1) return stream.error();
        return with_context(fmt::format("{} {}", texts.what, next + 1), stream.error());
      }
    }
    std::vector<float> states;
    const Answer answer =
        TRY(open.front().collect([&](const Event& event) { states = event.hidden; }));
    if (states.empty()) {
      return fail(Code::cancelled, "the request ended before its states were there");
    }
    on_states(std::move(states), answer.timings.n_prompt_tokens);
    open.pop_front();
    ++n_done;
  }
  return {};
}

}  // namespace ruv
