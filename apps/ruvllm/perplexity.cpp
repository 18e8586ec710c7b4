// ruvllm perplexity: how surprised a model is by a text (--file) or by what the assistant says in
// given conversations (--jsonl): exp of the mean negative log-likelihood of the scored tokens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "chat/read_conversation.h"
#include "command_line.h"
#include "commands.h"
#include "json_lines.h"
#include "model/model.h"
#include "open_model.h"
#include "output_file.h"
#include "ruv/logits.h"
#include "terminal.h"

namespace ruv {
namespace {

struct PerplexityCall {
  std::string model;
  LoadCall load;
  std::string file;
  std::string jsonl;
  std::string logits;
  bool force = false;
  bool no_special = false;
  bool json = false;
  int n_threads = 0;
  int64_t n_ctx = 0;
  std::optional<KvType> kv_type;
};

// Ids predicted from an empty context; those at `first` and after with score[i] set count.
struct ScoredText {
  std::vector<Token> ids;
  std::vector<bool> score;  // one per id; the first id has nothing before it and never counts
};

struct Surprise {
  double nll = 0;  // nats, summed
  int64_t n_scored = 0;
  int64_t n_tokens = 0;
  int64_t n_ctx = 0;  // the longest text that was run at once
  KvType kv_type = KvType::int8;
};

// What scores texts and where the logits it scored by go.
struct Scorer {
  const Model& model;
  const PerplexityCall& call;
  KvType kv_type;
  std::optional<FileWriter> rows;
};

// -log softmax(logits)[id], in double.
double nll_of(std::span<const float> logits, Token id) {
  const double max = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - max);
  return max + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(id)]);
}

Status add_text(Scorer& scorer, const ScoredText& text, Surprise& total) {
  const auto last = std::ranges::find(text.score.rbegin(), text.score.rend(), true);
  const auto n_needed = static_cast<size_t>(text.score.rend() - last);
  total.n_ctx = std::max(total.n_ctx, static_cast<int64_t>(text.ids.size()));
  if (n_needed < 2) return {};
  LogitsOptions options;
  options.n_threads = scorer.call.n_threads;
  options.kv_type = scorer.kv_type;
  options.all = true;
  Status written;
  TRY(compute_logits(scorer.model, std::span(text.ids).first(n_needed - 1), options,
                     [&](int64_t position, std::span<const float> logits) {
                       const auto next = static_cast<size_t>(position) + 1;
                       if (!text.score[next]) return;
                       total.nll += nll_of(logits, text.ids[next]);
                       total.n_scored += 1;
                       if (scorer.rows && written.ok())
                         written = scorer.rows->write(std::as_bytes(logits));
                     }));
  return written;
}

// One window of a long text. The first half is context only, the second half is scored; where the
// model begins texts with bos or other tokens, so does each window (the method of llama.cpp's
// perplexity tool).
ScoredText window_text(const Model& model, std::span<const Token> window) {
  ScoredText text{{window.begin(), window.end()}, std::vector<bool>(window.size(), false)};
  if (model.tokenizer != nullptr) {
    const std::span<const Token> first = model.tokenizer->spec().first_tokens();
    std::copy_n(first.begin(), std::min(first.size(), window.size()), text.ids.begin());
  }
  for (size_t i = window.size() / 2 + 1; i < window.size(); ++i) text.score[i] = true;
  return text;
}

Result<Surprise> score_file(Scorer& scorer) {
  const Model& model = scorer.model;
  const PerplexityCall& call = scorer.call;
  const std::string content = TRY(read_text_file(call.file));
  const std::vector<Token> ids = TRY(tokenize(model, content, !call.no_special));
  const int64_t n_trained = model_info(model).n_ctx_train;
  int64_t n_ctx = call.n_ctx > 0 ? call.n_ctx : std::min<int64_t>(512, n_trained);
  if (n_ctx > n_trained)
    return fail(Code::invalid, "--ctx {} is more than the {} tokens the model was trained for",
                n_ctx, n_trained);
  n_ctx = std::min(n_ctx, static_cast<int64_t>(ids.size()));
  if (n_ctx < 4) return fail(Code::invalid, "{}: {} tokens are too few", call.file, ids.size());
  Surprise total;
  ProgressBar bar("perplexity");
  const int64_t n_windows = static_cast<int64_t>(ids.size()) / n_ctx;
  for (int64_t i = 0; i < n_windows; ++i) {
    const auto window =
        std::span(ids).subspan(static_cast<size_t>(i * n_ctx), static_cast<size_t>(n_ctx));
    TRY(add_text(scorer, window_text(model, window), total));
    bar.update(static_cast<double>(i + 1) / static_cast<double>(n_windows));
  }
  total.n_tokens = static_cast<int64_t>(ids.size());
  return total;
}

Result<ScoredText> ids_text(const Model& model, const Json& line) {
  ScoredText text;
  text.ids = TRY(ids_member(line, "ids", model_info(model).n_vocab));
  if (!line.contains("score")) {
    text.score.assign(text.ids.size(), true);
  } else {
    const std::vector<Token> marks = TRY(ids_member(line, "score", 2));
    if (marks.size() != text.ids.size())
      return fail(Code::invalid, "\"score\" has {} entries for {} ids", marks.size(),
                  text.ids.size());
    text.score.assign(marks.begin(), marks.end());
  }
  if (!text.score.empty()) text.score[0] = false;
  return text;
}

