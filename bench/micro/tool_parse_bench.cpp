// ruv_bench_tool_parse: nanoseconds per token that taking answers apart costs, for every known
// format of calls, one JSON line each.
//   ruv_bench_tool_parse [TOKENS]     100,000 when absent
//
// An answer is fed in pieces of four bytes, as a token has on average: `text`, an answer without a
// call; `argument`, one call with one long text; `calls`, a call of 60 bytes again and again. Each
// is measured at a tenth of the length, too: equal times per token mean that they do not grow. The
// best of three runs counts.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "base/json.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"

namespace ruv {
namespace {

constexpr size_t kTokenBytes = 4;

Json bench_tools() {
  return parse_json(R"([{"type": "function", "function": {"name": "note", "parameters": {
    "type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}}}])",
                    "tools")
      .value();
}

std::string words(size_t n_bytes) {
  constexpr std::string_view kWords =
      "It rains, and the \"river\" <rises> to [7] {m}; nobody knows.\n";
  std::string text;
  while (text.size() < n_bytes) text += kWords;
  return text;
}

ToolCall note(const std::string& text) {
  return {"note", "callid001", Json{{"text", text}, {"n", 12}}.dump()};
}

// Nothing where a format cannot hold it.
std::string answer_of(const ToolDialect& dialect, const std::string& kind, size_t n_tokens) {
  const size_t n_bytes = n_tokens * kTokenBytes;
  if (kind == "text") return words(n_bytes);
  if (kind == "argument")
    return write_calls(dialect, std::vector{note(words(n_bytes))}).value_or("");
  const std::vector<ToolCall> calls(n_bytes / 60, note("some words of a note"));
  return write_calls(dialect, calls).value_or("");
}

double nanoseconds_per_token(const ToolDialect& dialect, const std::string& answer) {
  double best = 1e18;
  for (int run = 0; run < 3; ++run) {
    ToolParser parser(dialect, {.tools = ToolSchemas(bench_tools())});
    std::vector<ToolDelta> deltas;
    const auto begin = std::chrono::steady_clock::now();
    for (size_t at = 0; at < answer.size(); at += kTokenBytes) {
      parser.feed(std::string_view(answer).substr(at, kTokenBytes), deltas);
      deltas.clear();
    }
    parser.finish(deltas);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best / (static_cast<double>(answer.size()) / kTokenBytes);
}

void measure(const ToolDialect& dialect, size_t n_tokens) {
  Json line = {{"format", dialect.name}};
  for (const char* kind : {"text", "argument", "calls"}) {
    for (const size_t n : {n_tokens / 10, n_tokens}) {
      const std::string answer = answer_of(dialect, kind, n);
      if (answer.empty()) continue;
      line[kind]["ns_per_token_at_" + std::to_string(n)] = nanoseconds_per_token(dialect, answer);
    }
  }
  std::cout << line.dump() << std::endl;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  const long n_tokens = argc > 1 ? std::atol(argv[1]) : 100'000;
  if (n_tokens < 1000) {
    std::cerr << "at least 1,000 tokens\n";
    return 2;
  }
  for (const ruv::ToolDialect& dialect : ruv::tool_dialects())
    ruv::measure(dialect, static_cast<size_t>(n_tokens));
}
