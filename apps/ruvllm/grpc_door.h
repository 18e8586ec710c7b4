// The gRPC server beside the HTTP server, in builds that have it (RUV_GRPC).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/http/server.h"
#include "net/models/served_models.h"
#include "rpc/rpc_server.h"

namespace ruv {

// Listens on `where`, "HOST:PORT", for the routes of `server`, which was made with `options`. The
// models are asked whether they take requests. Fails: unsupported (the build has no gRPC), invalid,
// unavailable (the port is in use).
Result<std::unique_ptr<RpcServer>> open_grpc(const std::string& where, const TlsFiles& tls,
                                             HttpServer& server, const ServerOptions& options,
                                             const ServedModels& models);

}  // namespace ruv
