// ruvllm embed: vectors of texts, from the command line, a file or stdin. Numbers are printed in
// the shortest form that reads back as the same float32.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "open_engine.h"
#include "open_model.h"
#include "standard_input.h"

namespace ruv {
namespace {

// Texts whose vectors are in memory at once.
constexpr size_t kTextsAtOnce = 256;

struct EmbedCall {
  std::string model;
  LoadCall load;
  EngineCall engine;
  std::vector<std::string> texts;
  std::string file;
  bool json = false;
  bool truncate = false;
  std::string pooling;
  bool as_they_are = false;
  std::string prompt_name;
  EmbedParams params;
  EmbedPrompt prompt;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t n = end - at - (end > at && text[end - 1] == '\r' ? 1 : 0);
    lines.push_back(text.substr(at, n));
    at = end + 1;
  }
  return lines;
}

// The texts of the call; where it has none, the lines of its file or of stdin.
Result<std::vector<std::string>> texts_of(const EmbedCall& call) {
  std::vector<std::string> texts = call.texts;
  if (texts.empty()) {
    texts = lines_of(call.file.empty() ? TRY(read_stdin()) : TRY(read_text_file(call.file)));
  }
  if (texts.empty()) return fail(Code::invalid, "no text is given");
  return texts;
}

void print_row(std::span<const float> numbers, const char* separator) {
  fmt::memory_buffer out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    fmt::format_to(fmt::appender(out), "{}{}", i > 0 ? separator : "", numbers[i]);
  }
  fmt::print("{}", std::string_view(out.data(), out.size()));
}

// Without --json a line for each vector, else one for each text.
void print_embedding(const Embedding& made, bool json, bool by_token) {
  if (!json) {
    for (int64_t i = 0; i < made.n_rows; ++i) {
      print_row(made.row(i), " ");
      fmt::print("\n");
    }
    return;
  }
  fmt::print("{{\"n_tokens\":{},\"{}\":[", made.n_tokens, by_token ? "embeddings" : "embedding");
  for (int64_t i = 0; i < made.n_rows; ++i) {
    if (by_token) fmt::print("{}[", i > 0 ? "," : "");
    print_row(made.row(i), ",");
    if (by_token) fmt::print("]");
  }
  fmt::print("]}}\n");
}

Status embed(Engine& engine, const std::vector<std::string>& texts, const EmbedCall& call) {
  const Pooling pooling = call.params.pooling.value_or(TRY(embed_info(engine.model())).pooling);
  for (size_t at = 0; at < texts.size(); at += kTextsAtOnce) {
    const size_t n = std::min(kTextsAtOnce, texts.size() - at);
    std::vector<std::vector<Token>> ids;
    for (size_t i = at; i < at + n; ++i) {
      auto of_text = tokenize_embedding(engine.model(), texts[i], call.prompt);
      if (!of_text) return with_context(fmt::format("text {}", i + 1), of_text.error());
      if (of_text->empty()) return fail(Code::invalid, "text {}: it gives no tokens", i + 1);
      ids.push_back(std::move(*of_text));
    }
    const std::vector<Embedding> made = TRY(engine.embed_all(std::move(ids), call.params));
    for (const Embedding& one : made) print_embedding(one, call.json, pooling == Pooling::none);
  }
  return {};
}

Status open_and_embed(const CommandLine& line, EmbedCall& call) {
  const std::vector<std::string> texts = TRY(texts_of(call));
  const std::string path = TRY(chosen_model(call.model));
  const auto model = TRY(open_model(path, call.engine.n_threads, call.load));
  const EmbedInfo info = TRY(embed_info(*model));
  TRY(check_embed_params(*model, call.params));
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, path, model, call.engine));
  if (call.truncate) {
    call.prompt.max_tokens =
        info.max_tokens == 0 ? engine->n_ctx() : std::min(engine->n_ctx(), info.max_tokens);
  }
  return embed(*engine, texts, call);
}

void declare(CommandLine& line, EmbedCall& call) {
  line.words("texts", call.texts,
             "Texts; where none is given, one in each line of --file or stdin");
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.text("--file,-f", call.file, "A file with a text in each line");
  line.flag("--json", call.json,
            "A line of JSON for each text: {\"n_tokens\": N, \"embedding\": […]}, with --pooling "
            "none \"embeddings\", a list of lists");
  line.text("--pooling", call.pooling,
            "mean, cls, last, weighted_mean, or none for a vector of each token; the model's when "
            "absent");
  line.integer("--dimensions", call.params.dimensions, 1, 1 << 24,
               "Only this many numbers of each vector, the first ones, where the model was trained "
               "for that");
  line.flag("--no-normalise", call.as_they_are, "Vectors as they are, not scaled to a length of 1");
  line.text(
      "--prompt-name", call.prompt_name,
      "Which of the model's prompts is put before each text (`ruvllm info` lists them); \"\": "
      "none; the model's default when absent");
  line.flag("--truncate", call.truncate,
            "Texts that are too long lose their end; otherwise they are refused");
  line.threads(call.engine.n_threads);
  line.kv(call.engine.kv_type);
  line.integer("--ctx,-c", call.engine.n_ctx, 0, int64_t{1} << 24,
               "Longest text in tokens; 0: what the model was trained for");
  line.integer("--parallel", call.engine.max_sequences, 1, 1024,
               "Texts that are computed at the same time");
}

}  // namespace

int embed_command(int argc, char** argv) {
  EmbedCall call;
  call.engine.max_sequences = 8;
  CommandLine line("embed", "Gives the vectors of texts, to compare, find or group them by.");
  declare(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!call.texts.empty() && line.given("--file")) {
    return line.wrong_call("give texts or --file, not both");
  }
  if (line.given("--pooling")) {
    call.params.pooling = find_pooling(call.pooling);
    if (!call.params.pooling) {
      return line.wrong_call("--pooling: give mean, cls, last, weighted_mean or none");
    }
  }
  if (line.given("--prompt-name")) call.prompt.name = call.prompt_name;
  if (call.as_they_are) call.params.normalise = false;
  const Status status = open_and_embed(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
