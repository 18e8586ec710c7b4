// ruv_bench_json: reading and writing of JSON texts of 1 MB, in every shape that could be slow.
//   ruv_bench_json [--benchmark_filter=…]
#include <benchmark/benchmark.h>

#include <utility>

#include "base/json.h"

namespace ruv {
namespace {

constexpr size_t kTextBytes = 1 << 20;

std::string repeated(const std::string& part) {
  std::string text = "[" + part;
  while (text.size() < kTextBytes) text += "," + part;
  return text + "]";
}

std::string wide_object(const char* format) {
  std::string text;
  for (int i = 0; text.size() < kTextBytes; ++i) {
    text += (i == 0 ? "{" : ",") + fmt::format(fmt::runtime(format), i) + ":0";
  }
  return text + "}";
}

std::string nested(const std::string& open, const std::string& inner, const std::string& close) {
  std::string text = inner;
  for (int i = 0; i < 30; ++i) text = open + text + close;
  return text;
}

std::vector<std::pair<const char*, std::string>> shapes() {
  return {{"short_keys", wide_object("\"{:x}\"")},
          {"long_keys", wide_object("\"a key with much in common {}\"")},
          {"one_key", wide_object("\"a\"")},
          {"zeros", repeated("0")},
          {"integers", repeated("1234567")},
          {"big_integers", repeated("123456789012345678901234567890")},
          {"reals", repeated("-0.12345678901234567")},
          {"empty_arrays", repeated("[]")},
          {"arrays_of_one", repeated("[0]")},
          {"objects_of_one", repeated("{\"a\":0}")},
          {"deep_arrays", repeated(nested("[", "0", "]"))},
          {"deep_objects", repeated(nested("{\"a\":", "0", "}"))},
          {"short_texts", repeated("\"abc\"")},
          {"long_text", "\"" + std::string(kTextBytes, 'x') + "\""},
          {"escapes", repeated("\"\\n\\u00e9\\\"\"")},
          {"one_text_of_escapes", "\"" + repeated("\\u65e5").substr(1, kTextBytes / 7 * 7) + "\""},
          {"messages",
           repeated(R"({"role":"user","content":"A question of some length, as asked."})")}};
}

void parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    Result<Json> json = parse_json(text, "bench");
    if (!json) state.SkipWithError(json.error().message().c_str());
    benchmark::DoNotOptimize(json);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void write(benchmark::State& state, const std::string& text) {
  const Json json = parse_json(text, "bench").value();
  for (auto _ : state) benchmark::DoNotOptimize(json.dump());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void register_all() {
  for (const auto& [name, text] : shapes()) {
    benchmark::RegisterBenchmark(fmt::format("parse/{}", name).c_str(), parse, text)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(fmt::format("write/{}", name).c_str(), write, text)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  ruv::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
