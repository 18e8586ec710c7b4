// Compiled apart from the other sources: RUV_HAS_GRPC is defined for this one only.
#include "grpc_door.h"

#include "net/http/endpoint.h"
#include "net/openai/routes.h"

namespace ruv {

#if defined(RUV_HAS_GRPC)

Result<std::unique_ptr<RpcServer>> open_grpc(const std::string& where, const TlsFiles& tls,
                                             HttpServer& server, const ServerOptions& options,
                                             const ServedModels& models) {
  const Endpoint endpoint = TRY(parse_endpoint(where));
  return RpcServer::create(
      server, options,
      {.host = endpoint.host, .port = endpoint.port, .tls = tls, .is_ready = [&models] {
         return served_condition(models).ok();
       }});
}

#else

Result<std::unique_ptr<RpcServer>> open_grpc(const std::string&, const TlsFiles&, HttpServer&,
                                             const ServerOptions&, const ServedModels&) {
  return fail(Code::unsupported,
              "--grpc: this program was built without gRPC; configure with -DRUV_GRPC=ON");
}

#endif

}  // namespace ruv
