// BenchSteps: the decoder driven step by step on random tokens, without scheduler or sampling, so
// that what is timed is what other engines' benchmarks time.
#pragma once

#include <memory>
#include <vector>

#include "base/rng.h"
#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"

namespace ruv {

struct BenchShape {
  int n_threads = 0;
  int64_t depth = 0;          // tokens of context before what is timed
  int64_t n_prompt = 0;       // tokens of a timed prefill
  int64_t n_generate = 0;     // steps of a timed decode
  int64_t max_sequences = 1;  // that decode at once
  KvType kv_type = KvType::f16;
};

// What a token costs that the model's head drafts after a step: the first one, which the head reads
// the step for, and each one further; below 0: it drafts no further.
struct HeadTimes {
  double first_ms = 0;
  double next_ms = -1;
};

// Timed steps begin at the same depth again and again. Keys and values are then what they were; a
// running state is not, which changes what is computed and not how long it takes.
class BenchSteps {
 public:
  // Tokens of one step of a prefill, as the engine cuts prompts.
  static constexpr int64_t kChunkTokens = 512;
  static constexpr int64_t kAll = int64_t{1} << 40;

  // The model must outlive it. Fails: out_of_memory.
  static Result<std::unique_ptr<BenchSteps>> create(const Model& model, const BenchShape& shape);

  // Keys and values of one token in all layers.
  int64_t kv_bytes_per_token() const { return executor_->pages().layout().bytes_per_token(); }
  // Whether the model has a head, and one that drafts with this cache.
  bool head_drafts() const { return ruv::head_drafts(*model_, executor_->pages().layout()); }
  // Bytes of running states that a step reads and writes for each sequence, whatever its length.
  int64_t state_bytes() const { return 2 * executor_->pages().layout().state_bytes(); }
  // Fills the context of the first n_sequences, once; later calls fill only what is missing.
  void fill_context(int64_t n_sequences);
  // Seconds of n_prompt tokens of one sequence after the context, or of the first `most` of them.
  // Requires: the context is filled.
  double prefill_seconds(int64_t most = kAll);
  // Seconds of n_generate steps, each of one row of n_sequences sequences, or of the first `most`.
  // Requires: the contexts are filled.
  double decode_seconds(int64_t n_sequences, int64_t most = kAll);
  // Medians over n_generate - 1 steps of one sequence. Requires: the model has a head that drafts
  // with this cache; n_generate is 2 or more; the context is filled.
  HeadTimes head_times();

 private:
  BenchSteps(const Model& model, const BenchShape& shape, std::unique_ptr<Executor> executor)
      : shape_(shape),
        model_(&model),
        executor_(std::move(executor)),
        frames_(frames_of(executor_->pages())),
        pool_(executor_->pages().n_pages(), frames_) {}

  // One step of one sequence's rows [first, first + n).
  void run_chunk(int64_t sequence, int64_t first, int64_t n);
  Token random_token();
  // Milliseconds of a step of the head that reads a random token after `first` tokens.
  double head_ms(int64_t first, int64_t ahead);

  BenchShape shape_;
  const Model* model_;
  std::unique_ptr<Executor> executor_;
  std::vector<PageFrames> frames_;  // windows, tails and running states, as in an engine
  PagePool pool_;
  std::vector<PageList> sequences_;
  int64_t n_filled_ = 0;
  BatchBuilder batch_;
  Rng rng_{1};
};

}  // namespace ruv
