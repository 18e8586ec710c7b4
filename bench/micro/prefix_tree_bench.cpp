// ruv_bench_prefix_tree: the prefix tree and the page pool, one JSON line each.
//   ruv_bench_prefix_tree speed [TOKENS]   times and memory with so many tokens kept (10^6)
//   ruv_bench_prefix_tree trace [SEED]     tokens reused on an agent trace, beside plain LRU
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "cache/prefix_tree.h"

namespace ruv {
namespace {

using Text = std::vector<PrefixCell>;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Text random_text(Rng& rng, size_t n) {
  Text text(n);
  for (PrefixCell& cell : text) cell = PrefixCell(static_cast<Token>(rng.below(128000)));
  return text;
}

int64_t n_pages_of(const Text& text) { return pages_for(std::ssize(text)); }

// A sequence computes what is not known of the text, keeps it and ends. Returns what was known.
int64_t serve(PagePool& pool, PrefixTree& tree, const Text& text, PrefixTree::Match& match) {
  tree.match("", text, match);
  std::vector<PageId> pages;
  for (int64_t i = 0; i < match.n_tokens / kPageTokens; ++i) {
    pages.push_back(match.entries[static_cast<size_t>(i)].page);
    pool.share(pages.back());
  }
  tree.touch("", text);
  const int64_t missing = n_pages_of(text) - static_cast<int64_t>(pages.size());
  if (pool.n_free() < missing) tree.evict(missing - pool.n_free());
  if (pool.reserve(missing, pages)) tree.insert("", text, pages, true);
  for (PageId page : pages) pool.release(page);
  return match.n_tokens;
}

// --- Speed -----------------------------------------------------------------------------------

// Times of single calls, in us. `between` runs before each and is not measured.
template <class F, class G>
Json timed(std::string_view what, int n, const G& between, const F& call) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    between(i);
    const double begin = now_us();
    call(i);
    times.push_back(now_us() - begin);
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  return {{"what", what},
          {"calls", n},
          {"median_us", at(0.5)},
          {"p99_us", at(0.99)},
          {"max_us", at(1)}};
}

// Memory that this process really uses.
size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  size_t kilobytes = 0;
  while (status >> word && word != "VmRSS:") {
  }
  status >> kilobytes;
  return kilobytes * 1024;
}

void print_speed(int64_t n_tokens) {
  Rng rng(1);
  PagePool pool(n_tokens / kPageTokens * 2);
  const size_t before = resident_bytes();
  PrefixTree tree(pool, {.max_pages_per_tenant = 1 << 30});
  // Conversations of 8k tokens behind four system prompts.
  std::vector<Text> systems, texts;
  for (int i = 0; i < 4; ++i) systems.push_back(random_text(rng, 1000));
  PrefixTree::Match match;
  while (tree.stats().memory_tokens < n_tokens) {
    Text text = systems[rng.below(systems.size())];
    const Text own = random_text(rng, 8192 - text.size());
    text.insert(text.end(), own.begin(), own.end());
    serve(pool, tree, text, match);
    texts.push_back(std::move(text));
  }
  size_t of_texts = 0;
  for (const Text& text : texts) of_texts += text.capacity() * sizeof(PrefixCell) + 16;
  const PrefixTree::Stats stats = tree.stats();
  const double tokens = static_cast<double>(stats.memory_tokens);
  std::cout << Json{{"what", "memory"},
                    {"tokens", stats.memory_tokens},
                    {"bytes_per_token",
                     static_cast<double>(resident_bytes() - before - of_texts) / tokens},
                    {"reported_bytes_per_token", static_cast<double>(stats.index_bytes) / tokens}}
                   .dump()
            << "\n";

  const auto nothing = [](int) {};
  const auto any = [&](int i) -> const Text& {
    return texts[static_cast<size_t>(i) * 7919 % texts.size()];
  };
  const auto print = [](const Json& line) { std::cout << line.dump() << std::endl; };
  const std::vector<Token> prompt(8192, 7);
  Text cells;
  print(timed("cells of 8k tokens", 2000, nothing, [&](int) { set_cells(prompt, cells); }));
  print(timed("match, 8k tokens known", 2000, nothing,
              [&](int i) { tree.match("", any(i), match); }));
  Text other;
  print(timed(
      "match, nothing known", 2000, [&](int) { other = random_text(rng, 8192); },
      [&](int) { tree.match("", other, match); }));
  print(timed("touch, 8k tokens", 2000, nothing, [&](int i) { tree.touch("", any(i)); }));
  std::vector<PageId> pages;
  const auto reserve = [&](int) {
    for (PageId page : pages) pool.release(page);
    pages.clear();
    other = systems[0];
    const Text own = random_text(rng, 512 - other.size() % kPageTokens);
    other.resize(other.size() / kPageTokens * kPageTokens);
    other.insert(other.end(), own.begin(), own.end());
    if (pool.n_free() < n_pages_of(other)) tree.evict(n_pages_of(other));
    pool.reserve(n_pages_of(other), pages);
  };
  print(timed("insert, 512 new tokens behind 992", 1000, reserve,
              [&](int) { tree.insert("", other, pages, true); }));
  for (PageId page : pages) pool.release(page);
  pages.clear();
  print(timed("evict a page", 5000, nothing, [&](int) { tree.evict(1); }));
  pages.reserve(1);
  print(timed(
      "reserve and release a page", 100000, [&](int) { pages.clear(); },
      [&](int) {
        pool.reserve(1, pages);
        pool.release(pages[0]);
      }));
}

