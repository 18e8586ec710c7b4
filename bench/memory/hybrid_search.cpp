// Makes a store of drawn texts and vectors, and searches it by words, by vectors and by both.
//
//   ruv_bench_hybrid folder=NEW chunks=1000000 per_document=10 words=40 n_dims=128 queries=1000
//
// A chunk's words are drawn by Zipf's law from a vocabulary of 50,000, as those of texts are; its
// vector is near one of 1,000 centres. A query has three words of a chunk and a vector near the
// chunk's own. Prints a line of JSON for making and for opening the store, and one for each way to
// search: microseconds of single searches, with the reading of the chunks that are found, and in
// how many the chunk is among the ten best.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "memory/store.h"

namespace ruv {
namespace {

constexpr int64_t kVocabulary = 50'000;
constexpr size_t kCentres = 1000;
constexpr int64_t kAtOnce = 1000;  // documents between two lines of progress

struct HybridOptions {
  std::string folder;
  int64_t n_chunks = 100'000, per_document = 10, n_words = 40, n_dims = 128, n_queries = 1000;
};

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

// Every chunk is a function of its number, so that queries know what the store has.
class DrawnChunks {
 public:
  explicit DrawnChunks(const HybridOptions& options) : options_(options) {
    double sum = 0;
    for (int64_t i = 1; i <= kVocabulary; ++i) shares_.push_back(sum += 1 / static_cast<double>(i));
    Rng rng(7);
    for (size_t i = 0; i < kCentres * static_cast<size_t>(options.n_dims); ++i)
      centres_.push_back(normal(rng));
  }

  std::vector<std::string> words(int64_t chunk) const {
    Rng rng(static_cast<uint64_t>(chunk) * 2 + 1);
    std::vector<std::string> drawn;
    for (int64_t i = 0; i < options_.n_words; ++i) {
      const double at = unit(rng) * shares_.back();
      const auto place = std::ranges::lower_bound(shares_, at) - shares_.begin();
      drawn.push_back("w" + std::to_string(place));
    }
    return drawn;
  }
  std::string text(int64_t chunk) const {
    std::string text;
    for (const std::string& word : words(chunk)) text += word + " ";
    return text;
  }
  // `spread`: the length of the drawn part beside the centre's.
  std::vector<float> vector(int64_t chunk, float spread = 0.6F) const {
    Rng rng(static_cast<uint64_t>(chunk) * 2 + 2);
    const size_t n = static_cast<size_t>(options_.n_dims);
    const size_t first = rng.below(kCentres) * n;
    std::vector<float> made(centres_.begin() + static_cast<int64_t>(first),
                            centres_.begin() + static_cast<int64_t>(first + n));
    for (float& number : made) number += 0.6F * normal(rng);
    Rng away(static_cast<uint64_t>(chunk) + 99);
    if (spread != 0.6F) {
      for (float& number : made) number += spread * normal(away);
    }
    return made;
  }

 private:
  static double unit(Rng& rng) { return static_cast<double>(rng.below(1U << 30)) / (1U << 30); }
  static float normal(Rng& rng) {
    const double radius = std::sqrt(-2 * std::log(1 - unit(rng)));
    return static_cast<float>(radius * std::cos(6.283185307179586 * unit(rng)));
  }

