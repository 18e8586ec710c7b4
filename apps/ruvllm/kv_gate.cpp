// ruvllm kv-gate: what a model loses when its keys and values are stored in fewer bits than f16,
// measured on a text. Types below int8 are refused without a verdict that this wrote.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "command_line.h"
#include "commands.h"
#include "device/kv_verdict.h"
#include "model/model.h"
#include "open_model.h"
#include "output_file.h"
#include "ruv/logits.h"
#include "terminal.h"

namespace ruv {
namespace {

struct GateCall {
  std::string model;
  LoadCall load;
  std::string file;
  std::string out;
  bool force = false;
  bool json = false;
  int n_threads = 0;
  int64_t n_ctx = 1024;
  int64_t n_windows = 16;
  int64_t n_needles = 12;
};

constexpr int64_t kNeedleTokens = 16;
constexpr int64_t kAnswerTokens = 2;  // of them, to be told

using Ids = std::vector<Token>;
using Rows = std::vector<std::vector<float>>;

// Ids whose predictions from position `first` on are compared.
struct GateText {
  Ids ids;
  size_t first;
};

// A row of tokens within a text, and again at its end.
struct Needle {
  Ids ids;
  size_t answer;  // where the end begins to answer
};

struct Gate {
  const Model& model;
  const GateCall& call;
  std::vector<GateText> windows;
  std::vector<Needle> needles;
};

// Sums over all compared positions.
struct Totals {
  double nll = 0;
  double kl = 0;
  int64_t n_same = 0;
  int64_t n = 0;
};

Result<Rows> rows_of(const Gate& gate, const Ids& ids, size_t first, KvType type) {
  Rows rows;
  TRY(compute_logits(gate.model, ids,
                     {.n_threads = gate.call.n_threads, .all = true, .kv_type = type},
                     [&](int64_t position, std::span<const float> logits) {
                       if (position >= static_cast<int64_t>(first))
                         rows.emplace_back(logits.begin(), logits.end());
                     }));
  return rows;
}

double log_sum(std::span<const float> logits) {
  const double max = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - max);
  return max + std::log(sum);
}

size_t likeliest(std::span<const float> logits) {
  return static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
}

void compare(std::span<const float> f16, std::span<const float> other, Token next, Totals& totals) {
  const double of_f16 = log_sum(f16);
  const double of_other = log_sum(other);
  double kl = 0;
  for (size_t i = 0; i < f16.size(); ++i) {
    const double log_p = static_cast<double>(f16[i]) - of_f16;
    kl += std::exp(log_p) * (log_p - (static_cast<double>(other[i]) - of_other));
  }
  totals.kl += kl;
  totals.nll += of_other - static_cast<double>(other[static_cast<size_t>(next)]);
  totals.n_same += likeliest(f16) == likeliest(other) ? 1 : 0;
  totals.n += 1;
}

Result<std::vector<Totals>> compare_windows(const Gate& gate, ProgressBar& bar) {
  std::vector<Totals> all(std::size(kKvTypes));
  for (size_t w = 0; w < gate.windows.size(); ++w) {
    const auto& [ids, first] = gate.windows[w];
    const Rows f16 = TRY(rows_of(gate, ids, first, KvType::f16));
    for (size_t k = 0; k < std::size(kKvTypes); ++k) {
      const Rows rows = k == 0 ? f16 : TRY(rows_of(gate, ids, first, kKvTypes[k]));
      for (size_t i = 0; i + 1 < rows.size(); ++i) {
        compare(f16[i], rows[i], ids[first + i + 1], all[k]);
      }
    }
    bar.update(0.7 * static_cast<double>(w + 1) / static_cast<double>(gate.windows.size()));
  }
  return all;
}

Result<bool> finds(const Gate& gate, const Needle& needle, KvType type) {
  const Rows rows = TRY(rows_of(gate, needle.ids, needle.answer - 1, type));
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    if (static_cast<Token>(likeliest(rows[i])) != needle.ids[needle.answer + i]) return false;
  }
  return true;
}

