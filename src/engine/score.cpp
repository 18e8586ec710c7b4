#include "ruv/score.h"

#include <deque>

#include "base/result.h"
#include "ruv/stream.h"

namespace ruv {

namespace {

// The pooled states of pairs, a few in the queue at a time.
Result<std::vector<Embedding>> states_of(Engine& engine, const PairTexts& texts,
                                         const ServiceTerms& terms) {
  constexpr size_t kMostOpen = 32;
  std::vector<Embedding> made;
  std::deque<Stream> open;
  for (size_t next = 0; made.size() < texts.ids.size();) {
    if (next < texts.ids.size() && open.size() < kMostOpen) {
      Request request;
      request.prompt = texts.ids[next];
      request.second_text = texts.second_texts[next];
      request.terms = terms;
      request.output = RequestOutput::hidden;
      request.pooling = texts.pooling;
      auto stream = engine.stream(std::move(request));
      if (!stream)
        return tl::unexpected<Status>(
            with_context(fmt::format("pair {}", next + 1), stream.error()));
      open.push_back(std::move(*stream));
      ++next;
      continue;
    }
    Embedding state;
    TRY(open.front().collect([&](const Event& event) { state.numbers = event.hidden; }));
    if (state.numbers.empty()) return fail(Code::cancelled, "the request ended before its score");
    made.push_back(std::move(state));
    open.pop_front();
  }
  return made;
}

}  // namespace

Result<std::vector<double>> score_pairs(Engine& engine, std::span<const TextPair> pairs,
                                        PairKind kind, int64_t max_tokens,
                                        const ServiceTerms& terms) {
  PairTexts texts = TRY(tokenize_pairs(engine.model(), pairs, kind, max_tokens));
  const std::vector<Embedding> vectors =
      texts.classified
          ? TRY(states_of(engine, texts, terms))
          : TRY(engine.embed_all(std::move(texts.ids), {.pooling = texts.pooling}, terms));
  return pair_scores(engine.model(), texts, vectors);
}

}  // namespace ruv