  HybridOptions options_;
  std::vector<double> shares_;
  std::vector<float> centres_;
};

Status add_all(MemoryStore& store, const HybridOptions& options, const DrawnChunks& drawn) {
  WorkerPool pool(2);
  const int64_t start = SteadyClock().now_ns();
  for (int64_t first = 0; first < options.n_chunks; first += options.per_document) {
    const int64_t end = std::min(options.n_chunks, first + options.per_document);
    std::string text;
    std::vector<TextChunk> chunks;
    std::vector<float> vectors;
    for (int64_t i = first; i < end; ++i) {
      TextChunk chunk;
      chunk.first = std::ssize(text);
      text += drawn.text(i);
      chunk.end = std::ssize(text);
      chunks.push_back(std::move(chunk));
      const std::vector<float> vector = drawn.vector(i);
      vectors.insert(vectors.end(), vector.begin(), vector.end());
    }
    TRY(store.add({"d" + std::to_string(first), text, chunks, vectors}, pool));
    if (first / options.per_document % kAtOnce == 0) {
      std::fprintf(stderr, "\r%lld chunks, %.0f s", static_cast<long long>(end),
                   seconds_since(start));
    }
  }
  std::fprintf(stderr, "\n");
  std::printf("{\"made_seconds\": %.3f}\n", seconds_since(start));
  return {};
}

Status search_all(const MemoryStore& store, const HybridOptions& options, const DrawnChunks& drawn,
                  const std::string& way) {
  std::vector<double> us;
  int64_t n_right = 0;
  for (int64_t i = 0; i < options.n_queries; ++i) {
    const int64_t wanted = (i * 7919 + 13) % options.n_chunks;
    const std::vector<float> vector = drawn.vector(wanted, 0.1F);
    const std::vector<std::string> all = drawn.words(wanted);
    std::string words;
    for (size_t j = 0; j < all.size() && j < 3; ++j) words += all[j] + " ";
    MemoryQuery query{.k = 10};
    if (way != "words") query.vector = vector;
    if (way != "vectors") query.words = words;
    if (way == "both + related") query.n_related = 5;
    const int64_t start = SteadyClock().now_ns();
    const std::vector<FoundChunk> found = TRY(store.search(query));
    us.push_back(seconds_since(start) * 1e6);
    const std::string text = drawn.text(wanted);
    n_right += std::ranges::any_of(found, [&](const FoundChunk& one) { return one.text == text; });
  }
  std::ranges::sort(us);
  std::printf("{\"way\": \"%s\", \"p50_us\": %.1f, \"p99_us\": %.1f, \"found\": %.3f}\n",
              way.c_str(), us[us.size() / 2], us[us.size() * 99 / 100],
              static_cast<double>(n_right) / static_cast<double>(options.n_queries));
  return {};
}

Status run(const HybridOptions& options) {
  const DrawnChunks drawn(options);
  const MemoryStoreOptions about{
      .folder = options.folder, .embedder = "drawn", .n_dims = options.n_dims};
  WorkerPool pool(2);
  {
    const auto store = TRY(MemoryStore::open(about, pool));
    if (TRY(store->stats()).n_chunks == 0) TRY(add_all(*store, options, drawn));
  }
  const int64_t start = SteadyClock().now_ns();
  const auto store = TRY(MemoryStore::open(about, pool));
  std::printf("{\"open_seconds\": %.3f}\n", seconds_since(start));
  // The first reading of a row checks its hash.
  TRY(search_all(*store, options, drawn, "both"));
  for (const char* way : {"words", "vectors", "both", "both + related"}) {
    TRY(search_all(*store, options, drawn, way));
  }
  return {};
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  ruv::HybridOptions options;
  const std::map<std::string, int64_t*> numbers{{"chunks", &options.n_chunks},
                                                {"per_document", &options.per_document},
                                                {"words", &options.n_words},
                                                {"n_dims", &options.n_dims},
                                                {"queries", &options.n_queries}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t at = word.find('=');
    const auto number = numbers.find(word.substr(0, at));
    if (at != std::string::npos && word.starts_with("folder=")) {
      options.folder = word.substr(at + 1);
    } else if (at != std::string::npos && number != numbers.end()) {
      *number->second = std::atoll(word.c_str() + at + 1);
    } else {
      std::fprintf(stderr, "%s: what is that?\n", word.c_str());
      return 2;
    }
  }
  const bool are_right =
      std::ranges::all_of(numbers, [](const auto& one) { return *one.second > 0; });
  if (options.folder.empty() || !are_right) {
    std::fprintf(stderr, "give folder=NEW, and numbers above 0\n");
    return 2;
  }
  const ruv::Status status = ruv::run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
