// What the environment says about hubs of models, and a connection to one made of it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hub/hub_cache.h"
#include "hub/hub_http.h"
#include "tools/cancellation.h"

namespace ruv {

// HF_HUB_CACHE, else $HF_HOME/hub, else ~/.cache/huggingface/hub. Fails: invalid (no home).
Result<std::string> hub_cache_folder();
// HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE: nothing may be asked of a hub.
bool hub_is_offline();
// What the user can do about a model that is not here: hub_is_offline() keeps it from being
// fetched.
Status offline_failure(const Status& not_here);

// A hub with the cache of its models. Its cancellation is raised by no one but the owner.
struct HubAccess {
  Cancellation cancellation;
  HubCache cache;
  HubHttp http;
  HubAccess(std::string folder, HubHttp::Options options)
      : cache(std::move(folder)), http(std::move(options), cancellation) {}
};
// HF_ENDPOINT, HF_TOKEN or the file that `hf auth login` writes; the token is sent over https, or
// to this machine. A connection without a byte for stall_s seconds counts as broken. Fails: invalid
// (what a variable says), unsupported (no libcurl).
Result<std::unique_ptr<HubAccess>> open_hub(int64_t stall_s = 30);

}  // namespace ruv
