// Documents of a store as lines of JSON, which another store can take
// (docs/formats/memory-lines.md).
#pragma once

#include "memory/document_store.h"

namespace ruv {

// The first line of a file.
struct LinesHead {
  DocumentStore::Kind kind;  // of the store that they are from
  bool has_vectors = false;
};

Json head_line(const LinesHead& head);
// Fails: invalid (a member is missing, unknown or wrong, by name), unsupported (of a newer
// version).
Result<LinesHead> read_head_line(const Json& line);

// The line of a document, whose id is not written. Its vectors are, where it has any.
Json document_line(const KeptDocument& document, int64_t n_dims);
// n_dims: numbers of each chunk's vector; 0: there are no vectors. Fails: invalid (a member is
// missing, unknown or wrong, by name). What a store refuses else, DocumentStore::add says.
Result<KeptDocument> read_document_line(const Json& line, int64_t n_dims);

}  // namespace ruv
