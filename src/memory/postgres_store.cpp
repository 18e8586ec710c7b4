// Opening a store in PostgreSQL, and its changes, each of which is one transaction.
#ifdef RUV_HAS_LIBPQ
#include "memory/postgres_store.h"

#include "base/clock.h"
#include "memory/document_checks.h"
#include "memory/hnsw.h"
#include "memory/postgres_schema.h"
#include "memory/postgres_wire.h"
#include "memory/store_schema.h"

namespace ruv {
namespace {

// An entry of a B-tree has at most a third of a page of 8 KB, and a little is not the name's.
constexpr size_t kMostIndexedName = 2600;
// Chunks of one statement: more save round trips, and take the memory of their vectors as text.
constexpr size_t kInsertedAtOnce = 64;

Status check_postgres_kind(const PostgresWire& wire, const DocumentStore::Kind& has,
                           const DocumentStore::Kind& wanted) {
  if (!DocumentStore::is_same_model(has, wanted)) {
    return fail(Code::invalid, "{}: its vectors are of another model: {}; this one is {}",
                wire.shown_url(), has.embedder, wanted.embedder);
  }
  if (has.n_dims == wanted.n_dims) return {};
  return fail(Code::invalid, "{}: its vectors have {} numbers, not {}", wire.shown_url(),
              has.n_dims, wanted.n_dims);
}

// Vectors are kept as they are given: cosines do not see their lengths.
Status check_directions(std::span<const float> vectors, int64_t n_dims) {
  std::vector<float> row;
  for (int64_t at = 0; at < std::ssize(vectors); at += n_dims) {
    const auto one = vectors.subspan(static_cast<size_t>(at), static_cast<size_t>(n_dims));
    row.assign(one.begin(), one.end());
    if (normalise(row)) continue;
    return fail(Code::invalid, "vector {}: it has no length, and so no direction", at / n_dims);
  }
  return {};
}

}  // namespace

PostgresStore::PostgresStore(std::unique_ptr<PostgresWire> wire, Kind kind)
    : wire_(std::move(wire)), kind_(std::move(kind)) {}
PostgresStore::~PostgresStore() = default;

Result<std::string> PostgresStore::shown_url(const std::string& url) {
  return url_without_secrets(url);
}

Result<PostgresStore::Kind> PostgresStore::kind_of(const std::string& url) {
  return read_postgres_kind(*TRY(PostgresWire::open(url)));
}

// The tables may be there already, or be made by another process at this moment: what they say of
// the model is read in any case.
Result<std::unique_ptr<PostgresStore>> PostgresStore::open(const PostgresStoreOptions& options) {
  auto wire = TRY(PostgresWire::open(options.url));
  TRY(prepare_postgres(*wire, options.kind));
  TRY(check_postgres_kind(*wire, TRY(read_postgres_kind(*wire)), options.kind));
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(wire), options.kind));
}

Status PostgresStore::insert_chunks(const NewDocument& document, int64_t id) {
  const auto n_dims = static_cast<size_t>(kind_.n_dims);
  for (size_t first = 0; first < document.chunks.size(); first += kInsertedAtOnce) {
    PostgresValues values;
    std::string rows;
    const size_t end = std::min(document.chunks.size(), first + kInsertedAtOnce);
    for (size_t i = first; i < end; ++i) {
      const TextChunk& chunk = document.chunks[i];
      const std::string_view text = text_of_chunk(document, i);
      const std::string vector = values.vector(document.vectors.subspan(i * n_dims, n_dims));
      rows += rows.empty() ? "(" : ", (";
      for (const int64_t number : {id, static_cast<int64_t>(i), chunk.first, chunk.end, chunk.page,
                                   hash_of_chunk(id, chunk, text)}) {
        rows += values.number(number) + ", ";
      }
      rows += values.text(chunk.headings) + ", ";
      rows += values.text(text) + ", " + vector + "::vector)";
    }
    TRY(
        wire_->ask("INSERT INTO chunks(document, place, first, stop, page, hash, headings, text,"
                   " vector) VALUES " +
                       rows,
                   values));
  }
  return {};
}

// Processes that add a document of one name wait for each other by a lock on the hash of the name,
// which ends with the transaction: none of them sees that the name is taken.
Result<int64_t> PostgresStore::add(const NewDocument& document, WorkerPool&) {
  TRY(check_document(document, kind_.n_dims));
  const std::string metadata = TRY(written_metadata(document.metadata));
  if (document.name.size() > kMostIndexedName) {
    return fail(Code::unsupported, "a name of {} bytes; a store in PostgreSQL takes up to {}",
                document.name.size(), kMostIndexedName);
  }
  TRY(check_directions(document.vectors, kind_.n_dims));
  const Lock held(using_);
  PostgresTransaction change = TRY(PostgresTransaction::begin(*wire_));
  PostgresValues name;
  const std::string key = name.text(document.name);
  TRY(wire_->ask(fmt::format("SELECT pg_advisory_xact_lock(1920300653, hashtext({}))", key), name));
  TRY(wire_->ask("DELETE FROM documents WHERE name = " + key, name));
  PostgresValues values;
  const std::string named = values.text(document.name), kept = values.text(metadata);
  const std::string added = values.number(document.added_s > 0 ? document.added_s : unix_seconds());
  const std::string n_bytes = values.number(text_bytes(document));
  const PostgresRows row = TRY(wire_->ask(
      fmt::format("INSERT INTO documents(name, metadata, fields, added_s, n_bytes) VALUES"
                  " ({}, {}, {}::jsonb, {}, {}) RETURNING id",
                  named, kept, kept, added, n_bytes),
      values));
  const int64_t id = TRY(row.integer(0, 0));
  TRY(insert_chunks(document, id));
  TRY(change.commit());
  return id;
}

Result<bool> PostgresStore::remove(std::string_view name, WorkerPool&) {
  if (name.find('\0') != name.npos) return false;
  const Lock held(using_);
  PostgresValues values;
  const std::string key = values.text(name);
  const PostgresRows rows =
      TRY(wire_->ask("DELETE FROM documents WHERE name = " + key + " RETURNING id", values));
  return rows.size() > 0;
}

Result<PostgresStore::Stats> PostgresStore::stats() const {
  const Lock held(using_);
  const PostgresRows rows =
      TRY(wire_->ask("SELECT count(*), coalesce(sum(n_bytes), 0)::bigint,"
                     " (SELECT count(*) FROM chunks) FROM documents"));
  Stats stats;
  stats.embedder = kind_.embedder;
  stats.n_dims = kind_.n_dims;
  stats.n_documents = TRY(rows.integer(0, 0));
  stats.n_text_bytes = TRY(rows.integer(0, 1));
  stats.n_chunks = TRY(rows.integer(0, 2));
  stats.n_vectors = stats.n_chunks;
  return stats;
}

}  // namespace ruv
#endif
