#include "remote_model.h"

#include <fmt/format.h>

#include "hub_access.h"
#include "terminal.h"
#include "transfer_progress.h"

namespace ruv {

Result<PulledModel> fetch_remote(const HubReference& reference, const RemoteCall& call) {
  if (hub_is_offline() || call.prefer_local) {
    Result<PulledModel> found = find_pulled(HubCache(TRY(hub_cache_folder())), reference);
    // A content that a loss of power damaged was removed, and is fetched like one that never was.
    const bool is_gone = !found && (found.error().code() == Code::not_found ||
                                    found.error().code() == Code::corrupt);
    if (!is_gone) return found;
    if (hub_is_offline()) return tl::unexpected(offline_failure(found.error()));
    if (!is_quiet())
      fmt::print(stderr, "ruvllm: {} is not here: fetching it\n", text_of(reference));
  }
  TRY(HttpClient::check_available());
  const std::unique_ptr<HubAccess> hub = TRY(open_hub());
  AwaitedTransfer transfer(call.progress_lines);
  const PullOptions options{static_cast<int>(call.connections), transfer.watch()};
  return pull_model(hub->http, hub->cache, reference, options);
}

}  // namespace ruv
