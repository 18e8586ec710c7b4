// What all stores do with a query and with what their two searches found: reciprocal ranks are
// added up (Cormack and others, 2009).
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/document_store.h"

namespace ruv {

// With n_candidates and now_s filled in, and `metadata` joined to `filter`. Fails: invalid, by
// name.
Result<MemoryQuery> checked_query(const MemoryQuery& asked);
// The first 64 words of a query, as blank space parts them. They may have NUL.
std::vector<std::string_view> query_words(std::string_view text);

class RankedChunks {
 public:
  explicit RankedChunks(const MemoryQuery& query);
  // The best first, each once.
  void add_near(int64_t id, float distance);
  void add_word(int64_t id);
  // By score, then id: those with ids, ranks, distances and scores alone. Once.
  std::vector<FoundChunk> in_order();

 private:
  double vector_weight_ = 1, word_weight_ = 1;
  int64_t n_near_ = 0, n_words_ = 0;
  std::unordered_map<int64_t, FoundChunk> merged_;
};

}  // namespace ruv
