// What a store in PostgreSQL says of its documents; and what a build without libpq does instead.
#include "memory/postgres_store.h"

#include "memory/postgres_wire.h"
#ifdef RUV_HAS_LIBPQ
#include "memory/document_checks.h"
#include "memory/store_schema.h"
#endif

namespace ruv {

bool PostgresStore::is_url(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

#ifdef RUV_HAS_LIBPQ
namespace {

constexpr const char* kPostgresDocument =
    "SELECT id, name, metadata, added_s, n_bytes,"
    " (SELECT count(*) FROM chunks WHERE document = documents.id) FROM documents ";

// A row of these columns. Metadata are parsed from the text that was kept, not from jsonb, so that
// they are what was added. Fails: corrupt.
Result<StoredDocument> read_postgres_row(const PostgresRows& rows, int64_t row) {
  StoredDocument one;
  one.id = TRY(rows.integer(row, 0));
  one.name = rows.text(row, 1);
  one.metadata = TRY(parse_json(rows.text(row, 2), one.name));
  one.added_s = TRY(rows.integer(row, 3));
  one.n_bytes = TRY(rows.integer(row, 4));
  one.n_chunks = TRY(rows.integer(row, 5));
  return one;
}

}  // namespace

Result<std::vector<StoredDocument>> PostgresStore::list(std::string_view after,
                                                        int64_t most) const {
  PostgresValues values;
  const std::string name = values.text(after), limit = values.number(most);
  const Lock held(using_);
  const PostgresRows rows = TRY(wire_->ask(
      fmt::format("{} WHERE name > {} ORDER BY name LIMIT {}", kPostgresDocument, name, limit),
      values));
  std::vector<StoredDocument> documents;
  for (int64_t i = 0; i < rows.size(); ++i) documents.push_back(TRY(read_postgres_row(rows, i)));
  return documents;
}

Result<std::optional<StoredDocument>> PostgresStore::find(std::string_view name) const {
  if (name.find('\0') != name.npos) return std::optional<StoredDocument>();
  PostgresValues values;
  const std::string key = values.text(name);
  const Lock held(using_);
  const PostgresRows rows =
      TRY(wire_->ask(fmt::format("{} WHERE name = {}", kPostgresDocument, key), values));
  if (rows.size() == 0) return std::optional<StoredDocument>();
  return std::optional<StoredDocument>(TRY(read_postgres_row(rows, 0)));
}

// The document, its chunks and their vectors are of one moment, as the transaction reads none but
// what was there when it began. Vectors come as bytes: as digits they would be thrice as long.
Result<std::optional<KeptDocument>> PostgresStore::read_document(const std::string& condition,
                                                                 const PostgresValues& values,
                                                                 bool with_vectors) const {
  PostgresTransaction view = TRY(PostgresTransaction::begin_view(*wire_));
  const PostgresRows found = TRY(wire_->ask(kPostgresDocument + condition, values));
  if (found.size() == 0) return std::optional<KeptDocument>();
  StoredDocument stored = TRY(read_postgres_row(found, 0));
  KeptDocument kept;
  kept.id = stored.id;
  kept.name = std::move(stored.name);
  kept.metadata = std::move(stored.metadata);
  kept.added_s = stored.added_s;
  kept.n_bytes = stored.n_bytes;
  PostgresValues id;
  const std::string of_document =
      " FROM chunks WHERE document = " + id.number(kept.id) + " ORDER BY place";
  const PostgresRows rows =
      TRY(wire_->ask("SELECT first, stop, headings, page, text, hash" + of_document, id));
  for (int64_t i = 0; i < rows.size(); ++i) {
    kept.chunks.push_back({TRY(rows.integer(i, 0)), TRY(rows.integer(i, 1)),
                           std::string(rows.text(i, 2)), TRY(rows.integer(i, 3))});
    kept.texts.emplace_back(rows.text(i, 4));
    const int64_t hash = hash_of_chunk(kept.id, kept.chunks.back(), kept.texts.back());
    if (hash == TRY(rows.integer(i, 5))) continue;
    return fail(Code::corrupt, "chunk {} of {} is damaged; add the document again", i + 1,
                kept.name);
  }
  if (!with_vectors) return kept;
  const PostgresRows vectors =
      TRY(wire_->ask("SELECT vector_send(vector)" + of_document, id, true));
  for (int64_t i = 0; i < vectors.size(); ++i) {
    TRY(vectors.append_vector(i, 0, kind_.n_dims, kept.vectors));
  }
  return kept;
}

Result<std::optional<KeptDocument>> PostgresStore::next_document(int64_t after,
                                                                 bool with_vectors) const {
  PostgresValues values;
  const std::string first = values.number(after);
  const Lock held(using_);
  return read_document("WHERE id > " + first + " ORDER BY id LIMIT 1", values, with_vectors);
}

Result<PostgresStore::Known> PostgresStore::known(const NewDocument& document) const {
  if (document.name.find('\0') != std::string::npos) return known_chunks(document, {}, {});
  PostgresValues values;
  const std::string name = values.text(document.name);
  const Lock held(using_);
  const auto kept = TRY(read_document("WHERE name = " + name, values, true));
  const auto n_dims = static_cast<size_t>(kind_.n_dims);
  return known_chunks(document, kept.value_or(KeptDocument()), [&](size_t i) {
    const auto vector = std::span(kept->vectors).subspan(i * n_dims, n_dims);
    return std::vector<float>(vector.begin(), vector.end());
  });
}

#else

// There is never a connection in such a build.
PostgresWire::~PostgresWire() = default;

namespace {

Status no_libpq() {
  return fail(Code::unsupported,
              "stores in PostgreSQL are not in this build; build it with libpq (libpq-dev)");
}

}  // namespace

PostgresStore::PostgresStore(std::unique_ptr<PostgresWire>, Kind) {}
PostgresStore::~PostgresStore() = default;
Result<std::unique_ptr<PostgresStore>> PostgresStore::open(const PostgresStoreOptions&) {
  return tl::unexpected(no_libpq());
}
Result<PostgresStore::Kind> PostgresStore::kind_of(const std::string&) {
  return tl::unexpected(no_libpq());
}
Result<std::string> PostgresStore::shown_url(const std::string&) {
  return tl::unexpected(no_libpq());
}
Result<int64_t> PostgresStore::add(const NewDocument&, WorkerPool&) {
  return tl::unexpected(no_libpq());
}
Result<bool> PostgresStore::remove(std::string_view, WorkerPool&) {
  return tl::unexpected(no_libpq());
}
Result<std::vector<FoundChunk>> PostgresStore::search(const MemoryQuery&) const {
  return tl::unexpected(no_libpq());
}
Result<std::vector<StoredDocument>> PostgresStore::list(std::string_view, int64_t) const {
  return tl::unexpected(no_libpq());
}
Result<std::optional<StoredDocument>> PostgresStore::find(std::string_view) const {
  return tl::unexpected(no_libpq());
}
Result<std::optional<KeptDocument>> PostgresStore::next_document(int64_t, bool) const {
  return tl::unexpected(no_libpq());
}
Result<PostgresStore::Known> PostgresStore::known(const NewDocument&) const {
  return tl::unexpected(no_libpq());
}
Result<PostgresStore::Stats> PostgresStore::stats() const { return tl::unexpected(no_libpq()); }

#endif

}  // namespace ruv