// Per type, of those that f16 finds; a model that finds none says nothing.
Result<std::vector<int64_t>> count_needles(const Gate& gate, ProgressBar& bar) {
  std::vector<int64_t> found(std::size(kKvTypes), 0);
  for (size_t n = 0; n < gate.needles.size(); ++n) {
    for (size_t k = 0; k < std::size(kKvTypes); ++k) {
      const bool is_found = TRY(finds(gate, gate.needles[n], kKvTypes[k]));
      if (k == 0 && !is_found) break;
      found[k] += is_found ? 1 : 0;
    }
    bar.update(0.7 + 0.3 * static_cast<double>(n + 1) / static_cast<double>(gate.needles.size()));
  }
  return found;
}

std::vector<GateText> windows_of(const Ids& ids, const GateCall& call) {
  const auto n_ctx = static_cast<size_t>(call.n_ctx);
  std::vector<GateText> windows;
  for (size_t at = 0; at + n_ctx <= ids.size(); at += n_ctx) {
    if (windows.size() == static_cast<size_t>(call.n_windows)) break;
    const auto begin = ids.begin() + static_cast<int64_t>(at);
    windows.push_back({{begin, begin + static_cast<int64_t>(n_ctx)}, n_ctx / 2});
  }
  return windows;
}

// A needle is a row of tokens drawn from the text, in an order that no text has: only reading them
// tells how it continues, and every model that attends can. It lies in the first half of its
// window, so that it is read from old pages.
std::vector<Needle> needles_of(const Ids& ids, const GateCall& call) {
  std::vector<Needle> needles;
  Rng rng(7);
  const int64_t n_hay = call.n_ctx - kNeedleTokens - kNeedleTokens;
  for (int64_t i = 0; i < call.n_needles; ++i) {
    Ids fact;
    for (int64_t t = 0; t < kNeedleTokens; ++t) fact.push_back(ids[rng.below(ids.size())]);
    const int64_t depth = n_hay / 2 * i / call.n_needles;
    const auto hay =
        ids.begin() + static_cast<int64_t>(rng.below(ids.size() - static_cast<size_t>(n_hay) + 1));
    Needle needle;
    needle.ids.assign(hay, hay + depth);
    needle.ids.insert(needle.ids.end(), fact.begin(), fact.end());
    needle.ids.insert(needle.ids.end(), hay + depth, hay + n_hay);
    needle.ids.insert(needle.ids.end(), fact.begin(), fact.end());
    needle.answer = needle.ids.size() - kAnswerTokens;
    needles.push_back(std::move(needle));
  }
  return needles;
}

Result<Gate> prepare(const Model& model, const GateCall& call) {
  const std::string content = TRY(read_text_file(call.file));
  const Ids ids = TRY(tokenize(model, content, false));
  if (static_cast<int64_t>(ids.size()) < call.n_ctx) {
    return fail(Code::invalid, "{}: {} tokens, fewer than --ctx {}", call.file, ids.size(),
                call.n_ctx);
  }
  if (call.n_ctx > model.h.n_ctx_train) {
    return fail(Code::invalid, "--ctx {} is more than the {} tokens the model was trained for",
                call.n_ctx, model.h.n_ctx_train);
  }
  return Gate{model, call, windows_of(ids, call), needles_of(ids, call)};
}

