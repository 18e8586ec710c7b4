// The two forms of a report: one JSON object with every number, for tools that compare runs, and a
// table for people. A run that was not asked for is null in the first and absent in the second.
#include "bench_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "terminal.h"

namespace ruv {
namespace {

// The median; 0 where there is nothing.
double middle_of(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

Json runs_json(const SpeedRuns& runs) {
  if (runs.skipped()) return nullptr;
  return {{"n_tokens", runs.n_tokens},
          {"n_sequences", runs.n_sequences},
          {"depth", runs.depth},
          {"tokens_per_s", runs.median()},
          {"tokens_per_s_min", runs.tokens_per_s.front()},
          {"tokens_per_s_max", runs.tokens_per_s.back()},
          {"n_repeats", runs.tokens_per_s.size()},
          {"limit_fraction", runs.limit_fraction()}};
}

Json decode_json(const SpeedRuns& runs) {
  Json json = runs_json(runs);
  if (runs.skipped()) return json;
  json["step_ms"] = runs.step_ms();
  json["step_bytes"] = runs.step_bytes;
  json["read_gb_s"] = runs.read_gb_s;
  return json;
}

Json machine_json(const MachineLimits& m) {
  return {{"read_gb_s", m.read_gb_s},
          {"read_pattern", m.read_pattern},
          {"int8_gop_s", m.int8_gop_s},
          {"f32_gop_s", m.f32_gop_s},
          {"bf16_gop_s", m.bf16_gop_s > 0 ? Json(m.bf16_gop_s) : Json(nullptr)},
          {"barrier_ns", m.barrier_ns},
          {"last_cache_bytes", m.last_cache_bytes}};
}

Json draft_json(const DraftCosts& draft) {
  if (draft.source.empty()) return nullptr;
  return {{"source", draft.source},
          {"first_ms", draft.first_ms},
          {"next_ms", draft.next_ms < 0 ? Json(nullptr) : Json(draft.next_ms)}};
}

void print_draft(const DraftCosts& draft) {
  if (draft.source.empty()) return;
  fmt::print("\na token that the {} drafts takes {:.2f} ms", draft.source, draft.first_ms);
  if (draft.next_ms >= 0) fmt::print(", each one further {:.2f} ms", draft.next_ms);
  fmt::print("\n");
}

std::string depth_text(int64_t depth) {
  return depth > 0 ? fmt::format(" at {}", depth) : std::string();
}

void print_runs(const std::string& name, const SpeedRuns& runs, const std::string& limit) {
  if (runs.skipped()) return;
  fmt::print("{:<20}{:>7} {:>12.1f} {:>12.1f} {:>12.1f}   {:5.1f} % of {}\n", name, runs.n_tokens,
             runs.median(), runs.tokens_per_s.front(), runs.tokens_per_s.back(),
             100 * runs.limit_fraction(), limit);
  // A small model is read from the caches of the processor.
  if (runs.limit_fraction() > 1)
    fmt::print("{:<20}(above 100 %: the weights are read from caches, not from memory)\n", "");
}

void print_machine(const MachineLimits& m) {
  fmt::print(
      "this machine: reads {:.1f} GB/s ({}); {:.0f} G int8 and {:.0f} G float32 "
      "operations/s",
      m.read_gb_s, m.read_pattern, m.int8_gop_s, m.f32_gop_s);
  if (m.bf16_gop_s > 0) fmt::print(", {:.0f} G bf16", m.bf16_gop_s);
  fmt::print("; a call of all threads takes {:.0f} ns\n", m.barrier_ns);
}

// What more sequences at once cost: a step that reads the weights once serves all of them.
void print_steps(const std::vector<SpeedRuns>& decode) {
  if (decode.size() < 2) return;
  fmt::print("\n{:<20}{:>12} {:>20}\n", "sequences at once", "ms a step",
             fmt::format("against {} at once", decode.front().n_sequences));
  for (const SpeedRuns& runs : decode)
    fmt::print("{:<20}{:>12.2f} {:>20.2f}\n", runs.n_sequences, runs.step_ms(),
               runs.step_ms() / decode.front().step_ms());
}

}  // namespace

double SpeedRuns::median() const { return middle_of(tokens_per_s); }
double SpeedRuns::limit_fraction() const { return middle_of(limit_fractions); }

Json bench_json(const BenchReport& report) {
  const ModelInfo& m = report.model;
  Json batches = Json::array();
  for (const SpeedRuns& runs : report.decode) batches.push_back(decode_json(runs));
  return {{"model", m.name},
          {"architecture", m.architecture},
          {"format", m.format},
          {"n_params", m.n_params},
          {"weight_bytes", m.weight_bytes},
          {"weight_bytes_per_token", m.weight_bytes_per_token},
          {"weight_file_bytes_per_token", report.weight_file_bytes_per_token},
          {"kv_bytes_per_token", report.kv_bytes_per_token},
          {"isa", m.isa},
          {"n_threads", report.n_threads},
          {"load_ms", report.load_ms},
          {"first_token_ms", report.first_token_ms},
          {"peak_memory_bytes", report.peak_memory_bytes},
          {"machine", machine_json(report.machine)},
          {"prefill_limit", report.prefill_limit},
          {"prefill", runs_json(report.prefill)},
          {"decode", report.decode.empty() ? Json(nullptr) : batches.front()},
          {"batches", batches},
          {"draft", draft_json(report.draft)}};
}

void print_bench(const BenchReport& report) {
  const ModelInfo& m = report.model;
  const TerminalStyle style = style_of(stdout);
  fmt::print("{}{}{}: {}, {}, {} parameters; {} kernels, {} threads\n", style.bold, m.name,
             style.reset, m.architecture, m.format, readable_count(m.n_params), m.isa,
             report.n_threads);
  fmt::print("load {:.0f} ms, first token after {:.0f} ms, peak memory {}, weights {}\n",
             report.load_ms, report.first_token_ms, readable_bytes(report.peak_memory_bytes),
             readable_bytes(m.weight_bytes));
  print_machine(report.machine);
  fmt::print("\n{}{:<20}{:>7} {:>12} {:>12} {:>12}{}\n", style.bold, "", "tokens", "tokens/s",
             "min", "max", style.reset);
  print_runs("prefill" + depth_text(report.prefill.depth), report.prefill,
             report.prefill_limit + " peak");
  for (const SpeedRuns& runs : report.decode) {
    const std::string times =
        runs.n_sequences > 1 ? fmt::format(" × {}", runs.n_sequences) : std::string();
    print_runs("decode" + times + depth_text(runs.depth), runs, "read bandwidth");
  }
  print_steps(report.decode);
  print_draft(report.draft);
}

}  // namespace ruv
