#include "registry_model.h"

#include <fmt/format.h>

#include <cstdlib>

#include "hub_access.h"
#include "model_defaults.h"
#include "terminal.h"
#include "transfer_progress.h"

namespace ruv {
namespace {

Result<RegistryModel> registry_model(const RegistryReference& reference, const RemoteCall& call) {
  const RegistryStore store(TRY(ollama_models_folder()));
  if (hub_is_offline() || call.prefer_local) {
    Result<RegistryModel> found = find_in_registry_store(store, reference);
    const bool is_absent = !found && found.error().code() == Code::not_found;
    if (!is_absent) return found;
    if (hub_is_offline()) return tl::unexpected(offline_failure(found.error()));
    if (!is_quiet())
      fmt::print(stderr, "ruvllm: {} is not here: fetching it\n", text_of(reference));
  }
  TRY(HttpClient::check_available());
  HubHttp::Options http_options;
  http_options.endpoint = endpoint_of(reference);
  const Cancellation cancellation;
  HubHttp http(std::move(http_options), cancellation);
  AwaitedTransfer transfer(call.progress_lines);
  const PullOptions options{static_cast<int>(call.connections), transfer.watch()};
  return pull_from_registry(http, store, reference, options);
}

}  // namespace

Result<std::string> ollama_models_folder() {
  const char* const folder = std::getenv("OLLAMA_MODELS");
  if (folder != nullptr && *folder != '\0') return std::string(folder);
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    return fail(Code::invalid, "there is no home directory: set OLLAMA_MODELS");
  return std::string(home) + "/.ollama/models";
}

Result<FetchedModel> fetch_registry_model(const RegistryReference& reference,
                                          const RemoteCall& call) {
  RegistryModel model = TRY(registry_model(reference, call));
  FetchedModel fetched;
  fetched.pulled = std::move(model.pulled);
  fetched.unused = model.usage.unused;
  fetched.defaults = defaults_of(model.usage, fetched.unused);
  return fetched;
}

}  // namespace ruv
