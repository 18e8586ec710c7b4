#include "bench_steps.h"

#include <algorithm>
#include <array>

#include "base/clock.h"

namespace ruv {
namespace {

double median_of(std::vector<double> all) {
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::ranges::nth_element(all, middle);
  return *middle;
}

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

}  // namespace

Result<std::unique_ptr<BenchSteps>> BenchSteps::create(const Model& model,
                                                       const BenchShape& shape) {
  if (model.h.reads_source()) {
    return fail(Code::unsupported, "bench: the model answers a source text, which is not timed");
  }
  // The first sequence also holds the prompt.
  const int64_t longest = shape.depth + std::max({shape.n_prompt, shape.n_generate, int64_t{1}});
  const int64_t n_pages = pages_for(longest) +
                          (shape.max_sequences - 1) * pages_for(shape.depth + shape.n_generate + 1);
  const int64_t most_rows = std::max(std::min(longest, kChunkTokens), shape.max_sequences);
  // Every page keeps its frame in every group: the same positions are computed again and again.
  const FrameLimits frames = {
      .n_lists = shape.max_sequences, .n_rows = most_rows, .n_kept = n_pages};
  std::unique_ptr<Executor> executor =
      TRY(Executor::create(model, {.n_threads = shape.n_threads,
                                   .n_pages = n_pages,
                                   .frames = frames,
                                   .max_rows = most_rows,
                                   .max_outputs = shape.max_sequences,
                                   .n_ctx = longest,
                                   .kv_type = shape.kv_type}));
  std::unique_ptr<BenchSteps> steps(new BenchSteps(model, shape, std::move(executor)));
  for (int64_t i = 0; i < shape.max_sequences; ++i) {
    steps->sequences_.emplace_back(steps->pool_);
    const int64_t n_tokens = i == 0 ? longest : shape.depth + shape.n_generate;
    steps->sequences_.back().grow(n_tokens, steps->executor_->pages());
  }
  return steps;
}

Token BenchSteps::random_token() {
  return static_cast<Token>(rng_.below(static_cast<uint64_t>(model_->h.n_vocab)));
}

void BenchSteps::run_chunk(int64_t sequence, int64_t first, int64_t n) {
  PageList& pages = sequences_[static_cast<size_t>(sequence)];
  batch_.clear();
  pages.begin_step(batch_, {first, n});
  for (int64_t i = 0; i < n; ++i) batch_.add(random_token());
  batch_.want_logits();
  executor_->run(batch_.batch());
  pages.finish_step(first + n);
}

void BenchSteps::fill_context(int64_t n_sequences) {
  for (; n_filled_ < n_sequences; ++n_filled_) {
    for (int64_t at = 0; at < shape_.depth; at += kChunkTokens)
      run_chunk(n_filled_, at, std::min(kChunkTokens, shape_.depth - at));
  }
}

double BenchSteps::prefill_seconds(int64_t most) {
  const int64_t n = std::min(shape_.n_prompt, most);
  const int64_t start = SteadyClock().now_ns();
  for (int64_t at = 0; at < n; at += kChunkTokens)
    run_chunk(0, shape_.depth + at, std::min(kChunkTokens, n - at));
  return seconds_since(start);
}

double BenchSteps::decode_seconds(int64_t n_sequences, int64_t most) {
  const int64_t n = std::min(shape_.n_generate, most);
  const int64_t start = SteadyClock().now_ns();
  for (int64_t step = 0; step < n; ++step) {
    batch_.clear();
    const std::span sequences = std::span(sequences_).first(static_cast<size_t>(n_sequences));
    for (PageList& pages : sequences) {
      pages.begin_step(batch_, {shape_.depth + step, 1});
      batch_.add(random_token());
      batch_.want_logits();
    }
    executor_->run(batch_.batch());
    for (PageList& pages : sequences) pages.finish_step(shape_.depth + step + 1);
  }
  return seconds_since(start);
}

double BenchSteps::head_ms(int64_t first, int64_t ahead) {
  batch_.clear();
  batch_.begin_sequence(first, sequences_.front().pages());
  batch_.add(random_token());
  batch_.want_logits();
  const std::array<int32_t, 1> from{0};
  const int64_t start = SteadyClock().now_ns();
  executor_->run_head({batch_.batch(), from, ahead > 0, ahead});
  return 1000 * seconds_since(start);
}

HeadTimes BenchSteps::head_times() {
  const int64_t n_heads = std::ssize(model_->head->parallel);  // 0: one that reads its own state
  const bool goes_on = n_heads != 1;
  std::vector<double> first, next;
  for (int64_t step = 0; step + 1 < shape_.n_generate; ++step) {
    const int64_t at = shape_.depth + step;
    run_chunk(0, at, 1);
    first.push_back(head_ms(at, 0));
    if (goes_on) next.push_back(head_ms(n_heads > 0 ? at : at + 1, 1));
  }
  return {.first_ms = median_of(first), .next_ms = goes_on ? median_of(next) : -1};
}

}  // namespace ruv
