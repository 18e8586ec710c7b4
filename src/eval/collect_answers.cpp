#include "eval/collect_answers.h"

#include <deque>

#include "ruv/stream.h"

namespace ruv {
namespace {

constexpr size_t kMostAtOnce = 32;  // more keep the engine no busier

}  // namespace

// An engine that is full takes the next request when one of those before has ended.
Result<std::vector<std::string>> collect_answers(
    Engine& engine, size_t n, const std::function<Result<Request>(size_t)>& request_of,
    const EvalLimits& limits) {
  std::vector<std::string> texts;
  std::deque<Stream> open;
  std::optional<Request> next;
  for (size_t n_begun = 0; texts.size() < n;) {
    if (n_begun < n && open.size() < kMostAtOnce) {
      if (!next) {
        Result<Request> made = request_of(n_begun);
        if (!made)
          return failure(with_context(fmt::format("sample {}", n_begun + 1), made.error()));
        next = *std::move(made);
      }
      Result<Stream> stream = engine.stream(*next);
      if (stream) {
        open.push_back(std::move(*stream));
        next.reset();
        ++n_begun;
        continue;
      }
      if (stream.error().code() != Code::unavailable || open.empty())
        return failure(std::move(stream));
    }
    Answer answer = TRY(open.front().collect());
    open.pop_front();
    texts.push_back(std::move(answer.text));
    const double share = static_cast<double>(texts.size()) / static_cast<double>(n);
    if (limits.go_on && !limits.go_on(share)) {
      return fail(Code::cancelled, "stopped after {} of {} answers", texts.size(), n);
    }
  }
  return texts;
}

}  // namespace ruv
