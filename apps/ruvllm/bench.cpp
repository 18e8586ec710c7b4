// ruvllm bench: prefill and decode speed beside what this machine can do at most: the bytes a
// thread team reads per second and the multiply-adds it does per second. Reads are measured right
// before and after every decode, because the rate drifts with what else the machine does.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/json.h"
#include "base/machine.h"
#include "bench_report.h"
#include "bench_steps.h"
#include "command_line.h"
#include "commands.h"
#include "device/cpu/cpu_packing.h"
#include "kernels/roofline.h"
#include "model/model.h"
#include "open_model.h"

namespace ruv {
namespace {

struct BenchCall {
  std::string model;
  LoadCall load;
  BenchShape shape{.n_prompt = 512, .n_generate = 128};
  std::vector<Token> batches{1};
  int64_t n_repeats = 3;
  bool json = false;
  bool reads = false;
};

double ms_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-6;
}

int64_t file_bytes_of(const Weight& w) { return w.n_out * format_of(w.dtype).bytes_of(w.n_in); }

// Calls f(weight) for the matrices of all layers that a token is multiplied by. Which experts these
// are does not matter.
template <class F>
void for_each_used(const Model& model, F&& f) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    for (const RoleRow& row : role_rows()) {
      const auto n = static_cast<size_t>(model.plans[i].n_matrices_used(row.role));
      for (const Weight& weight : model.layers[i][row.role].matrices().first(n)) f(weight);
    }
  }
}

int64_t weight_file_bytes_per_token(const Model& model) {
  int64_t bytes = file_bytes_of(model.output);
  for_each_used(model, [&](const Weight& weight) { bytes += file_bytes_of(weight); });
  return bytes;
}

// Seconds one prompt token takes at least: every matrix of the layers at the peak of the numbers
// it is multiplied in. Attention is not counted; the output matrix meets the last token only.
double least_prefill_seconds(const Model& model, BenchReport& report) {
  const MachineLimits& m = report.machine;
  double int8 = 0, bf16 = 0, f32 = 0;  // operations
  for_each_used(model, [&](const Weight& w) {
    const ActFormat act = w.is_packed() ? kernel_of(w)->act : ActFormat::f32;
    double& operations = act == ActFormat::q8 ? int8 : act == ActFormat::bf16 ? bf16 : f32;
    operations += 2.0 * static_cast<double>(w.n_out * w.n_in);
  });
  double seconds = 0;
  report.prefill_limit.clear();
  const auto add = [&](const char* name, double operations, double gop_s) {
    if (operations == 0) return;
    report.prefill_limit += (report.prefill_limit.empty() ? "" : " and ") + std::string(name);
    seconds += 1e-9 * operations / gop_s;
  };
  add("int8", int8, m.int8_gop_s);
  add("bf16", bf16, m.bf16_gop_s);
  add("f32", f32, m.f32_gop_s);
  return seconds;
}

// A peak is what the machine can do undisturbed: the best of all calls.
void measure_peaks(int n_threads, MachineLimits& m) {
  m.int8_gop_s = std::max(m.int8_gop_s, measure_int8_gop_s(n_threads));
  m.f32_gop_s = std::max(m.f32_gop_s, measure_f32_gop_s(n_threads));
  m.bf16_gop_s = std::max(m.bf16_gop_s, measure_bf16_gop_s(n_threads));
}

void measure_machine(int n_threads, MachineLimits& m) {
  measure_peaks(n_threads, m);
  m.barrier_ns = measure_barrier_ns(n_threads);
  m.last_cache_bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
}

void measure_prefill(const BenchCall& call, const Model& model, BenchSteps& steps,
                     BenchReport& report) {
  SpeedRuns& runs = report.prefill;
  runs.n_tokens = call.shape.n_prompt;
  runs.depth = call.shape.depth;
  for (int64_t i = 0; i < call.n_repeats; ++i)
    runs.tokens_per_s.push_back(static_cast<double>(runs.n_tokens) / steps.prefill_seconds());
  measure_peaks(report.n_threads, report.machine);
  std::ranges::sort(runs.tokens_per_s);
  const double least_token_s = least_prefill_seconds(model, report);
  for (const double x : runs.tokens_per_s) runs.limit_fractions.push_back(least_token_s * x);
}

