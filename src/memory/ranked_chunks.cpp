#include "memory/ranked_chunks.h"

#include <algorithm>

#include "base/clock.h"

namespace ruv {
namespace {

// The number in the formula; lower ones give the first places of one search more weight.
constexpr double kRankOffset = 60;
constexpr int64_t kMostCandidates = 10'000;
constexpr size_t kMostWords = 64;
constexpr int64_t kMostRelated = 1000;

}  // namespace

Result<MemoryQuery> checked_query(const MemoryQuery& asked) {
  MemoryQuery query = asked;
  if (query.vector.empty() && query.words.find_first_not_of(" \t\r\n") == query.words.npos) {
    return fail(Code::invalid, "nothing to search for: neither a vector nor words");
  }
  if (query.k < 1 || query.k > kMostCandidates) {
    return fail(Code::invalid, "k is {}, not 1 to {}", query.k, kMostCandidates);
  }
  if (query.n_related < 0 || query.n_related > kMostRelated) {
    return fail(Code::invalid, "n_related is {}, not 0 to {}", query.n_related, kMostRelated);
  }
  if (query.most_visited < 1 || query.most_visited > kMostCandidates) {
    return fail(Code::invalid, "most_visited is {}, not 1 to {}", query.most_visited,
                kMostCandidates);
  }
  if (!(query.vector_weight > 0 && query.vector_weight < 2)) {
    return fail(Code::invalid, "vector_weight is {}, not between 0 and 2", query.vector_weight);
  }
  if (query.now_s == 0) query.now_s = unix_seconds();
  query.n_candidates = std::clamp(query.n_candidates, query.k, kMostCandidates);
  query.filter = TRY(MetadataFilter::of_members(query.metadata)).both(query.filter);
  return query;
}

std::vector<std::string_view> query_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size() && words.size() < kMostWords;) {
    const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

RankedChunks::RankedChunks(const MemoryQuery& query) {
  if (!query.vector.empty() && !query.words.empty()) {
    vector_weight_ = query.vector_weight;
    word_weight_ = 2 - query.vector_weight;
  }
}

void RankedChunks::add_near(int64_t id, float distance) {
  FoundChunk& chunk = merged_[id];
  chunk.vector_rank = ++n_near_;
  chunk.distance = distance;
  chunk.score += vector_weight_ / (kRankOffset + static_cast<double>(n_near_));
}

void RankedChunks::add_word(int64_t id) {
  FoundChunk& chunk = merged_[id];
  chunk.word_rank = ++n_words_;
  chunk.score += word_weight_ / (kRankOffset + static_cast<double>(n_words_));
}

std::vector<FoundChunk> RankedChunks::in_order() {
  std::vector<FoundChunk> order;
  for (auto& [id, chunk] : merged_) {
    chunk.id = id;
    order.push_back(std::move(chunk));
  }
  std::ranges::sort(order, [](const FoundChunk& a, const FoundChunk& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  return order;
}

}  // namespace ruv
