// BenchReport: what `ruvllm bench` found out, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "ruv/model.h"

namespace ruv {

// One kind of work, repeated.
struct SpeedRuns {
  int64_t n_tokens = 0;              // of one run
  int64_t n_sequences = 1;           // that take part in each step
  int64_t depth = 0;                 // tokens of context before the first
  std::vector<double> tokens_per_s;  // sorted
  // Share of the machine's limit for this work, of each run, sorted.
  std::vector<double> limit_fractions;
  // Decode: bytes of weights, keys and values read in a step; what memory gave around the runs.
  int64_t step_bytes = 0;
  double read_gb_s = 0;

  bool skipped() const { return tokens_per_s.empty(); }
  double median() const;
  double limit_fraction() const;
  double step_ms() const { return 1000.0 * static_cast<double>(n_sequences) / median(); }
};

// What this machine reaches at best, on all threads of the run: the limits that speeds are
// compared with. Giga-operations count a multiplication and an addition as two.
struct MachineLimits {
  double read_gb_s = 0;
  std::string read_pattern;
  double int8_gop_s = 0;
  double f32_gop_s = 0;
  double bf16_gop_s = 0;  // 0: no such instruction
  double barrier_ns = 0;
  int64_t last_cache_bytes = 0;  // of the largest cache; 0: unknown
};

// What drafts of one sequence cost beside its steps.
struct DraftCosts {
  std::string source;   // "head", "model"; empty: nothing drafts
  double first_ms = 0;  // of a token after a step
  double next_ms = -1;  // of each one further; below 0: there is none
};

struct BenchReport {
  ModelInfo model;
  int n_threads = 0;
  double load_ms = 0;
  double first_token_ms = 0;  // from the start of loading to the logits of a one-token prompt
  int64_t peak_memory_bytes = 0;
  int64_t weight_file_bytes_per_token = 0;
  int64_t kv_bytes_per_token = 0;  // as this run stored them
  MachineLimits machine;
  std::string prefill_limit;  // the peak prefill is judged by: "int8", "bf16", "f32", or several
  SpeedRuns prefill;
  // Sequences at once, in the order asked for.
  std::vector<SpeedRuns> decode;
  DraftCosts draft;
};

Json bench_json(const BenchReport& report);
void print_bench(const BenchReport& report);

}  // namespace ruv
