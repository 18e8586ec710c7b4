// MemoryStore: documents in a folder, found by what they mean and by their words.
//
//   store.key    of an encrypted store: the key of all else (memory/store_key.h)
//   store.db     SQLite: documents, their chunks, and an index of the chunks' words
//   vectors/     DiskVectors with a vector for each chunk, under the chunk's number
//
// SQLite is the truth: a chunk is there when its row is committed. Its vector is written before,
// and removed after; what a crash leaves between the two is removed when the store is opened.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/thread.h"
#include "memory/chunks.h"
#include "memory/database.h"
#include "memory/disk_vectors.h"
#include "memory/metadata_filter.h"
#include "memory/vector_index.h"

namespace ruv {

struct MemoryStoreOptions {
  std::string folder;  // made where it is missing
  // The embedding model, as it is shown, and the length of its vectors. Cosine is the distance.
  std::string embedder;
  int64_t n_dims = 0;
  // The model's vector of a text that is the same for all models: vectors of different models
  // cannot be compared, and names do not tell models apart. A store keeps the first one, and is
  // opened by models whose own is as good as equal; so a model may be in another format. Empty:
  // names are compared.
  std::vector<float> probe = {};
  // What searches look at to find the nearest vectors (HnswOptions::codes). Nothing: those that the
  // store has, int8 where it is made. Others than the store's are refused.
  std::optional<VectorCodes> codes = {};
  // Changes survive a loss of power; costs the time of a disk's write for each.
  bool syncs = false;
  // Opens a store with damaged vectors without those: their chunks are found by their words alone.
  bool removes_damaged = false;
  // Encrypts the store, which was made with a key then, too. Costs the reading and opening of all
  // vectors when it is opened, their memory, and some microseconds for each page of SQLite.
  std::optional<SealKey> key = {};
};

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

class MemoryStore {
 public:
  // Makes a store, or opens it. Fails: invalid (of another model), unavailable (another
  // process has it), corrupt, unsupported (of a newer version), out_of_memory, as files. Invalid
  // are also a plain store with a key, an encrypted one without, and another key.
  static Result<std::unique_ptr<MemoryStore>> open(const MemoryStoreOptions& options,
                                                   WorkerPool& pool);
  // Writes what makes the next opening fast.
  ~MemoryStore();
  // The embedder and the length of the vectors of a store that exists. Fails: not_found, corrupt,
  // invalid (the key), unavailable (encrypted, and another process has it).
  struct Kind {
    std::string embedder;
    int64_t n_dims = 0;
    std::vector<float> probe = {};
  };
  static Result<Kind> kind_of(const std::string& folder, const std::optional<SealKey>& key = {});
  // Puts another key of the user's in the place of the first, for a store that may be open; nothing
  // but store.key is written. Fails: as rewrap_store_key.
  static Status change_key(const std::string& folder, const SealKey& from, const SealKey& to);
  // Whether vectors of the one can be compared with those of the other: by their probes where both
  // have one, or else by their names.
  static bool is_same_model(const Kind& a, const Kind& b);

  // All calls may come from any thread; changes wait for each other.

  // Adds a document, in place of one of the same name, whose chunks are not found any more. Fails:
  // invalid, out_of_memory, as files; all is as before then. Returns its id.
  Result<int64_t> add(const NewDocument& document, WorkerPool& pool);
  // False: there is none of this name. Fails: as files.
  Result<bool> remove(std::string_view name, WorkerPool& pool);
  // The best chunks by the sum of 1 / (60 + rank) over both searches (Cormack and others, 2009).
  // Fails: invalid (nothing to search for, by name), corrupt (a chunk whose text is damaged).
  Result<std::vector<FoundChunk>> search(const MemoryQuery& query) const;
  // By name. `after`: the name before the first.
  Result<std::vector<StoredDocument>> list(std::string_view after, int64_t most) const;
  // Nothing where there is none of this name.
  Result<std::optional<StoredDocument>> find(std::string_view name) const;
  // The first document after the one of this number, 0: the first of all, in the order in which
  // they were added. Fails: corrupt (a chunk whose text or vector is damaged), not_found
  // (`with_vectors`: a chunk has none, as it was damaged).
  Result<std::optional<KeptDocument>> next_document(int64_t after, bool with_vectors) const;
  // Puts other metadata in the place of a document's. False: there is none of this name. Fails:
  // invalid, as files.
  Result<bool> set_metadata(std::string_view name, const Json& metadata);