Result<std::vector<Token>> prompt_ids(const Model& model, const PerplexityCall& call,
                                      const Json& line) {
  if (!line.contains("messages"))
    return tokenize(model, TRY(text_member(line, "prompt")), !call.no_special);
  auto conversation = read_conversation(line);
  if (!conversation) return tl::unexpected<Status>(status_of(conversation.error()));
  return tokenize_chat(model, *conversation);
}

Result<ScoredText> answer_text(const Model& model, const PerplexityCall& call, const Json& line) {
  if (!model.tokenizer) return fail(Code::unsupported, "the model has no tokenizer: give ids");
  ScoredText text{TRY(prompt_ids(model, call, line)), {}};
  text.score.assign(text.ids.size(), false);
  const std::string answer = TRY(text_member(line, "answer"));
  model.tokenizer->encode(answer, call.no_special ? SpecialParsing::off : SpecialParsing::on, true,
                          text.ids);
  text.score.resize(text.ids.size(), true);
  if (!text.score.empty()) text.score[0] = false;
  return text;
}

Result<std::vector<ScoredText>> read_lines(const Model& model, const PerplexityCall& call) {
  const std::string content = TRY(read_text_file(call.jsonl));
  std::istringstream in(content);
  std::vector<ScoredText> texts;
  std::string line_text;
  for (int64_t number = 1; std::getline(in, line_text); ++number) {
    if (line_text.find_first_not_of(" \t\r") == line_text.npos) continue;
    const Json line = TRY(parse_json_line(line_text, number));
    Result<ScoredText> text =
        line.contains("ids") ? ids_text(model, line) : answer_text(model, call, line);
    if (!text)
      return failure(with_context(fmt::format("{}: line {}", call.jsonl, number), text.error()));
    texts.push_back(std::move(*text));
  }
  return texts;
}

Result<Surprise> score_lines(Scorer& scorer) {
  const std::vector<ScoredText> texts = TRY(read_lines(scorer.model, scorer.call));
  Surprise total;
  ProgressBar bar("perplexity");
  for (size_t i = 0; i < texts.size(); ++i) {
    TRY(add_text(scorer, texts[i], total));
    total.n_tokens += static_cast<int64_t>(texts[i].ids.size());
    bar.update(static_cast<double>(i + 1) / static_cast<double>(texts.size()));
  }
  return total;
}

Result<Surprise> score(const PerplexityCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::shared_ptr<const Model> model = TRY(open_model(chosen, call.n_threads, call.load));
  Scorer scorer{*model, call, call.kv_type.value_or(model->h.default_kv()), {}};
  if (!call.logits.empty()) {
    scorer.rows.emplace(TRY(create_output(call.logits, call.force, *model,
                                          call.file.empty() ? call.jsonl : call.file)));
  }
  Surprise total = TRY(call.file.empty() ? score_lines(scorer) : score_file(scorer));
  total.kv_type = scorer.kv_type;
  if (scorer.rows) TRY(scorer.rows->commit());
  if (total.n_scored == 0) return fail(Code::invalid, "there is no token to score");
  return total;
}

void print_surprise(const Surprise& total, bool json) {
  const double nll = total.nll / static_cast<double>(total.n_scored);
  if (json) {
    print_json_line({{"perplexity", std::exp(nll)},
                     {"nll", nll},
                     {"n_scored", total.n_scored},
                     {"n_tokens", total.n_tokens},
                     {"n_ctx", total.n_ctx},
                     {"kv", std::string(kv_type_name(total.kv_type))}});
    return;
  }
  fmt::print(
      "perplexity {:.4f}: {:.4f} nats a token over {} of {} tokens, context {}, keys and "
      "values in {}\n",
      std::exp(nll), nll, total.n_scored, total.n_tokens, total.n_ctx, kv_type_name(total.kv_type));
}

}  // namespace

int perplexity_command(int argc, char** argv) {
  PerplexityCall call;
  CommandLine line("perplexity", "Measures how well a model predicts a text.");
  line.example("ruvllm perplexity -m qwen.gguf -f wiki.txt",
               "With the keys and values that `serve` uses; --kv f16 for exact ones");
  line.alternatives({"--file", "--jsonl"});
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.text("--file,-f", call.file,
            "A text: windows of --ctx tokens, the second half of each is scored");
  line.text("--jsonl", call.jsonl,
            "Lines {\"ids\": […], \"score\": [0 or 1, …]}, {\"prompt\": …, \"answer\": …} or "
            "{\"messages\": […], \"tools\": […], \"answer\": …}; the marked ids or the answers are "
            "scored, each line from an empty context");
  line.text("--logits", call.logits,
            "A file to write: the logits of every scored token, rows of float32");
  line.flag("--force", call.force, kForceHelp);
  line.flag("--no-special", call.no_special, "Control tokens written out in the text stay text");
  line.integer("--ctx,-c", call.n_ctx, 4, int64_t{1} << 24,
               "Tokens of a window; 512 or what the model was trained for when absent");
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  line.kv(call.kv_type);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("--file") == line.given("--jsonl"))
    return line.wrong_call("give either --file or --jsonl");
  const Result<Surprise> total = score(call);
  if (!total) return line.failed(total.error());
  print_surprise(*total, call.json);
  return kDone;
}

}  // namespace ruv
