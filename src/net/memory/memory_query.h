// Requests that look for something in a store, whichever API they come by.
#pragma once

#include <string>
#include <vector>

#include "net/memory/memory_vectors.h"

namespace ruv {

enum class MemoryMode : uint8_t { hybrid, vector, words };

// What is looked for: each query by itself.
struct StoreSearch {
  std::vector<std::string> queries;
  MemoryMode mode = MemoryMode::hybrid;
  int64_t k = 5;
  MetadataFilter filter = {};
  // With one query only.
  int64_t n_related = 0;
  int64_t most_visited = 256;
  bool remembers = false;
};

// Chunks found, best first; a chunk that several queries find counts with its best score.
struct StoreFindings {
  std::vector<FoundChunk> chunks;
  int64_t n_tokens = 0;          // of the queries, where they were embedded
  bool were_remembered = false;  // edges between them were strengthened
};

// The answer to findings; called on a thread that may compute and wait for a disk.
using AnswerFindings = std::function<ApiResult<HttpResponse>(StoreFindings)>;

// Searches the store in a folder, which may be missing: nothing is found then. Returns at once
// where the model is needed. Fails before it has any effect.
ApiResult<void> search_and_answer(const MemoryRequest& call, const std::string& folder,
                                  StoreSearch search, AnswerFindings answer);

// What the search finds, by vectors of its queries where its mode needs them. On a thread that may
// compute and wait for a disk. Fails: 400 (what is there was embedded by another model), as files.
ApiResult<StoreFindings> find_chunks(const MemoryRequest& call, const std::string& folder,
                                     const StoreSearch& search, const EmbeddedTexts& embedded);

// query, k, mode, metadata, filter, related, max_visited and remember of a body. Fails: 400.
ApiResult<StoreSearch> read_search(const Json& body);
// A text that is required and not empty. Fails: 400.
ApiResult<std::string> read_text(const Json& body, const char* field);
// An object; empty where it is absent. Fails: 400.
ApiResult<Json> read_object(const Json& body, const char* field);

}  // namespace ruv