  // What of a document the store has under its name already.
  struct Known {
    // For each chunk the vector of one with the same headings and text; empty: there is none.
    std::vector<std::vector<float>> vectors;
    // All is as it is in the store, metadata included: adding it would change nothing.
    bool is_same = false;
    int64_t id = 0;  // of the document; 0: there is none
  };
  // `document.vectors` are not looked at.
  Result<Known> known(const NewDocument& document) const;

  struct Stats {
    std::string embedder;
    int64_t n_dims = 0, n_documents = 0, n_chunks = 0, n_vectors = 0, n_text_bytes = 0;
    int64_t n_bytes = 0;    // memory, as n_bytes() has it
    int64_t n_damaged = 0;  // vectors that were removed at open()
    int64_t n_edges = 0;    // between chunks
    int64_t n_packed = 0;   // vectors that pack() has written
  };
  Result<Stats> stats() const;
  // Memory of the vectors, their codes and graph, in bytes. Requires: no change runs.
  int64_t n_bytes() const { return index_->n_bytes(); }
  VectorCodes codes() const { return index_->codes(); }
  // As it was opened: the first that a store had, or that of an equal model.
  Kind kind() const { return {options_.embedder, options_.n_dims, options_.probe}; }
  // Writes all vectors to a file that is searched with little memory, from then on (memory/
  // disk_vectors.h); what is added later is found as before. False: there is nothing new to write.
  // Other calls wait, but for searches by vectors alone. Fails: as DiskVectors::pack; all is as it
  // was.
  Result<bool> pack(WorkerPool& pool);
  // Writes a whole copy to a folder that does not exist, while searches run. Fails: invalid, as
  // files.
  Status backup(const std::string& folder) const;

 private:
  MemoryStore(const MemoryStoreOptions& options, Database database,
              std::unique_ptr<DiskVectors> index)
      : options_(options), database_(std::move(database)), index_(std::move(index)) {}

  // That a store which exists has this embedder and length.
  static Status check_kind(const MemoryStoreOptions& options, const SharedStoreKeys& keys);
  static Result<Kind> kind_with(const std::string& folder, const SharedStoreKeys& keys);
  Status claim();
  Status reconcile(WorkerPool& pool);
  Result<std::vector<int64_t>> chunk_ids(int64_t document) const;
  Result<int64_t> document_id(std::string_view name) const;  // 0: none
  Status remove_rows(int64_t document);
  Status drop_vectors(std::span<const int64_t> ids, WorkerPool& pool);
  Result<std::vector<int64_t>> insert_rows(const NewDocument& document, int64_t id);
  // The chunks of documents that a query may find.
  Result<std::vector<int64_t>> allowed(const MetadataFilter& filter) const;
  Result<std::vector<int64_t>> by_words(const MemoryQuery& query) const;
  Result<std::vector<VectorIndex::Found>> by_vector(const MemoryQuery& query) const;
  // Adds chunks that are related to those found.
  Status add_related(const MemoryQuery& query, std::vector<FoundChunk>& found) const;
  Status remember(const MemoryQuery& query, std::span<const FoundChunk> found) const;
  // Edges of chunks to each other and to those with near vectors, in the caller's transaction.
  Status link_chunks(std::span<const int64_t> ids, bool is_document);
  // The same for chunks of an older version.
  Status link_older_chunks();
  // Fills in the chunk of an id.
  Result<bool> read_chunk(FoundChunk& chunk) const;

  MemoryStoreOptions options_;
  mutable Mutex using_;  // the database
  mutable Database database_;
  std::unique_ptr<DiskVectors> index_;
  bool was_closed_ = false;
  bool is_clean_ = true;  // false: there are vectors without a chunk, to be removed at open()

  mutable Mutex searches_lock_;
  mutable std::vector<std::unique_ptr<DiskVectors::Search>> searches_;  // that no search uses now
};

}  // namespace ruv
