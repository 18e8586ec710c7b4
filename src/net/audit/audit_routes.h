// /v1/audit: what a server's audit log has.
#pragma once

#include <vector>

#include "net/http/router.h"
#include "net/models/served_models.h"
#include "net/openai/fields.h"

namespace ruv {

// The body of POST /v1/audit/ratings.
const BodyTable& rating_fields();

std::vector<Route> audit_routes(ServedModels& models);

}  // namespace ruv
