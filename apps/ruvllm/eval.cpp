// ruvllm eval: scores a model on the samples of a task, by the rules of lm-evaluation-harness.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "eval/published_task.h"
#include "model/model.h"
#include "open_engine.h"
#include "open_model.h"
#include "output_file.h"
#include "terminal.h"

namespace ruv {
namespace {

struct EvalCall {
  std::string model;
  LoadCall load;
  EngineCall engine;
  KvType kv_type = KvType::f16;  // rounds least
  std::string task;
  std::string out;
  bool force = false;
  bool json = false;
  bool markdown = false;
  bool exact = false;
  bool runs_code = false;
  int64_t limit = 0;
  std::string form = "samples";
  std::string shots_file, subject, answers_file;
  int64_t n_shots = 0;
};

struct Evaluated {
  EvalTask task;
  std::vector<SampleScore> scores;
  std::vector<EvalMetric> metrics;
  std::string model_name;
};

Json likelihood_json(const Likelihood& one) {
  return {{"log_likelihood", one.log_likelihood},
          {"is_greedy", one.is_greedy},
          {"token_logprobs", Json(one.token_logprobs)}};
}

Json sample_json(const EvalTask& task, const SampleScore& score) {
  const SampleKind kind = task.kind;
  Json sample = Json::object();
  if (kind != SampleKind::answer && kind != SampleKind::calls) {
    Json parts = Json::array();
    for (const Likelihood& one : score.likelihoods) parts.push_back(likelihood_json(one));
    const bool is_text = kind == SampleKind::text;
    sample[is_text ? "windows" : "likelihoods"] = std::move(parts);
  }
  switch (kind) {
    case SampleKind::choices:
      sample["chosen"] = score.chosen;
      sample["chosen_by_length"] = score.chosen_by_length;
      sample["acc"] = score.is_right;
      sample["acc_norm"] = score.is_right_by_length;
      break;
    case SampleKind::continuation:
      sample["acc"] = score.is_right;
      break;
    case SampleKind::text:
      sample["log_likelihood"] = score.log_likelihood;
      break;
    case SampleKind::calls:
      sample["answer"] = score.answer;
      sample["acc"] = score.is_right;
      break;
    case SampleKind::answer:
      sample["answer"] = score.answer;
      sample[task.rules.front() == AnswerRule::passes ? "passed" : "exact_match"] = score.is_right;
      sample["by_rule"] = Json(score.is_expected);
      break;
  }
  return sample;
}

Json report_json(const EvalCall& call, const Evaluated& done, bool with_samples) {
  Json metrics = Json::object();
  for (const EvalMetric& metric : done.metrics) {
    Json one = Json::object();
    one["value"] = metric.value;
    if (metric.error >= 0) one["stderr"] = metric.error;
    metrics[metric.name] = std::move(one);
  }
  Json report = Json::object();
  report["task"] = call.task;
  report["model"] = done.model_name;
  report["n_samples"] = done.scores.size();
  report["metrics"] = std::move(metrics);
  if (!with_samples) return report;
  Json samples = Json::array();
  for (const SampleScore& score : done.scores) {
    samples.push_back(sample_json(done.task, score));
  }
  report["samples"] = std::move(samples);
  return report;
}

void print_table(const Evaluated& done, bool markdown) {
  const char* const row = markdown ? "| {} | {} | {} | {} |\n" : "{:<18} {:>12} {:>12} {:>8}\n";
  fmt::print(fmt::runtime(row), "metric", "value", "± stderr", "samples");
  if (markdown) fmt::print("|---|---|---|---|\n");
  for (const EvalMetric& metric : done.metrics) {
    const std::string error = metric.error >= 0 ? fmt::format("{:.4f}", metric.error) : "-";
    fmt::print(fmt::runtime(row), metric.name, fmt::format("{:.4f}", metric.value), error,
               done.scores.size());
  }
}

// A text file is one text; other files hold a sample in each line, or are of a published form.
Result<EvalTask> read_task(const EvalCall& call) {
  std::string content = TRY(read_text_file(call.task));
  if (const std::optional<PublishedForm> form = find_published_form(call.form)) {
    std::string shots;
    std::string answers;
    if (!call.shots_file.empty()) shots = TRY(read_text_file(call.shots_file));
    if (!call.answers_file.empty()) answers = TRY(read_text_file(call.answers_file));
    return read_published(*form, {content, call.task},
                          {.limit = call.limit,
                           .n_shots = call.n_shots,
                           .shots = {shots, call.shots_file},
                           .answers = {answers, call.answers_file},
                           .subject = call.subject});
  }
  if (!call.task.ends_with(".txt")) return read_task_lines(content, call.task, call.limit);
  EvalTask task;
  task.samples.emplace_back().text = std::move(content);
  if (task.samples.front().text.empty()) return fail(Code::invalid, "{}: no text", call.task);
  return task;
}

Result<int64_t> context_of(const Model& model, int64_t n_ctx) {
  const int64_t n_trained = model_info(model).n_ctx_train;
  if (n_ctx > n_trained) {
    return fail(Code::invalid, "--ctx {} is more than the {} tokens the model was trained for",
                n_ctx, n_trained);
  }
  return n_ctx > 0 ? n_ctx : n_trained;
}

// What exact scores leave no part to.
Status check_exact(const CommandLine& line, const EvalTask& task) {
  if (task.kind == SampleKind::answer || task.kind == SampleKind::calls) {
    return fail(Code::invalid, "--exact is for likelihoods: answers are written by the engine");
  }
  if (!line.given("--kv")) return {};
  return fail(Code::invalid, "--kv means nothing with --exact: keys and values stay float32");
}

// Models of short contexts write shorter programs.
void shorten_answers(EvalTask& task, int64_t most) {
  for (EvalSample& sample : task.samples) {
    sample.max_new_tokens = std::min(sample.max_new_tokens, most);
  }
}

Result<Evaluated> evaluate(const CommandLine& line, const EvalCall& call) {
  Evaluated done;
  done.task = TRY(read_task(call));
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const auto model = TRY(open_model(chosen, call.engine.n_threads, call.load));
  done.model_name = model_info(*model).name;
  std::optional<FileWriter> file;
  if (!call.out.empty()) file.emplace(TRY(create_output(call.out, call.force, *model, call.task)));
  EvalLimits limits;
  limits.max_tokens = TRY(context_of(*model, call.engine.n_ctx));
  if (call.runs_code) shorten_answers(done.task, limits.max_tokens / 2);
  limits.n_threads = call.engine.n_threads;
  limits.kv_type = call.kv_type;
  std::optional<ProgramCheck> programs;
  if (call.runs_code) limits.programs = &programs.emplace(TRY(ProgramCheck::open()));
  std::unique_ptr<ExactModel> exact;
  if (call.exact) {
    TRY(check_exact(line, done.task));
    exact = TRY(ExactModel::create(chosen.path, call.engine.n_threads));
    limits.exact = exact.get();
  }
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
  const InterruptScope interrupt;
  ProgressBar bar("eval");
  limits.go_on = [&](double share) {
    bar.update(share);
    return !interrupt.interrupted();
  };
  done.scores = TRY(run_task(*engine, done.task, limits));
  done.metrics = metrics_of(done.task, done.scores);
  if (file) {
    const std::string text = report_json(call, done, true).dump(1) + "\n";
    TRY(file->write(std::as_bytes(std::span(text))));
    TRY(file->commit());
  }
  return done;
}

// What is wrong with the options of published forms; empty: nothing.
std::string fault_of(const CommandLine& line, const EvalCall& call) {
  const bool is_published = find_published_form(call.form).has_value();
  for (const char* const flag : {"--shots", "--shots-from", "--subject", "--answers"}) {
    if (line.given(flag) && !is_published) {
      return fmt::format("{} is for files as published: give --form", flag);
    }
  }
  const bool writes_code = find_published_form(call.form) == PublishedForm::humaneval;
  if (writes_code != call.runs_code) {
    return writes_code ? "--form humaneval runs programs that the model writes: give --run-code"
                       : "--run-code is for --form humaneval";
  }
  if ((call.n_shots > 0) != !call.shots_file.empty()) {
    return "--shots and --shots-from belong together";
  }
  return {};
}

void declare_eval(CommandLine& line, EvalCall& call) {
  line.example("ruvllm eval -m qwen.gguf --task samples.jsonl --limit 100",
               "Accuracy on questions with choices, one in each line");
  line.example("ruvllm eval --task wiki.txt --markdown", "Perplexity by word, byte and token");
  line.text("--task", call.task,
            "A .txt file, or lines of JSON, all of one kind: {\"context\", \"choices\": […], "
            "\"answer\": index}, {\"context\", \"continuation\"}, {\"text\"} or {\"context\", "
            "\"answer\": text, \"until\": […]}");
  line.text("--form", call.form,
            "How the file asks: samples, or as published: lambada (lines {\"text\"}), mmlu (rows "
            "of CSV), gsm8k (lines {\"question\", \"answer\"}), humaneval (lines {\"prompt\", "
            "\"entry_point\", \"test\"}), bfcl (lines {\"id\", \"question\", \"function\"})");
  line.choices({"samples", "lambada", "mmlu", "gsm8k", "humaneval", "bfcl"});
  line.text("--answers", call.answers_file,
            "For bfcl: the file of the expected calls; without it the right answer calls nothing");
  line.flag("--run-code", call.runs_code,
            "For humaneval: run the Python programs that the model writes, each in a sandbox "
            "without network and files (bwrap)");
  line.integer("--shots", call.n_shots, 0, 1000,
               "For mmlu and gsm8k: samples with their answers, shown before each question");
  line.text("--shots-from", call.shots_file, "The file of the same form that they are taken from");
  line.text("--subject", call.subject, "For mmlu: what its questions are said to be about");
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.integer("--limit", call.limit, 0, int64_t{1} << 40, "Only the first samples; 0: all");
  line.text("--out,-o", call.out, "A file to write: JSON with the scores of every sample");
  line.flag("--force", call.force, kForceHelp);
  line.flag("--json", call.json, "Print one JSON object in place of the table");
  line.flag("--markdown", call.markdown, "Print the table in Markdown");
  line.integer("--ctx,-c", call.engine.n_ctx, 4, int64_t{1} << 24,
               "Tokens that the model sees at once; what it was trained for when absent");
  line.flag("--exact", call.exact,
            "Likelihoods in float32 throughout, as other programs' reference: slower, and keys, "
            "values and activations are not rounded");
  line.threads(call.engine.n_threads);
  line.kv(call.kv_type);
}

}  // namespace

int eval_command(int argc, char** argv) {
  EvalCall call;
  call.engine.max_sequences = 8;
  CommandLine line("eval", "Scores a model on a task, as lm-evaluation-harness does.");
  declare_eval(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.task.empty()) return line.wrong_call("--task is missing: a file with samples");
  if (const std::string fault = fault_of(line, call); !fault.empty()) return line.wrong_call(fault);
  if (call.json && call.markdown) return line.wrong_call("give --json or --markdown, not both");
  call.engine.kv_type = call.kv_type;
  const Result<Evaluated> done = evaluate(line, call);
  if (!done) return line.failed(done.error());
  if (call.json) {
    print_json_line(report_json(call, *done, false));
  } else {
    print_table(*done, call.markdown);
  }
  return kDone;
}

}  // namespace ruv