SpeedRuns measure_decode(const BenchCall& call, int64_t n_sequences, BenchSteps& steps,
                         MemoryReader& reader, const ModelInfo& model) {
  const int64_t n_steps = call.shape.n_generate;
  SpeedRuns runs;
  runs.n_tokens = n_steps * n_sequences;
  runs.n_sequences = n_sequences;
  runs.depth = call.shape.depth;
  runs.step_bytes = model.weight_bytes_per_token +
                    n_sequences * steps.kv_bytes_per_token() * (call.shape.depth + n_steps / 2) +
                    n_sequences * steps.state_bytes();
  double before = reader.best_gb_s(1);
  for (int64_t i = 0; i < call.n_repeats; ++i) {
    const double seconds = steps.decode_seconds(n_sequences);
    const double after = reader.best_gb_s(1);
    const double read = (before + after) / 2;
    runs.tokens_per_s.push_back(static_cast<double>(runs.n_tokens) / seconds);
    const double moved_gb = 1e-9 * static_cast<double>(runs.step_bytes * n_steps);
    runs.limit_fractions.push_back(moved_gb / seconds / read);
    runs.read_gb_s += read / static_cast<double>(call.n_repeats);
    before = after;
  }
  std::ranges::sort(runs.tokens_per_s);
  std::ranges::sort(runs.limit_fractions);
  return runs;
}

// Enough of everything for warmth: threads, page tables of weights and cache.
void warm_up(const BenchCall& call, BenchSteps& steps) {
  steps.fill_context(call.shape.n_generate > 0 ? call.shape.max_sequences : 1);
  if (call.shape.n_prompt > 0) steps.prefill_seconds(128);
  if (call.shape.n_generate > 0) steps.decode_seconds(call.shape.max_sequences, 8);
}

int64_t peak_memory_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * int64_t{1024};
}

Result<double> first_token_ms(const Model& model, int n_threads, int64_t start_ns) {
  const auto steps = TRY(BenchSteps::create(model, {.n_threads = n_threads, .n_prompt = 1}));
  steps->prefill_seconds();
  return ms_since(start_ns);
}

// A head, of the model's file or another one, drafts after steps of the model; a model of its own
// has steps of its own.
Result<DraftCosts> measure_drafts(const BenchCall& call, BenchSteps& steps) {
  BenchShape shape = call.shape;
  if (shape.n_generate < 2) return DraftCosts();
  const auto draft_model = TRY(open_draft_model(shape.n_threads, call.load));
  if (draft_model == nullptr) {
    if (!steps.head_drafts()) return DraftCosts();
    const HeadTimes times = steps.head_times();
    return DraftCosts{.source = "head", .first_ms = times.first_ms, .next_ms = times.next_ms};
  }
  shape.n_prompt = 0;
  shape.max_sequences = 1;
  const auto drafting = TRY(BenchSteps::create(*draft_model, shape));
  drafting->fill_context(1);
  drafting->decode_seconds(1, 8);
  const double ms = 1000 * drafting->decode_seconds(1) / static_cast<double>(shape.n_generate);
  return DraftCosts{.source = "model", .first_ms = ms, .next_ms = ms};
}