Result<std::vector<KvVerdict>> judge(const Gate& gate) {
  ProgressBar bar("kv-gate");
  const std::vector<Totals> totals = TRY(compare_windows(gate, bar));
  const std::vector<int64_t> found = TRY(count_needles(gate, bar));
  const CacheLayout f16 = gate.model.cache_layout();
  std::vector<KvVerdict> verdicts;
  for (size_t k = 0; k < std::size(kKvTypes); ++k) {
    const CacheLayout layout = f16.with_type(kKvTypes[k]);
    const auto n = static_cast<double>(totals[k].n);
    verdicts.push_back({.type = kKvTypes[k],
                        .bytes_of_f16 = static_cast<double>(layout.page_bytes()) /
                                        static_cast<double>(f16.page_bytes()),
                        .perplexity = std::exp(totals[k].nll / n),
                        .perplexity_loss = std::expm1((totals[k].nll - totals[0].nll) / n),
                        .kl = totals[k].kl / n,
                        .greedy_agreement = static_cast<double>(totals[k].n_same) / n,
                        .needles_found = found[k],
                        .needles_of_f16 = found[0]});
  }
  return verdicts;
}

void print_table(std::span<const KvVerdict> verdicts, int64_t n_needles) {
  fmt::print("{:<5} {:>6} {:>11} {:>8} {:>9} {:>7} {:>8}  use\n", "type", "bytes", "perplexity",
             "rise", "KL", "same", "recalled");
  for (const KvVerdict& v : verdicts) {
    fmt::print("{:<5} {:>6.3f} {:>11.4f} {:>+7.3f}% {:>9.5f} {:>6.2f}% {:>8}  {}\n",
               kv_type_name(v.type), v.bytes_of_f16, v.perplexity, 100 * v.perplexity_loss, v.kl,
               100 * v.greedy_agreement, fmt::format("{}/{}", v.needles_found, n_needles),
               v.passed() ? "may be used" : "refused: " + v.why_refused());
  }
  fmt::print(
      "bytes: memory against f16; rise: of the perplexity over that with f16; KL: divergence of "
      "the "
      "predictions from those with f16, in nats; same: positions at which the likeliest token is "
      "the same; recalled: hidden rows of tokens that were repeated correctly, counted against "
      "what f16 recalls\n");
}

Result<std::string> run_gate(GateCall call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  call.model = chosen.path;
  if (call.out.empty()) {
    call.out = gate_file_of(call.model);
    call.force = true;  // nothing but an earlier verdict has this name
  }
  const std::shared_ptr<const Model> model = TRY(open_model(chosen, call.n_threads, call.load));
  // Before the measuring: it takes long.
  FileWriter file = TRY(create_output(call.out, call.force, *model, call.file));
  const Gate gate = TRY(prepare(*model, call));
  const std::vector<KvVerdict> verdicts = TRY(judge(gate));
  const std::string text = kv_verdicts_text(model_info(*model).name, verdicts);
  if (call.json) {
    print_json_line(TRY(parse_json(text, "verdict")));
  } else {
    print_table(verdicts, call.n_needles);
  }
  TRY(file.write(std::as_bytes(std::span(text))));
  TRY(file.commit());
  return call.out;
}

}  // namespace

int kv_gate_command(int argc, char** argv) {
  GateCall call;
  CommandLine line("kv-gate",
                   "Measures what a model loses with keys and values in fewer bits, and writes the "
                   "result that --kv int4 and --kv int2 ask for.");
  line.example("ruvllm kv-gate qwen.gguf -f wiki.txt",
               "Then --kv int4 is accepted where the model tolerates it");
  line.text("--model,-m,model", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.text("--file,-f", call.file,
            "A text like those the model will read; 10,000 tokens are good");
  line.text("--out,-o", call.out, "The result; MODEL.kv-gate.json when absent");
  line.flag("--force", call.force, kForceHelp);
  line.integer("--ctx,-c", call.n_ctx, 512, int64_t{1} << 20,
               "Tokens of a window, whose second half is scored");
  line.integer("--windows", call.n_windows, 1, int64_t{1} << 20, "Number of windows at most");
  line.integer("--needles", call.n_needles, 0, 1000,
               "Rows of tokens hidden in windows, to be repeated at the end");
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!line.given("--file")) return line.wrong_call("give a text with --file");
  const Result<std::string> written = run_gate(call);
  if (!written) return line.failed(written.error());
  line.note(fmt::format("result written to {}", *written));
  return kDone;
}

}  // namespace ruv
