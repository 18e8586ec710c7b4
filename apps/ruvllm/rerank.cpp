// ruvllm rerank: sorts texts by how well they answer a query.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/score.h"
#include "text_lines.h"

namespace ruv {
namespace {

struct RerankCall {
  std::string model;
  LoadCall load;
  EngineCall engine;
  std::string query;
  std::vector<std::string> documents;
  std::string file;
  int64_t top_n = 0;  // 0: all
  bool json = false;
  bool truncate = false;
};

void print_results(const std::vector<std::string>& documents, const std::vector<double>& scores,
                   const RerankCall& call) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return scores[i]; });
  if (call.top_n > 0) order.resize(std::min(order.size(), static_cast<size_t>(call.top_n)));
  for (const size_t i : order) {
    if (call.json) {
      print_json_line({{"index", i}, {"relevance_score", scores[i]}, {"document", documents[i]}});
    } else {
      fmt::print("{:9.6f}  {:>4}  {}\n", scores[i], i, documents[i]);
    }
  }
}

Status rerank(const CommandLine& line, const RerankCall& call) {
  const std::vector<std::string> documents = TRY(given_texts(call.documents, call.file));
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const auto model = TRY(open_model(chosen, call.engine.n_threads, call.load));
  TRY(can_rank(*model));
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
  std::vector<TextPair> pairs;
  for (const std::string& document : documents) pairs.push_back({call.query, document});
  const int64_t max_tokens = call.truncate ? TRY(most_tokens(*engine)) : 0;
  print_results(documents, TRY(score_pairs(*engine, pairs, PairKind::document, max_tokens)), call);
  return {};
}

}  // namespace

int rerank_command(int argc, char** argv) {
  RerankCall call;
  call.engine.max_sequences = 8;
  CommandLine line("rerank", "Sorts texts by how well they answer a query, the best first.");
  line.example("ruvllm rerank -m bge-reranker -q \"how do birds fly\" --file texts.txt",
               "The lines of a file, the best first");
  line.alternatives({"--file", "documents"});
  line.words("documents", call.documents,
             "Texts; where none is given, one in each line of --file or stdin");
  line.text("--query,-q", call.query, "What the texts should answer");
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.text("--file,-f", call.file, "A file with a text in each line");
  line.integer("--top-n", call.top_n, 1, int64_t{1} << 31, "Only this many texts, the best ones");
  line.flag("--json", call.json,
            "A line of JSON for each text: {\"index\", \"relevance_score\", \"document\"}");
  add_text_flags(line, call.engine, call.truncate);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!line.given("--query")) return line.wrong_call("give the query: --query TEXT");
  if (!call.documents.empty() && line.given("--file")) {
    return line.wrong_call("give texts or --file, not both");
  }
  const Status status = rerank(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
