#include "ruv/logits.h"

#include <algorithm>

#include "base/token_ids.h"
#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/encoder_text.h"
#include "engine/executor.h"
#include "engine/held_adapters.h"

namespace ruv {
namespace {

// Keeps the logits of a chunk below 64 MB whatever the vocabulary.
int64_t chunk_of(const LogitsOptions& options, int64_t n_vocab) {
  const int64_t by_memory = (int64_t{64} << 20) / (n_vocab * int64_t{sizeof(float)});
  const int64_t chunk = std::max<int64_t>(1, options.chunk_tokens);
  return options.all ? std::clamp<int64_t>(by_memory, 1, chunk) : chunk;
}

// What is asked of the rows of a text.
enum class Wanted : uint8_t { logits, hidden };

Status check_text(const Model& model, std::span<const Token> ids, int64_t second_text,
                  std::string_view what) {
  const int64_t n = std::ssize(ids);
  if (n == 0) return fail(Code::invalid, "{}: no token ids given", what);
  TRY(check_tokens(ids, model.h.n_vocab, what));
  if (model.h.ends_with_context && n > model.h.n_ctx_train) {
    return fail(Code::invalid, "{}: {} tokens, but the model has {} positions", what, n,
                model.h.n_ctx_train);
  }
  return check_encoder_text(model, ids, second_text, what);
}

Status check_source(const Model& model, int64_t n, int64_t n_source) {
  if (!model.h.reads_source() && n_source == 0) return {};
  if (!model.h.reads_source()) {
    return fail(Code::unsupported, "logits: the model has no encoder that reads a source text");
  }
  if (n_source > 0 && n_source < n) return {};
  return fail(Code::invalid,
              "logits: the model answers a source text: of {} ids the first ones, at least one and "
              "not all, must be said to be its; {} are",
              n, n_source);
}

// Adds ids [first, first + n) to a step.
void add_part(std::span<const Token> ids, int64_t first, int64_t n, int64_t second_text,
              BatchBuilder& batch) {
  for (int64_t at = first; at < first + n; ++at) {
    batch.set_token_type(second_text > 0 && at >= second_text ? 1 : 0);
    batch.add(ids[static_cast<size_t>(at)]);
  }
}

// Runs the decoder chunk by chunk on a cache of its own.
Status compute_rows(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                    Wanted wanted, int64_t chunk,
                    const std::function<void(int64_t, std::span<const float>)>& on_row) {
  const int64_t n = std::ssize(ids);
  const int64_t n_pages = pages_for(n);
  const int64_t n_source = options.n_source;
  const int64_t max_rows = std::max(chunk, n_source);
  const bool logits = wanted == Wanted::logits;
  const int64_t max_rank = max_rank_of(options.adapters);
  TRY(check_adapters(options.adapters, model, max_rank));
  const HeldAdapters adapters(options.adapters);
  const std::unique_ptr<Executor> executor =
      TRY(Executor::create(model, {.n_threads = options.n_threads,
                                   .n_pages = n_pages,
                                   .frames = FrameLimits{.n_lists = 1, .n_rows = max_rows},
                                   .max_rows = max_rows,
                                   .max_outputs = options.all && logits ? chunk : 1,
                                   .max_rank = max_rank,
                                   .n_ctx = n,
                                   .kv_type = options.kv_type}));
  std::vector<PageFrames> frames = frames_of(executor->pages());
  PagePool pool(n_pages, frames);
  PageList pages(pool);
  pages.grow(n, executor->pages());
  BatchBuilder batch;
  for (int64_t first = 0, n_rows = 0; first < n; first += n_rows) {
    const bool in_source = first < n_source;
    n_rows = in_source ? n_source : std::min(chunk, n - first);
    batch.clear();
    pages.begin_step(batch, {first, n_rows});
    batch.set_adapters(adapters.mix());
    batch.set_source(n_source);
    batch.set_position(in_source ? 0 : first - n_source);
    add_part(ids, first, n_rows, options.second_text, batch);
    if (model.h.bidirectional || in_source) batch.see_each_other(n_rows);
    const int64_t n_wanted = in_source ? 0 : options.all ? n_rows : first + n_rows == n ? 1 : 0;
    logits ? batch.want_logits(n_wanted) : batch.want_hidden(n_wanted);
    const StepResult result = executor->run(batch.batch());
    const HostRows& rows = logits ? result.logits : result.hidden;
    pages.finish_step(first + n_rows);
    if (const MappedFile* const damaged = damaged_file(model)) TRY(damaged->check_read());
    for (int64_t i = 0; i < rows.n_rows; ++i) {
      const int64_t position = first + n_rows - n_wanted + i;
      on_row(position, {rows.row(i), static_cast<size_t>(rows.n_cols)});
    }
  }
  return {};
}

}  // namespace

Status compute_logits(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                      const std::function<void(int64_t, std::span<const float>)>& on_logits) {
  if (model.h.encodes && !model.h.bidirectional && model.h.n_layers > 0) {
    return fail(Code::unsupported, "logits: the model's file has no tensor '{}'",
                model.file->shown_tensor("output.weight"));
  }
  if (model.h.encodes) {
    return fail(Code::unsupported, "logits: the model is an encoder, which has hidden states only");
  }
  TRY(check_text(model, ids, options.second_text, "logits"));
  TRY(check_source(model, std::ssize(ids), options.n_source));
  const int64_t chunk = std::min<int64_t>(std::ssize(ids), chunk_of(options, model.h.n_vocab));
  return compute_rows(model, ids, options, Wanted::logits, chunk, on_logits);
}

Status compute_hidden(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                      const std::function<void(int64_t, std::span<const float>)>& on_hidden) {
  TRY(check_text(model, ids, options.second_text, "hidden states"));
  if (model.h.reads_source() || options.n_source != 0) {
    return fail(Code::unsupported,
                "hidden states: of models that answer a source text there are none");
  }
  const int64_t n = std::ssize(ids);
  const int64_t chunk = std::min(n, std::max<int64_t>(1, options.chunk_tokens));
  return compute_rows(model, ids, options, Wanted::hidden, model.h.bidirectional ? n : chunk,
                      on_hidden);
}

}  // namespace ruv
