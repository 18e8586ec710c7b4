#include "ruv/logits.h"

#include <algorithm>

#include "base/token_ids.h"
#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"

namespace ruv {
namespace {

// Keeps the logits of a chunk below 64 MB whatever the vocabulary.
int64_t chunk_of(const LogitsOptions& options, int64_t n_vocab) {
  const int64_t by_memory = (int64_t{64} << 20) / (n_vocab * int64_t{sizeof(float)});
  const int64_t chunk = std::max<int64_t>(1, options.chunk_tokens);
  return options.all ? std::clamp<int64_t>(by_memory, 1, chunk) : chunk;
}

}  // namespace

// Runs the decoder chunk by chunk on a cache of its own.
Status compute_logits(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                      const std::function<void(int64_t, std::span<const float>)>& on_logits) {
  const int64_t n_vocab = model.h.n_vocab;
  const auto n = static_cast<int64_t>(ids.size());
  if (n == 0) return fail(Code::invalid, "logits: no token ids given");
  TRY(check_tokens(ids, n_vocab, "logits"));
  if (model.h.ends_with_context && n > model.h.n_ctx_train) {
    return fail(Code::invalid, "logits: {} tokens, but the model has {} positions", n,
                model.h.n_ctx_train);
  }
  const int64_t chunk = std::min(n, chunk_of(options, n_vocab));
  const int64_t n_pages = pages_for(n);
  const std::unique_ptr<Executor> executor =
      TRY(Executor::create(model, {.n_threads = options.n_threads,
                                   .n_pages = n_pages,
                                   .frames = FrameLimits{.n_lists = 1, .n_rows = chunk},
                                   .max_rows = chunk,
                                   .max_outputs = options.all ? chunk : 1,
                                   .n_ctx = n,
                                   .kv_type = options.kv_type}));
  std::vector<PageFrames> frames = frames_of(executor->pages());
  PagePool pool(n_pages, frames);
  PageList pages(pool);
  pages.grow(n, executor->pages());
  BatchBuilder batch;
  for (int64_t first = 0; first < n; first += chunk) {
    const int64_t n_rows = std::min(chunk, n - first);
    batch.clear();
    pages.begin_step(batch, {first, n_rows});
    batch.add(ids.subspan(static_cast<size_t>(first), static_cast<size_t>(n_rows)));
    const int64_t n_wanted = options.all ? n_rows : first + n_rows == n ? 1 : 0;
    batch.want_logits(n_wanted);
    const HostRows logits = executor->run(batch.batch()).logits;
    pages.finish_step(first + n_rows);
    if (const MappedFile* const damaged = damaged_file(model)) TRY(damaged->check_read());
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      const int64_t position = first + n_rows - n_wanted + i;
      on_logits(position, {logits.row(i), static_cast<size_t>(n_vocab)});
    }
  }
  return {};
}

}  // namespace ruv
