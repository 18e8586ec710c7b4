// Documents of a tenant that are found by meaning and by words: /v1/memory, and OpenAI's /v1/files
// and /v1/vector_stores.
#pragma once

#include <vector>

#include "net/http/router.h"
#include "net/models/served_models.h"
#include "net/openai/fields.h"

namespace ruv {

// The bodies of POST /v1/memory/documents, /v1/memory/search and /v1/memory/context.
const BodyTable& memory_document_fields();
const BodyTable& memory_search_fields();
const BodyTable& memory_context_fields();

// The bodies of POST /v1/vector_stores, …/{id}, …/{id}/files, …/{id}/files/{file_id} and
// …/{id}/search.
const BodyTable& vector_store_fields();
const BodyTable& vector_store_change_fields();
const BodyTable& vector_store_file_fields();
const BodyTable& vector_store_file_change_fields();
const BodyTable& vector_store_search_fields();
// The body of POST /v1/vector_stores/{id}/file_batches.
const BodyTable& file_batch_fields();

std::vector<Route> memory_routes(ServedModels& models);
// Files are forms, so that their fields are in no table.
std::vector<Route> file_routes(ServedModels& models);
std::vector<Route> vector_store_routes(ServedModels& models);
std::vector<Route> file_batch_routes(ServedModels& models);

}  // namespace ruv
