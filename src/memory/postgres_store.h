// PostgresStore: documents in a database of PostgreSQL with the extension pgvector, for stores that
// several machines use, or that are larger than one.
//
// All is in the database's schema ruvllm_memory: documents, their chunks, an index of the chunks'
// words (GIN) and one of their vectors (HNSW). A change is one transaction of the server. What is
// found by vectors is what pgvector's graph finds: that depends on the timing of changes, too.
#pragma once

#include <memory>
#include <string>

#include "base/thread.h"
#include "memory/document_store.h"

namespace ruv {

class PostgresWire;
class PostgresRows;

struct PostgresStoreOptions {
  std::string url;  // postgresql://user@host:port/database
  // The model whose vectors it has; a store keeps the first one, as MemoryStoreOptions says.
  DocumentStore::Kind kind = {};
};

class PostgresStore : public DocumentStore {
 public:
  // Whether a store's name is a URL that this class reads.
  static bool is_url(std::string_view place);
  // Makes the schema where it is missing. Fails: unsupported (a build without libpq, no pgvector, a
  // newer version), invalid (the URL; another model), unavailable, as the server.
  static Result<std::unique_ptr<PostgresStore>> open(const PostgresStoreOptions& options);
  // What a store that exists has. Fails: not_found, as open().
  static Result<Kind> kind_of(const std::string& url);
  // As a URL is shown: without password and options. Fails: invalid, unsupported (no libpq).
  static Result<std::string> shown_url(const std::string& url);
  ~PostgresStore() override;

  // All calls may come from any thread, and wait for each other. Changes of several processes to
  // one document wait for each other, too.

  // Fails also: unsupported (a name of more than 2600 bytes, which an index of PostgreSQL does not
  // take), invalid (text or metadata with NUL, or that are not UTF-8).
  Result<int64_t> add(const NewDocument& document, WorkerPool& pool) override;
  Result<bool> remove(std::string_view name, WorkerPool& pool) override;
  // Fails also: unsupported (n_related, remembers: it has no edges).
  Result<std::vector<FoundChunk>> search(const MemoryQuery& query) const override;
  Result<std::vector<StoredDocument>> list(std::string_view after, int64_t most) const override;
  Result<std::optional<StoredDocument>> find(std::string_view name) const override;
  Result<std::optional<KeptDocument>> next_document(int64_t after,
                                                    bool with_vectors) const override;
  Result<Known> known(const NewDocument& document) const override;
  // n_bytes, n_damaged and n_edges are 0.
  Result<Stats> stats() const override;
  Kind kind() const override { return kind_; }

 private:
  PostgresStore(std::unique_ptr<PostgresWire> wire, Kind kind);
  // In the caller's transaction.
  Status insert_chunks(const NewDocument& document, int64_t id);
  Status rank_words(const MemoryQuery& query, class RankedChunks& ranked) const;
  Status rank_vectors(const MemoryQuery& query, class RankedChunks& ranked) const;
  Result<PostgresRows> near(const MemoryQuery& query, std::span<const float> vector,
                            bool exactly) const;
  Result<std::vector<FoundChunk>> read_chunks(std::vector<FoundChunk> order) const;
  // The first that the condition takes, whole.
  Result<std::optional<KeptDocument>> read_document(const std::string& condition,
                                                    const class PostgresValues& values,
                                                    bool with_vectors) const;

  mutable Mutex using_;
  std::unique_ptr<PostgresWire> wire_;
  Kind kind_;
};

}  // namespace ruv
