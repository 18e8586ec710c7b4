// /v1/memory: documents of a tenant that are found by meaning and by words.
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

std::vector<Route> memory_routes(ServedModels& models);

}  // namespace ruv
