// The tables of a store in PostgreSQL.
#pragma once

#include <string>

#include "memory/document_store.h"
#include "memory/postgres_wire.h"

namespace ruv {

// Above all sizes that pgvector's graphs take: longer vectors are compared one by one.
inline constexpr int64_t kMostGraphDims = 2000;

// What a store that exists has. Fails: not_found (there is none), unsupported (of a newer version),
// corrupt, as PostgresWire::ask. Names of tables are found in its schema afterwards.
Result<DocumentStore::Kind> read_postgres_kind(PostgresWire& wire);
// Makes the tables for a model's vectors, where they are missing, in one transaction: two processes
// may try at once. Fails: unsupported (no pgvector, by name), as read_postgres_kind.
Status prepare_postgres(PostgresWire& wire, const DocumentStore::Kind& kind);

}  // namespace ruv
