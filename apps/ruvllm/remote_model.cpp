#include "remote_model.h"

#include <fmt/format.h>

#include "hub_access.h"
#include "terminal.h"
#include "transfer_progress.h"

namespace ruv {
namespace {

Result<PulledModel> fetch_from_hub(const HubReference& reference, const RemoteCall& call) {
  if (hub_is_offline()) return find_pulled(HubCache(TRY(hub_cache_folder())), reference);
  TRY(HttpClient::check_available());
  const std::unique_ptr<HubAccess> hub = TRY(open_hub());
  const InterruptScope ctrl_c;
  TransferProgress progress(call.progress_lines);
  PullOptions options;
  options.connections = static_cast<int>(call.connections);
  options.watch = [&](const TransferState& state) {
    progress.show(state);
    return !ctrl_c.interrupted();
  };
  return pull_model(hub->http, hub->cache, reference, options);
}

}  // namespace

Result<PulledModel> fetch_remote(const std::string& name, const RemoteCall& call) {
  return fetch_from_hub(TRY(read_hub_reference(name)), call);
}

}  // namespace ruv