Result<BenchReport> measure(const BenchCall& call) {
  const int64_t start_ns = SteadyClock().now_ns();
  const std::shared_ptr<const Model> model =
      TRY(open_model(TRY(chosen_model(call.model)), call.shape.n_threads, call.load));
  BenchReport report;
  report.load_ms = ms_since(start_ns);
  report.first_token_ms = TRY(first_token_ms(*model, call.shape.n_threads, start_ns));
  report.model = model_info(*model);
  report.weight_file_bytes_per_token = weight_file_bytes_per_token(*model);
  report.n_threads = call.shape.n_threads > 0 ? call.shape.n_threads : available_cores();
  const auto steps = TRY(BenchSteps::create(*model, call.shape));
  report.kv_bytes_per_token = steps->kv_bytes_per_token();
  warm_up(call, *steps);
  // Before the limits are measured: their buffers are not the model's.
  report.peak_memory_bytes = peak_memory_bytes();
  measure_machine(report.n_threads, report.machine);
  if (call.shape.n_prompt > 0) measure_prefill(call, *model, *steps, report);
  MemoryReader reader = TRY(MemoryReader::create(report.n_threads));
  report.machine.read_gb_s = reader.best_gb_s(3);
  report.machine.read_pattern = reader.pattern();
  if (call.shape.n_generate > 0) {
    for (const Token n : call.batches)
      report.decode.push_back(measure_decode(call, n, *steps, reader, report.model));
  }
  report.draft = TRY(measure_drafts(call, *steps));
  return report;
}

// Only how fast memory is read now: what other programs' speeds are judged by.
Status print_reads(int n_threads) {
  MemoryReader reader = TRY(MemoryReader::create(n_threads));
  const double gb_s = reader.best_gb_s(2);
  print_json_line({{"read_gb_s", gb_s}, {"read_pattern", reader.pattern()}});
  return {};
}

// Why the call cannot be run, if so.
std::string objection_to(const BenchCall& call) {
  if (call.shape.n_prompt == 0 && call.shape.n_generate == 0)
    return "-p 0 and -n 0 leave nothing to measure";
  if (!call.load.draft_model.empty() && call.shape.n_generate < 2)
    return "--draft-model: drafts are timed beside decoding, of -n 2 steps or more";
  for (const Token n : call.batches) {
    if (n < 1 || n > BenchSteps::kChunkTokens)
      return "--batch: numbers of sequences from 1 to 512, separated by commas";
  }
  return {};
}

}  // namespace

int bench_command(int argc, char** argv) {
  BenchCall call;
  std::string batches = "1";
  CommandLine line("bench", "Measures speed and memory beside this machine's limits.");
  line.example("ruvllm bench -m qwen.gguf -b 1,8", "One answer, then eight at the same time");
  line.text("--model,-m", call.model, kModelHelp);
  add_draft_flag(line, call.load);
  add_load_flags(line, call.load);
  line.integer("--prompt-tokens,-p", call.shape.n_prompt, 0, 1 << 20,
               "Prompt tokens; 0 skips prefill");
  line.integer("--generate-tokens,-n", call.shape.n_generate, 0, 1 << 20,
               "Steps of decoding; 0 skips decode");
  line.integer("--depth,-d", call.shape.depth, 0, 1 << 20,
               "Tokens of context before prefill and decode begin");
  line.text("--batch,-b", batches,
            "Sequences that decode at once, several numbers separated by commas: 1,2,4,8");
  line.integer("--repeats,-r", call.n_repeats, 1, 1000, "Runs of each, besides one to warm up");
  line.threads(call.shape.n_threads);
  line.kv(call.shape.kv_type);
  line.flag("--reads", call.reads,
            "Only measure how fast memory is read now, without a model; prints one JSON object");
  line.flag("--json", call.json, "Print one JSON object");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.reads) {
    const Status status = print_reads(call.shape.n_threads);
    return status.ok() ? kDone : line.failed(status);
  }
  const Result<std::vector<Token>> numbers = parse_ids(batches);
  // What is no list of numbers is refused as a wrong number is.
  call.batches = numbers ? *numbers : std::vector<Token>{0};
  if (const std::string objection = objection_to(call); !objection.empty())
    return line.wrong_call(objection);
  call.shape.max_sequences = std::ranges::max(call.batches);
  const Result<BenchReport> report = measure(call);
  if (!report) return line.failed(report.error());
  if (call.json)
    print_json_line(bench_json(*report));
  else
    print_bench(*report);
  return kDone;
}

}  // namespace ruv
