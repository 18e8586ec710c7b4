// ruvllm imatrix: measures what each matrix of a model is multiplied by, for `ruvllm quantize
// --imatrix`. A run that was stopped continues where its sums were saved.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "calibrate/measure_sensitivity.h"
#include "command_line.h"
#include "commands.h"
#include "open_model.h"
#include "terminal.h"
#include "time_left.h"
#include "train_texts.h"

namespace ruv {
namespace {

struct ImatrixCall {
  std::string model;
  std::string out;
  std::string file;
  std::string jsonl;
  std::vector<std::string> ignored_keys;
  bool force = false;
  bool sensitivity = false;
  bool json = false;
  int n_threads = 0;
  int64_t n_ctx = 512;
  int64_t n_chunks = 0;
};

struct ImatrixResult {
  int64_t n_tensors = 0;
  std::vector<std::string> missing;
  int64_t n_chunks = 0;
  int64_t n_tokens = 0;
};

using Chunks = std::vector<std::vector<Token>>;

// Windows of a text. Where the model begins texts with bos or other tokens, so does each window.
void add_windows(const Model& model, std::span<const Token> ids, int64_t n_ctx, Chunks& chunks) {
  const std::span<const Token> first = model.tokenizer != nullptr
                                           ? model.tokenizer->spec().first_tokens()
                                           : std::span<const Token>();
  const auto size = static_cast<size_t>(n_ctx);
  for (size_t at = 0; at + size <= ids.size(); at += size) {
    std::vector<Token>& chunk = chunks.emplace_back(
        ids.begin() + static_cast<ptrdiff_t>(at), ids.begin() + static_cast<ptrdiff_t>(at + size));
    std::copy_n(first.begin(), std::min(first.size(), chunk.size()), chunk.begin());
  }
}

// Conversations of lines, each alone; of one that is longer than the context, its first part.
Result<Chunks> line_chunks(const Model& model, const ImatrixCall& call) {
  constexpr int64_t kLongest = int64_t{1} << 24;
  Chunks chunks;
  for (const TrainSequence& line :
       TRY(read_training_lines(model, call.jsonl, {.n_ctx = kLongest, .prompt_weight = 1}))) {
    const size_t n = std::min(line.tokens.size(), static_cast<size_t>(call.n_ctx));
    if (n > 0)
      chunks.emplace_back(line.tokens.begin(), line.tokens.begin() + static_cast<ptrdiff_t>(n));
  }
  return chunks;
}

Result<Chunks> read_chunks(const Model& model, const ImatrixCall& call) {
  const int64_t n_trained = model_info(model).n_ctx_train;
  if (call.n_ctx > n_trained) {
    return fail(Code::invalid, "--ctx {} is more than the {} tokens the model was trained for",
                call.n_ctx, n_trained);
  }
  Chunks chunks;
  if (call.file.empty()) {
    chunks = TRY(line_chunks(model, call));
  } else {
    const std::string content = TRY(read_text_file(call.file));
    add_windows(model, TRY(tokenize(model, content, true)), call.n_ctx, chunks);
  }
  if (call.n_chunks > 0 && std::ssize(chunks) > call.n_chunks) {
    chunks.resize(static_cast<size_t>(call.n_chunks));
  }
  if (chunks.empty()) {
    return fail(Code::invalid, "{}: fewer than the {} tokens of --ctx",
                call.file.empty() ? call.jsonl : call.file, call.n_ctx);
  }
  return chunks;
}

FileTarget target_of(const ImatrixCall& call, const Model& model) {
  FileTarget target{.replace = call.force};
  for (const MappedFile& file : model.file->files()) target.never.push_back(file.id());
  return target;
}

// On chunks that are spread over all of them.
Status add_sensitivity(const ImatrixCall& call, const WatchedModel& watched, const Chunks& chunks,
                       const InterruptScope& ctrl_c, Importance& importance) {
  constexpr int64_t kMostTokens = 2048;
  Chunks chosen;
  const auto n = static_cast<size_t>(std::max<int64_t>(kMostTokens / call.n_ctx, 1));
  for (size_t i = 0; i < std::min(n, chunks.size()); ++i) {
    chosen.push_back(chunks[i * chunks.size() / std::min(n, chunks.size())]);
  }
  ProgressBar bar("sensitivity", ProgressBar::Piped::lines);
  TimeLeft left;
  SensitivityOptions options;
  options.n_threads = call.n_threads;
  options.on_tensor = [&](int64_t n_done, int64_t n_tensors) {
    bar.set_note(left.after(n_done, n_tensors));
    bar.update(static_cast<double>(n_done) / static_cast<double>(n_tensors));
    return !ctrl_c.interrupted();
  };
  return measure_sensitivity(watched, chosen, options, importance);
}

Result<ImatrixResult> measure(const ImatrixCall& call) {
  // What cannot be written is found out before hours of work.
  if (!call.force && id_of(call.out)) {
    return fail(Code::invalid, "{}: is there already; --force replaces it", call.out);
  }
  const ChosenModel chosen = TRY(chosen_model(call.model));
  LoadOptions load;
  load.n_threads = call.n_threads;
  load.ignored_keys = call.ignored_keys;
  const WatchedModel watched = TRY(load_watched(chosen.path, load));
  const Chunks chunks = TRY(read_chunks(*watched.model, call));
  const InterruptScope ctrl_c;
  ProgressBar bar("measuring", ProgressBar::Piped::lines);
  TimeLeft left;
  MeasureOptions options;
  options.n_threads = call.n_threads;
  options.chunk_size = call.n_ctx;
  options.dataset = call.file.empty() ? call.jsonl : call.file;
  options.state_path = call.out + ".part";
  options.on_chunk = [&](int64_t n_done) {
    bar.set_note(left.after(n_done, std::ssize(chunks)));
    bar.update(static_cast<double>(n_done) / static_cast<double>(chunks.size()));
    return !ctrl_c.interrupted();
  };
  InputSquares::OfFile measured = TRY(measure_importance(watched, chunks, options));
  if (call.sensitivity) TRY(add_sensitivity(call, watched, chunks, ctrl_c, measured.importance));
  const ImportanceForm form =
      call.out.ends_with(".dat") ? ImportanceForm::dat : ImportanceForm::gguf;
  TRY(write_importance(measured.importance, call.out, form, target_of(call, *watched.model)));
  remove_file(options.state_path);
  ImatrixResult result{.n_tensors = std::ssize(measured.importance.entries),
                       .missing = measured.missing,
                       .n_chunks = std::ssize(chunks)};
  for (const std::vector<Token>& chunk : chunks) result.n_tokens += std::ssize(chunk);
  return result;
}

void print_result(const ImatrixCall& call, const ImatrixResult& result) {
  if (call.json) {
    print_json_line({{"out", call.out},
                     {"n_tensors", result.n_tensors},
                     {"n_chunks", result.n_chunks},
                     {"n_tokens", result.n_tokens},
                     {"missing", result.missing}});
    return;
  }
  for (const std::string& name : result.missing) {
    fmt::print(stderr, "{}: was not multiplied, or is not measured\n", name);
  }
  fmt::print("{}: {} tensors, {} chunks, {} tokens\n", call.out, result.n_tensors, result.n_chunks,
             result.n_tokens);
}

}  // namespace

int imatrix_command(int argc, char** argv) {
  ImatrixCall call;
  CommandLine line("imatrix",
                   "Measures which columns of a model's matrices matter, for quantize --imatrix.");
  line.example("ruvllm imatrix -m model-f16.gguf -f calibration.txt -o model.imatrix.gguf",
               "A stopped run continues where it was saved");
  line.alternatives({"--file", "--jsonl"});
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--out,-o", call.out,
            "The file to write; one that ends with .dat in llama.cpp's older form, else GGUF");
  line.text("--file,--text,-f", call.file, "A text: windows of --ctx tokens, each alone");
  line.text("--jsonl", call.jsonl,
            "Conversations, as `ruvllm train --jsonl` reads them, each alone");
  line.integer("--chunks", call.n_chunks, 1, int64_t{1} << 30,
               "Only as many windows or conversations; more measure more exactly");
  line.integer("--ctx,-c", call.n_ctx, 4, int64_t{1} << 24,
               "Tokens of a window, and the most of a conversation");
  line.flag(
      "--sensitivity", call.sensitivity,
      "Also measure how far answers move when one tensor is noisy, for quantize --target-bpw: "
      "up to 2048 tokens are run for each tensor");
  line.flag("--force", call.force, "Replace a file at --out");
  add_ignore_flag(line, call.ignored_keys);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("--file") == line.given("--jsonl"))
    return line.wrong_call("give either --file or --jsonl");
  if (call.sensitivity && call.out.ends_with(".dat"))
    return line.wrong_call("--sensitivity: the older form, .dat, has no room for it");
  if (call.out.empty()) return line.wrong_call("give a file to write: --out FILE");
  const Result<ImatrixResult> result = measure(call);
  if (!result) return line.failed(result.error());
  print_result(call, *result);
  return kDone;
}

}  // namespace ruv
