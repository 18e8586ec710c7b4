// ruvllm embed: vectors of texts, from the command line, a file or stdin. Numbers are printed in
// the shortest form that reads back as the same float32.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "open_engine.h"
#include "open_model.h"
#include "text_lines.h"

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
  const std::vector<std::string> texts = TRY(given_texts(call.texts, call.file));
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const auto model = TRY(open_model(chosen, call.engine.n_threads, call.load));
  TRY(check_embed_params(*model, call.params));
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
  if (call.truncate) call.prompt.max_tokens = TRY(most_tokens(*engine));
  return embed(*engine, texts, call);
}

void declare(CommandLine& line, EmbedCall& call) {
  line.example("ruvllm embed -m bge-small \"a text\" \"another\"", "A line of numbers for each");
  line.alternatives({"--file", "texts"});
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
  add_text_flags(line, call.engine, call.truncate);
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
