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

#include "base/thread.h"
#include "memory/database.h"
#include "memory/disk_vectors.h"
#include "memory/document_store.h"
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

class MemoryStore : public DocumentStore {
 public:
  // Makes a store, or opens it. Fails: invalid (of another model), unavailable (another
  // process has it), corrupt, unsupported (of a newer version), out_of_memory, as files. Invalid
  // are also a plain store with a key, an encrypted one without, and another key.
  static Result<std::unique_ptr<MemoryStore>> open(const MemoryStoreOptions& options,
                                                   WorkerPool& pool);
  // Writes what makes the next opening fast.
  ~MemoryStore() override;
  // The embedder and the length of the vectors of a store that exists. Fails: not_found, corrupt,
  // invalid (the key), unavailable (encrypted, and another process has it).
  static Result<Kind> kind_of(const std::string& folder, const std::optional<SealKey>& key = {});
  // Puts another key of the user's in the place of the first, for a store that may be open; nothing
  // but store.key is written. Fails: as rewrap_store_key.
  static Status change_key(const std::string& folder, const SealKey& from, const SealKey& to);

  // All calls may come from any thread; changes wait for each other.
  Result<int64_t> add(const NewDocument& document, WorkerPool& pool) override;
  Result<bool> remove(std::string_view name, WorkerPool& pool) override;
  Result<std::vector<FoundChunk>> search(const MemoryQuery& query) const override;
  Result<std::vector<StoredDocument>> list(std::string_view after, int64_t most) const override;
  Result<std::optional<StoredDocument>> find(std::string_view name) const override;
  Result<std::optional<KeptDocument>> next_document(int64_t after,
                                                    bool with_vectors) const override;
  Result<Known> known(const NewDocument& document) const override;
  Result<Stats> stats() const override;
  Kind kind() const override { return {options_.embedder, options_.n_dims, options_.probe}; }
  // Puts other metadata in the place of a document's. False: there is none of this name. Fails:
  // invalid, as files.
  Result<bool> set_metadata(std::string_view name, const Json& metadata);

  // Memory of the vectors, their codes and graph, in bytes. Requires: no change runs.
  int64_t n_bytes() const { return index_->n_bytes(); }
  VectorCodes codes() const { return index_->codes(); }
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
