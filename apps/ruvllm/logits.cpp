// ruvllm logits: what the model itself says after given ids, before any sampling; or, with
// --hidden, its hidden states. Numbers are printed in the shortest form that reads back as the same
// float32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "base/utf8.h"
#include "command_line.h"
#include "commands.h"
#include "lora_flag.h"
#include "open_model.h"
#include "ruv/classify.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

void print_row(std::span<const float> logits) {
  fmt::memory_buffer out;
  out.push_back('[');
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i > 0) out.push_back(',');
    // JSON has no word for infinity or not-a-number.
    if (std::isfinite(logits[i]))
      fmt::format_to(fmt::appender(out), "{}", logits[i]);
    else
      out.append(std::string_view("null"));
  }
  out.push_back(']');
  fmt::print("{}", std::string_view(out.data(), out.size()));
}

Status print_json(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                  bool hidden) {
  // The first row proves that the job works; nothing is printed before it.
  bool begun = false;
  const auto print = [&](int64_t, std::span<const float> row) {
    if (begun) {
      fmt::print(",");
    } else {
      fmt::print("{{\"{}\":{},\"{}\":{}", hidden ? "n_embd" : "n_vocab", row.size(),
                 hidden ? "hidden" : "logits", options.all ? "[" : "");
    }
    begun = true;
    print_row(row);
  };
  const Status status = hidden ? compute_hidden(model, ids, options, print)
                               : compute_logits(model, ids, options, print);
  if (begun) fmt::print("{}}}\n", options.all ? "]" : "");
  return status;
}

Status print_scores(const Model& model, std::span<const Token> ids, LogitsOptions options) {
  const ClassifierInfo info = TRY(classifier_info(model));
  options.all = true;
  std::vector<double> sum;
  std::vector<float> state;
  const int64_t last = std::ssize(ids) - 1;
  const Status status = compute_hidden(model, ids, options, [&](int64_t i, auto row) {
    if (info.pooling == Pooling::none) state.insert(state.end(), row.begin(), row.end());
    sum.resize(row.size());
    const bool counts =
        info.pooling == Pooling::mean || i == (info.pooling == Pooling::cls ? 0 : last);
    if (!counts) return;
    for (size_t c = 0; c < row.size(); ++c) sum[c] += double{row[c]};
  });
  if (!status.ok()) return status;
  const double n = info.pooling == Pooling::mean ? static_cast<double>(ids.size()) : 1;
  if (info.pooling != Pooling::none) {
    for (const double x : sum) state.push_back(static_cast<float>(x / n));
  }
  fmt::print("{{\"n_labels\":{},\"scores\":[", info.n_labels);
  print_row(class_scores(model, state));
  fmt::print("]}}\n");
  return {};
}

void print_top(const Model& model, int64_t position, std::span<const float> logits) {
  constexpr size_t kShown = 10;
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t n = std::min(kShown, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(n), {},
                            [&](Token id) { return -logits[static_cast<size_t>(id)]; });
  fmt::print("position {}\n", position);
  for (const Token id : std::span(order).first(n)) {
    const Result<std::string> piece = detokenize(model, std::span(&id, 1), true);
    fmt::print("{:>10.4f}  {:>7}  {}\n", logits[static_cast<size_t>(id)], id,
               piece ? Json(to_valid_utf8(*piece)).dump() : "");
  }
}

}  // namespace

int logits_command(int argc, char** argv) {
  std::string model_path;
  LoadCall load;
  std::vector<std::string> ids_texts, adapters;
  bool json = false, hidden = false, scores = false;
  LogitsOptions options;
  CommandLine line("logits", "Prints the logits after given token ids.");
  line.example("ruvllm logits --ids 1,2,3 --json", "After three tokens, as JSON");
  line.text("--model,-m", model_path, kModelHelp);
  add_load_flags(line, load);
  line.texts("--ids", ids_texts,
             "Token ids separated by commas; may be given several times, answered in that order");
  line.flag("--all", options.all, "Logits of every position, not only of the last");
  line.flag("--json", json, "{\"n_vocab\": N, \"logits\": […]}, with --all a list of lists");
  line.flag("--hidden", hidden, "With --json: hidden states in place of logits, of encoders too");
  line.flag("--scores", scores, "With --json: what the model's classifier gives each text");
  line.integer("--second", options.second_text, 0, 1 << 24,
               "With --scores or --hidden: where the second text of a pair begins; 0: nowhere");
  line.integer("--source", options.n_source, 0, 1 << 24,
               "With a model that answers a source text: how many of the ids it has");
  add_lora_flag(line, adapters);
  line.threads(options.n_threads);
  line.kv(options.kv_type);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!line.given("--ids")) return line.wrong_call("give the ids: --ids 1,2,3");
  if ((hidden || scores) && !json) return line.wrong_call("--hidden and --scores need --json");
  std::vector<std::vector<Token>> prompts;
  for (const std::string& text : ids_texts) {
    Result<std::vector<Token>> ids = parse_ids(text);
    if (!ids) return line.wrong_call("--ids: " + ids.error().message());
    prompts.push_back(*std::move(ids));
  }

  const auto chosen = chosen_model(model_path);
  if (!chosen) return line.failed(chosen.error());
  const auto model = open_model(*chosen, options.n_threads, load);
  if (!model) return line.failed(model.error());
  auto opened = open_adapters(adapters, *model, options.n_threads);
  if (!opened) return line.failed(opened.error());
  options.adapters = *std::move(opened);
  for (const std::vector<Token>& ids : prompts) {
    const Status status =
        scores ? print_scores(**model, ids, options)
        : json ? print_json(**model, ids, options, hidden)
               : compute_logits(**model, ids, options, [&](int64_t position, auto logits) {
                   print_top(**model, position, logits);
                 });
    if (!status.ok()) return line.failed(status);
  }
  return kDone;
}

}  // namespace ruv
