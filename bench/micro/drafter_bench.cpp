// ruv_bench_drafter: what drafting by look-up costs, one JSON line per text: ns a token to read a
// prompt at once and token by token, us to propose, bytes a token. Times are the smallest of
// several rounds.
//   ruv_bench_drafter [TOKENS]     default 32768
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/speculate/drafter.h"

namespace ruv {
namespace {

using Tokens = std::vector<Token>;
constexpr int64_t kVocabulary = 128000;
constexpr int kRounds = 25;

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Words by Zipf's law, stretches of which come again, as in prose and code.
Tokens text_like(Rng& rng, int64_t n) {
  Tokens text;
  while (std::ssize(text) < n) {
    if (text.size() > 100 && rng.below(40) == 0) {
      const size_t begin = rng.below(text.size() - 30);
      for (size_t i = 0; i < 5 + rng.below(20); ++i) text.push_back(text[begin + i]);
    }
    const double u = rng.uniform();
    text.push_back(static_cast<Token>(std::min(20000.0, 1 / (u + 5e-5))));
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

Tokens all_new(Rng& rng, int64_t n) {
  Tokens text;
  while (std::ssize(text) < n) text.push_back(static_cast<Token>(rng.below(kVocabulary)));
  return text;
}

Tokens repeated(Rng& rng, int64_t n) {
  const Tokens page = all_new(rng, 500);
  Tokens text;
  while (std::ssize(text) < n) text.push_back(page[text.size() % page.size()]);
  return text;
}

void measure(const std::string& name, const Tokens& text) {
  DraftHistory history(1 << 20, 1);
  history.add("", std::span(text).first(text.size() / 2));
  const auto n = static_cast<double>(text.size());
  std::vector<double> at_once;
  std::vector<double> one_by_one;
  std::vector<double> propose;
  double n_bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    double begin = now_ns();
    SequenceDrafter drafter(&history, "", kVocabulary, 2 * std::ssize(text));
    drafter.accept(text);
    at_once.push_back((now_ns() - begin) / n);
    n_bytes = static_cast<double>(drafter.n_bytes());
    begin = now_ns();
    for (size_t i = 0; i < 2000; ++i) drafter.accept({&text[i], 1});
    one_by_one.push_back((now_ns() - begin) / 2000);
    Draft draft;
    begin = now_ns();
    for (int i = 0; i < 1000; ++i) drafter.propose(16, draft);
    propose.push_back((now_ns() - begin) / 1000);
  }
  std::cout << "{\"text\": \"" << name << "\", \"tokens\": " << text.size()
            << ", \"prompt_ns_per_token\": " << least(at_once)
            << ", \"answer_ns_per_token\": " << least(one_by_one)
            << ", \"propose_us\": " << least(propose) / 1000
            << ", \"bytes_per_token\": " << n_bytes / n << "}\n";
}

int run(int argc, char** argv) {
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 32768;
  if (n < 4096 || n > (1 << 24)) {
    std::cerr << "ruv_bench_drafter: TOKENS: give 4096 to 16777216\n";
    return 2;
  }
  Rng rng(1);
  measure("text", text_like(rng, n));
  measure("new", all_new(rng, n));
  measure("repeated", repeated(rng, n));
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return ruv::run(argc, argv); }
