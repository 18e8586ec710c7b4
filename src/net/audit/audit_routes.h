// /v1/audit: what a server's audit log has.
#pragma once

#include <vector>

#include "net/http/router.h"
#include "net/models/served_models.h"

namespace ruv {

std::vector<Route> audit_routes(ServedModels& models);

}  // namespace ruv
