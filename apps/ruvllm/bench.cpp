// ruvllm bench: prefill and decode speed through the engine itself, beside what this machine can do
// at most: the bytes a thread team reads per second and the int8 operations it does per second.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/threads.h"
#include "command_line.h"
#include "commands.h"
#include "kernels/roofline.h"
#include "open_model.h"
#include "ruv/engine.h"
#include "terminal.h"

namespace ruv {
namespace {

struct BenchCall {
  std::string model;
  int64_t n_prompt = 512;
  int64_t n_generate = 128;
  int64_t n_repeats = 3;
  int n_threads = 0;
  bool json = false;
};

// One kind of work, repeated.
struct SpeedRuns {
  int64_t n_tokens = 0;
  std::vector<double> tokens_per_s;  // sorted
  // Of the machine's limit for this work, at the median; unset when the limit is not known.
  std::optional<double> limit_fraction;

  bool skipped() const { return tokens_per_s.empty(); }
  double median() const {
    const size_t n = tokens_per_s.size();
    return (tokens_per_s[(n - 1) / 2] + tokens_per_s[n / 2]) / 2;
  }
};

struct BenchReport {
  ModelInfo model;
  int n_threads = 0;
  double load_ms = 0;
  double read_gb_s = 0;
  double int8_gop_s = 0;
  int64_t peak_memory_bytes = 0;
  SpeedRuns prefill, decode;
};

double ms_since(const Clock& clock, int64_t start_ns) {
  return static_cast<double>(clock.now_ns() - start_ns) / 1e6;
}

// Different ids each time, so that no cache of prefixes helps; the same in every call of bench.
std::vector<Token> random_prompt(Rng& rng, int64_t n, int64_t n_vocab) {
  std::vector<Token> ids(static_cast<size_t>(n));
  for (Token& id : ids) id = static_cast<Token>(rng.below(static_cast<uint64_t>(n_vocab)));
  return ids;
}

Result<Timings> timed_answer(Engine& engine, std::vector<Token> prompt, int64_t n_generate) {
  GenerateParams params;
  params.max_tokens = n_generate;
  params.temperature = 0;
  params.ignore_eos = true;
  const Answer answer = TRY(generate(engine, std::move(prompt), params));
  return answer.timings;
}

// `seconds_of` runs once for warmth, then n_repeats times for the record.
template <class F>
Result<SpeedRuns> repeat(int64_t n_tokens, int64_t n_repeats, F seconds_of) {
  SpeedRuns runs{n_tokens, {}, {}};
  if (n_tokens == 0) return runs;
  TRY(seconds_of());
  for (int64_t i = 0; i < n_repeats; ++i)
    runs.tokens_per_s.push_back(static_cast<double>(n_tokens) / TRY(seconds_of()));
  std::ranges::sort(runs.tokens_per_s);
  return runs;
}

Status measure_speed(const BenchCall& call, Engine& engine, BenchReport& report) {
  Rng rng(1);
  const int64_t n_vocab = report.model.n_vocab;
  report.prefill = TRY(repeat(call.n_prompt, call.n_repeats, [&]() -> Result<double> {
    const Timings t = TRY(timed_answer(engine, random_prompt(rng, call.n_prompt, n_vocab), 1));
    return t.prefill_ms / 1000;
  }));
  // The first token belongs to the prefill: n steps of decoding make n + 1 tokens.
  report.decode = TRY(repeat(call.n_generate, call.n_repeats, [&]() -> Result<double> {
    const Timings t =
        TRY(timed_answer(engine, random_prompt(rng, 1, n_vocab), call.n_generate + 1));
    return t.decode_ms / 1000;
  }));
  return {};
}

// Weights every prompt token is multiplied with: those of the layers. The output matrix is applied
// to the last token only and embeddings are looked up.
double layer_params(const ModelInfo& m) {
  const double width = static_cast<double>(m.n_embd);
  const double heads = static_cast<double>(2 * (m.n_heads + m.n_kv_heads) * m.head_dim);
  const double per_layer = width * (heads + 3 * static_cast<double>(m.n_ff));
  const double ungated = width * (heads + 2 * static_cast<double>(m.n_ff));
  const double embedded = static_cast<double>(m.n_params - m.n_vocab * m.n_embd);
  const double n_layers = static_cast<double>(m.n_layers);
  return n_layers * (n_layers * per_layer <= embedded ? per_layer : ungated);
}

// `work` per token and `limit` per second in the same unit.
void compare_with(double limit, double work, SpeedRuns& runs) {
  if (!runs.skipped() && limit > 0) runs.limit_fraction = work * runs.median() / limit;
}

void measure_limits(BenchReport& report) {
  report.read_gb_s = measure_read_gb_s(report.n_threads);
  report.int8_gop_s = measure_int8_gop_s(report.n_threads);
  compare_with(report.int8_gop_s * 1e9, 2 * layer_params(report.model), report.prefill);
  compare_with(report.read_gb_s * 1e9, static_cast<double>(report.model.weight_bytes_per_token),
               report.decode);
}

Result<BenchReport> measure(const BenchCall& call) {
  const SteadyClock clock;
  const int64_t start_ns = clock.now_ns();
  const std::shared_ptr<const Model> model = TRY(open_model(call.model, call.n_threads));
  BenchReport report;
  report.load_ms = ms_since(clock, start_ns);
  report.model = model_info(*model);
  report.n_threads = call.n_threads > 0 ? call.n_threads : available_cores();
  EngineOptions options;
  options.n_threads = report.n_threads;
  options.n_ctx = std::max(call.n_prompt, call.n_generate + 1) + 1;
  options.max_sequences = 1;
  {
    const std::unique_ptr<Engine> engine = TRY(Engine::create(model, options));
    TRY(measure_speed(call, *engine, report));
  }
  // Before the limits are measured: their buffers are not the model's.
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  report.peak_memory_bytes = usage.ru_maxrss * int64_t{1024};
  measure_limits(report);
  return report;
}

Json runs_json(const SpeedRuns& runs) {
  if (runs.skipped()) return nullptr;
  return {{"n_tokens", runs.n_tokens},
          {"tokens_per_s", runs.median()},
          {"tokens_per_s_min", runs.tokens_per_s.front()},
          {"tokens_per_s_max", runs.tokens_per_s.back()},
          {"n_repeats", runs.tokens_per_s.size()},
          {"limit_fraction", runs.limit_fraction ? Json(*runs.limit_fraction) : Json(nullptr)}};
}

Json report_json(const BenchReport& report) {
  const ModelInfo& m = report.model;
  return {{"model", m.name},
          {"architecture", m.architecture},
          {"format", m.format},
          {"n_params", m.n_params},
          {"weight_bytes", m.weight_bytes},
          {"weight_bytes_per_token", m.weight_bytes_per_token},
          {"isa", m.isa},
          {"n_threads", report.n_threads},
          {"load_ms", report.load_ms},
          {"peak_memory_bytes", report.peak_memory_bytes},
          {"machine", {{"read_gb_s", report.read_gb_s}, {"int8_gop_s", report.int8_gop_s}}},
          {"prefill", runs_json(report.prefill)},
          {"decode", runs_json(report.decode)}};
}

void print_runs(const char* name, const SpeedRuns& runs, const char* limit) {
  if (runs.skipped()) return;
  fmt::print("{:<8}{:>7} {:>12.1f} {:>12.1f} {:>12.1f}", name, runs.n_tokens, runs.median(),
             runs.tokens_per_s.front(), runs.tokens_per_s.back());
  if (runs.limit_fraction) fmt::print("   {:5.1f} % of {}", 100 * *runs.limit_fraction, limit);
  fmt::print("\n");
}

void print_report(const BenchReport& report) {
  const ModelInfo& m = report.model;
  const TerminalStyle style = style_of(stdout);
  fmt::print("{}{}{}: {}, {}, {} parameters; {} kernels, {} threads\n", style.bold, m.name,
             style.reset, m.architecture, m.format, readable_count(m.n_params), m.isa,
             report.n_threads);
  fmt::print("load {:.0f} ms, peak memory {}, weights {}\n", report.load_ms,
             readable_bytes(report.peak_memory_bytes), readable_bytes(m.weight_bytes));
  fmt::print("this machine: reads {:.1f} GB/s, does {:.0f} G int8 operations/s\n\n",
             report.read_gb_s, report.int8_gop_s);
  fmt::print("{}{:<8}{:>7} {:>12} {:>12} {:>12}{}\n", style.bold, "", "tokens", "tokens/s", "min",
             "max", style.reset);
  print_runs("prefill", report.prefill, "integer peak");
  print_runs("decode", report.decode, "read bandwidth");
}

}  // namespace

int bench_command(int argc, char** argv) {
  BenchCall call;
  CommandLine line("bench", "Measures speed and memory beside this machine's limits.");
  line.text("--model,-m", call.model, kModelHelp);
  line.integer("--prompt-tokens,-p", call.n_prompt, 0, 1 << 20, "Prompt tokens; 0 skips prefill");
  line.integer("--generate-tokens,-n", call.n_generate, 0, 1 << 20,
               "Tokens to generate; 0 skips decode");
  line.integer("--repeats,-r", call.n_repeats, 1, 1000, "Runs of each, besides one to warm up");
  line.threads(call.n_threads);
  line.flag("--json", call.json, "Print one JSON object");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.n_prompt == 0 && call.n_generate == 0)
    return line.wrong_call("-p 0 and -n 0 leave nothing to measure");
  const Result<BenchReport> report = measure(call);
  if (!report) return line.failed(report.error());
  if (call.json)
    print_json_line(report_json(*report));
  else
    print_report(*report);
  return kDone;
}

}  // namespace ruv