// --- Trace -----------------------------------------------------------------------------------

// Agents that take turns behind shared system prompts, requests that come once, and questions on
// documents of which some are asked for more often.
std::vector<Text> agent_trace(uint64_t seed, int n_requests) {
  Rng rng(seed);
  std::vector<Text> systems, documents, trace;
  for (int i = 0; i < 6; ++i) systems.push_back(random_text(rng, 400 + rng.below(2600)));
  for (int i = 0; i < 60; ++i) documents.push_back(random_text(rng, 800 + rng.below(3200)));
  struct Agent {
    Text text;
    uint64_t turns_left = 0;
  };
  std::vector<Agent> agents(24);
  const auto append = [&](Text& text, size_t n) {
    const Text more = random_text(rng, n);
    text.insert(text.end(), more.begin(), more.end());
  };
  while (static_cast<int>(trace.size()) < n_requests) {
    const uint64_t kind = rng.below(10);
    if (kind < 6) {
      Agent& agent = agents[rng.below(agents.size())];
      if (agent.turns_left-- == 0) agent = {systems[rng.below(systems.size())], 4 + rng.below(30)};
      append(agent.text, 100 + rng.below(700));
      trace.push_back(agent.text);
    } else if (kind < 8) {
      trace.push_back(random_text(rng, 200 + rng.below(3000)));
    } else {
      const double rank = rng.uniform() * rng.uniform() * static_cast<double>(documents.size());
      trace.push_back(systems[0]);
      const Text& document = documents[static_cast<size_t>(rank)];
      trace.back().insert(trace.back().end(), document.begin(), document.end());
      append(trace.back(), 20 + rng.below(100));
    }
  }
  return trace;
}

struct Reuse {
  int64_t asked = 0;
  int64_t found = 0;
  double asked_cost = 0;  // of computing, in first tokens
  double found_cost = 0;
  void add(int64_t n_asked, int64_t n_found) {
    const auto cost = [](int64_t n) {
      const auto tokens = static_cast<double>(n);
      return tokens + tokens * tokens / 2 / 8192;
    };
    asked += n_asked;
    found += n_found;
    asked_cost += cost(n_asked);
    found_cost += cost(n_found);
  }
};

// Whole pages, the one used longest ago first, of one text the last first.
class LruPages {
 public:
  explicit LruPages(int64_t n_pages) : n_pages_(n_pages) {}
  int64_t serve(const Text& text) {
    uint64_t path = 0;
    int64_t n_found = 0;
    bool known = true;
    ++now_;
    const int64_t n = static_cast<int64_t>(text.size()) / kPageTokens;
    for (int64_t i = 0; i < n; ++i) {
      path = hash_bytes(
          std::as_bytes(std::span(text).subspan(static_cast<size_t>(i) * kPageTokens, kPageTokens)),
          path);
      Order& used = used_[path];
      known &= used.first != 0;
      n_found += known ? kPageTokens : 0;
      if (used.first != 0) order_.erase({used, path});
      used = {now_, -i};
      order_.insert({used, path});
    }
    while (static_cast<int64_t>(order_.size()) > n_pages_) {
      used_.erase(order_.begin()->second);
      order_.erase(order_.begin());
    }
    return n_found;
  }

 private:
  using Order = std::pair<int64_t, int64_t>;
  int64_t n_pages_;
  int64_t now_ = 0;
  std::map<uint64_t, Order> used_;
  std::set<std::pair<Order, uint64_t>> order_;
};

void print_trace(uint64_t seed) {
  const std::vector<Text> trace = agent_trace(seed, 4000);
  for (const int64_t n_tokens : {64000, 128000, 256000, 512000, 16000000}) {
    PagePool pool(n_tokens / kPageTokens);
    PrefixTree tree(pool, {});
    LruPages lru(n_tokens / kPageTokens);
    PrefixTree::Match match;
    Reuse reuse, lru_reuse;
    for (const Text& text : trace) {
      if (n_pages_of(text) > pool.n_pages()) continue;
      reuse.add(static_cast<int64_t>(text.size()), serve(pool, tree, text, match));
      lru_reuse.add(static_cast<int64_t>(text.size()), lru.serve(text));
    }
    const auto part = [](double a, double b) { return a / b; };
    std::cout << Json{{"what", "trace"},
                      {"seed", seed},
                      {"tokens_of_memory", n_tokens},
                      {"reused_tokens",
                       part(static_cast<double>(reuse.found), static_cast<double>(reuse.asked))},
                      {"lru_reused_tokens", part(static_cast<double>(lru_reuse.found),
                                                 static_cast<double>(lru_reuse.asked))},
                      {"reused_cost", part(reuse.found_cost, reuse.asked_cost)},
                      {"lru_reused_cost", part(lru_reuse.found_cost, lru_reuse.asked_cost)}}
                     .dump()
              << std::endl;
  }
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int64_t number = argc > 2 ? std::atoll(argv[2]) : 0;
  if (what == "speed") {
    print_speed(number > 0 ? number : 1000000);
  } else if (what == "trace") {
    print_trace(static_cast<uint64_t>(number));
  } else {
    std::cerr << "usage: ruv_bench_prefix_tree speed [TOKENS] | trace [SEED]\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return ruv::run(argc, argv); }
