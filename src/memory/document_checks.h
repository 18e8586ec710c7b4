// What all stores check of a document that is added, and find out of one that they have.
#pragma once

#include <functional>

#include "memory/document_store.h"

namespace ruv {

// The bytes of the whole document, its text known or not.
int64_t text_bytes(const NewDocument& document);
// Requires: check_document.
std::string_view text_of_chunk(const NewDocument& document, size_t i);
// Fails: invalid (its name, or what of its chunks, texts and vectors does not fit together).
Status check_document(const NewDocument& document, int64_t n_dims);
// Metadata as they are kept. Fails: invalid (not an object, longer than 1 MB).
Result<std::string> written_metadata(const Json& metadata);

// What of a document is kept; `kept.id` is 0 where nothing is. `vector_of` gives the vector of a
// kept chunk by its place, or nothing where there is none.
DocumentStore::Known known_chunks(const NewDocument& document, const KeptDocument& kept,
                                  const std::function<std::vector<float>(size_t)>& vector_of);

}  // namespace ruv
