#ifdef RUV_HAS_LIBPQ
#include "memory/postgres_schema.h"

#include <bit>
#include <charconv>

namespace ruv {
namespace {

constexpr int64_t kPostgresVersion = 1;
constexpr int64_t kMostVectorDims = 16'000;  // as many as pgvector keeps
// Held while the tables are made; the server knows a lock by numbers, which are "ruvm" and 0.
constexpr const char* kSchemaLock = "SELECT pg_advisory_xact_lock(1920300653, 0)";  // "ruvm"

// Metadata are kept as they came, which jsonb does not: its numbers and the order of its members
// are its own. Names are compared byte by byte.
constexpr const char* kPostgresTables = R"(
CREATE SCHEMA IF NOT EXISTS ruvllm_memory;
CREATE TABLE ruvllm_memory.about(key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE ruvllm_memory.documents(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
  metadata text NOT NULL, fields jsonb NOT NULL, added_s bigint NOT NULL,
  n_bytes bigint NOT NULL);
)";
// With the length of vectors in the place of {}.
constexpr const char* kPostgresChunks = R"(
CREATE TABLE ruvllm_memory.chunks(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document bigint NOT NULL REFERENCES ruvllm_memory.documents(id) ON DELETE CASCADE,
  place bigint NOT NULL, first bigint NOT NULL, stop bigint NOT NULL, headings text NOT NULL,
  text text NOT NULL, page bigint NOT NULL, hash bigint NOT NULL, vector vector({}) NOT NULL,
  words tsvector NOT NULL GENERATED ALWAYS AS
    (to_tsvector('pg_catalog.simple'::regconfig, headings || ' ' || text)) STORED,
  UNIQUE (document, place));
CREATE INDEX chunks_words ON ruvllm_memory.chunks USING gin (words);
)";

// Tables are those of the store's schema; pgvector may be in any other.
Status set_search_path(PostgresWire& wire) {
  const PostgresRows rows = TRY(
      wire.ask("SELECT set_config('search_path', 'ruvllm_memory, ' || extnamespace::regnamespace,"
               " false) FROM pg_extension WHERE extname = 'vector'"));
  if (rows.size() > 0) return {};
  return fail(Code::unsupported,
              "{}: the database lacks pgvector; its administrator adds it: CREATE EXTENSION vector",
              wire.shown_url());
}

// Has 8 hexadecimal digits for each number, so that none changes.
std::string probe_text(std::span<const float> probe) {
  std::string text;
  for (const float number : probe) text += fmt::format("{:08x}", std::bit_cast<uint32_t>(number));
  return text;
}

Result<std::vector<float>> read_probe(std::string_view text) {
  std::vector<float> probe;
  for (size_t at = 0; at < text.size(); at += 8) {
    const std::string_view digits = text.substr(at, 8);
    uint32_t bits = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (read.ec != std::errc() || read.ptr != digits.data() + 8) {
      return fail(Code::corrupt, "about.probe: not numbers");
    }
    probe.push_back(std::bit_cast<float>(bits));
  }
  return probe;
}

Status put_about_row(PostgresWire& wire, std::string_view key, std::string_view value) {
  PostgresValues values;
  const std::string first = values.text(key), second = values.text(value);
  TRY(wire.ask(fmt::format("INSERT INTO ruvllm_memory.about VALUES ({}, {})", first, second),
               values));
  return {};
}

// Runs in a transaction of the caller's. pgvector comes first, as the tables use its types.
Status make_tables(PostgresWire& wire, const DocumentStore::Kind& kind) {
  const auto extension = wire.run("CREATE EXTENSION IF NOT EXISTS vector");
  if (!extension.ok()) {
    return fail(Code::unsupported,
                "{}; the store needs pgvector, which the server's administrator installs",
                extension.message());
  }
  TRY(wire.run(kPostgresTables));
  TRY(set_search_path(wire));
  TRY(wire.run(fmt::format(fmt::runtime(kPostgresChunks), kind.n_dims)));
  if (kind.n_dims <= kMostGraphDims) {
    TRY(
        wire.run("CREATE INDEX chunks_vector ON ruvllm_memory.chunks USING hnsw"
                 " (vector vector_cosine_ops)"));
  }
  TRY(put_about_row(wire, "version", std::to_string(kPostgresVersion)));
  TRY(put_about_row(wire, "embedder", kind.embedder));
  TRY(put_about_row(wire, "n_dims", std::to_string(kind.n_dims)));
  return put_about_row(wire, "probe", probe_text(kind.probe));
}

// A look at the catalogue's rows: names that a session has looked up before are remembered, and
// missing ones, too, until its next transaction.
Result<bool> has_tables(PostgresWire& wire) {
  const PostgresRows rows = TRY(
      wire.ask("SELECT FROM pg_tables WHERE schemaname = 'ruvllm_memory' AND tablename = 'about'"));
  return rows.size() > 0;
}

}  // namespace

Result<DocumentStore::Kind> read_postgres_kind(PostgresWire& wire) {
  if (!TRY(has_tables(wire))) {
    return fail(Code::not_found, "{}: no memory store; `ruvllm memory add` makes one",
                wire.shown_url());
  }
  const PostgresRows rows = TRY(wire.ask("SELECT key, value FROM ruvllm_memory.about"));
  DocumentStore::Kind kind;
  int64_t version = 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const std::string_view key = rows.text(i, 0);
    if (key == "version") version = TRY(rows.integer(i, 1));
    if (key == "embedder") kind.embedder = rows.text(i, 1);
    if (key == "n_dims") kind.n_dims = TRY(rows.integer(i, 1));
    if (key == "probe") kind.probe = TRY(read_probe(rows.text(i, 1)));
  }
  if (version != kPostgresVersion) {
    return fail(Code::unsupported, "{}: version {} of a store; this program reads {}",
                wire.shown_url(), version, kPostgresVersion);
  }
  if (kind.n_dims < 1 || kind.n_dims > kMostVectorDims) {
    return fail(Code::corrupt, "{}: vectors of {} numbers", wire.shown_url(), kind.n_dims);
  }
  TRY(set_search_path(wire));
  return kind;
}

Status prepare_postgres(PostgresWire& wire, const DocumentStore::Kind& kind) {
  if (TRY(has_tables(wire))) return {};
  if (kind.n_dims < 1 || kind.n_dims > kMostVectorDims) {
    return fail(Code::unsupported, "vectors of {} numbers; pgvector keeps 1 to {}", kind.n_dims,
                kMostVectorDims);
  }
  PostgresTransaction change = TRY(PostgresTransaction::begin(wire));
  TRY(wire.run(kSchemaLock));
  if (!TRY(has_tables(wire))) TRY(make_tables(wire, kind));
  return change.commit();
}

}  // namespace ruv
#endif
