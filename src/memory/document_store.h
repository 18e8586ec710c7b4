// DocumentStore: documents with their chunks and vectors, found by what they mean and by their
// words, wherever they are kept: MemoryStore has them in a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/worker_pool.h"
#include "memory/chunks.h"
#include "memory/metadata_filter.h"

namespace ruv {

// What is added: a document's text, cut into chunks, with a vector for each.
struct NewDocument {
  std::string name;  // a path or address, say
  std::string_view text;
  std::span<const TextChunk> chunks;
  std::span<const float> vectors;  // n_dims for each chunk
  Json metadata = Json::object();
  // For a document whose text is not known as a whole: the text of each chunk, of as many bytes
  // as the chunk has. `text` is empty then, and n_bytes the length that it had.
  std::span<const std::string> texts = {};
  int64_t n_bytes = 0;
  int64_t added_s = 0;  // when it was first added, in seconds since 1970; 0: now
};

struct StoredDocument {
  int64_t id = 0;
  std::string name;
  Json metadata;
  int64_t added_s = 0;  // seconds since 1970, UTC
  int64_t n_chunks = 0, n_bytes = 0;
};

// All that a store has of a document.
struct KeptDocument {
  int64_t id = 0;
  std::string name;
  Json metadata = Json::object();
  int64_t added_s = 0;  // seconds since 1970, UTC
  int64_t n_bytes = 0;
  std::vector<TextChunk> chunks = {};
  std::vector<std::string> texts = {};  // of the chunks
  std::vector<float> vectors = {};      // n_dims for each chunk, or none
};

struct FoundChunk {
  int64_t id = 0;
  std::string document;
  int64_t first = 0, end = 0;  // bytes of the document's text
  std::string headings, text;
  int64_t page = 0;    // on which it begins; 0: not known
  Json metadata = {};  // of the document
  // Reciprocal ranks added up, and the places among the results of each search, from 1; 0: it is
  // not among them.
  double score = 0;
  int64_t vector_rank = 0, word_rank = 0;
  float distance = 0;  // 1 - cosine, where vector_rank > 0
  // Above 0: it was not found but is related to chunks that were; its share of a walk from them
  // (memory/chunk_graph.h). Its score and ranks are 0.
  double related = 0;
};

// How much the vectors of a model are trusted beside words (MemoryQuery::vector_weight). One whose
// files do not say how it pools was made for other things: its vectors find chunks that no word
// leads to, and words decide the order of all others.
constexpr double vector_weight_of(bool pooling_is_stated) { return pooling_is_stated ? 1 : 0.005; }

struct MemoryQuery {
  std::span<const float> vector = {};  // empty: by words alone
  // What the vector's ranks count, where there are words, too, whose ranks count 2 less this.
  // Between 0 and 2; lower ones trust the model less.
  double vector_weight = 1;
  // Any of the first 64 words; empty: by the vector alone.
  std::string_view words = {};
  int64_t k = 5;
  // Only documents whose metadata have these members with these values: texts, numbers, booleans.
  Json metadata = Json::object();
  // Only documents that this takes, too.
  MetadataFilter filter = {};
  // How many results of each search are merged; at least k.
  int64_t n_candidates = 50;
  // As many chunks that edges lead to from those found are added after them; 0 to 1000.
  int64_t n_related = 0;
  // Chunks that are visited for that, 1 to 10000: more find what is farther away, and cost 10 us
  // each or so.
  int64_t most_visited = 256;
  // Strengthens the edges between the chunks that are found, which is a change.
  bool remembers = false;
  int64_t now_s = 0;  // seconds since 1970, for what edges are worth; 0: now
};

// What a store fails with besides what its calls name: as files, or as the server that has it.
class DocumentStore {
 public:
  virtual ~DocumentStore() = default;

  // The model whose vectors it has, and their length.
  struct Kind {
    std::string embedder;
    int64_t n_dims = 0;
    std::vector<float> probe = {};
  };
  // Whether vectors of the one can be compared with those of the other: by their probes where both
  // have one, or else by their names.
  static bool is_same_model(const Kind& a, const Kind& b);

  // Adds a document, in place of one of the same name, whose chunks are not found any more. Fails:
  // invalid, out_of_memory; all is as before then. Returns its id.
  virtual Result<int64_t> add(const NewDocument& document, WorkerPool& pool) = 0;
  // False: there is none of this name.
  virtual Result<bool> remove(std::string_view name, WorkerPool& pool) = 0;
  // The best chunks by the sum of 1 / (60 + rank) over both searches (Cormack and others, 2009).
  // Fails: invalid (nothing to search for, by name), corrupt (a chunk whose text is damaged).
  virtual Result<std::vector<FoundChunk>> search(const MemoryQuery& query) const = 0;
  // By name. `after`: the name before the first.
  virtual Result<std::vector<StoredDocument>> list(std::string_view after, int64_t most) const = 0;
  // Nothing where there is none of this name.
  virtual Result<std::optional<StoredDocument>> find(std::string_view name) const = 0;
  // The first document after the one of this number, 0: the first of all, in the order in which
  // they were added. Fails: corrupt (a chunk whose text or vector is damaged), not_found
  // (`with_vectors`: a chunk has none, as it was damaged).
  virtual Result<std::optional<KeptDocument>> next_document(int64_t after,
                                                            bool with_vectors) const = 0;

  // What of a document the store has under its name already.
  struct Known {
    // For each chunk the vector of one with the same headings and text; empty: there is none.
    std::vector<std::vector<float>> vectors;
    // All is as it is in the store, metadata included: adding it would change nothing.
    bool is_same = false;
    int64_t id = 0;  // of the document; 0: there is none
  };
  // `document.vectors` are not looked at.
  virtual Result<Known> known(const NewDocument& document) const = 0;

  struct Stats {
    std::string embedder;
    int64_t n_dims = 0, n_documents = 0, n_chunks = 0, n_vectors = 0, n_text_bytes = 0;
    int64_t n_bytes = 0;    // memory, as n_bytes() has it
    int64_t n_damaged = 0;  // vectors that were removed at open()
    int64_t n_edges = 0;    // between chunks
    int64_t n_packed = 0;   // vectors that MemoryStore::pack() has written
  };
  virtual Result<Stats> stats() const = 0;
  // As it was opened: the first that a store had, or that of an equal model.
  virtual Kind kind() const = 0;
};

}  // namespace ruv
