#include "ruv/adapter_registry.h"

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/thread.h"
#include "model/adapter_load.h"

namespace ruv {
namespace {

constexpr size_t kMaxNameBytes = 256;

Status check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes) return {};
  return fail(Code::invalid, "adapter: a name has 1 to {} bytes, not {}", kMaxNameBytes,
              name.size());
}

Status unknown(std::string_view name) {
  return fail(Code::not_found, "adapter '{}' is not loaded", name);
}

}  // namespace

struct AdapterRegistry::State {
  struct NamedAdapter {
    AdapterInfo info = {};
    uint64_t generation = 0;
    std::vector<FileStamp> stamps = {};
    std::shared_ptr<const LoadedAdapter> loaded = nullptr;  // null: on disk only
    uint64_t used = 0;                                      // the larger, the later

    AdapterRecord record(std::string_view name) const {
      return {std::string(name), info, generation, loaded != nullptr};
    }
  };
  using Adapters = std::map<std::string, NamedAdapter, std::less<>>;

  // What has the name, if it was read from the same files as they are now; else null. Requires: the
  // mutex.
  const NamedAdapter* find_same(std::string_view name, const AdapterFile& file) const {
    const auto found = adapters.find(name);
    if (found == adapters.end()) return nullptr;
    const NamedAdapter& known = found->second;
    return known.info.path == file.path && known.stamps == file.stamps ? &known : nullptr;
  }
  // Whether the name may be given to an adapter. Requires: the mutex.
  Status check_free(std::string_view name, const AdapterCondition& condition) const {
    const auto found = adapters.find(name);
    if (condition.generation) TRY(check_generation(name, *condition.generation));
    if (found == adapters.end() && adapters.size() >= options.max_known) {
      return fail(Code::out_of_memory, "adapter '{}': {} are known, which is the most", name,
                  options.max_known);
    }
    if (found == adapters.end() || condition.may_replace || condition.generation) return {};
    return fail(Code::invalid,
                "adapter '{}' is loaded already, generation {}; say that generation to replace it",
                name, found->second.generation);
  }
  // 0: the name is not taken. Requires: the mutex.
  Status check_generation(std::string_view name, uint64_t expected) const {
    const auto found = adapters.find(name);
    const uint64_t actual = found == adapters.end() ? 0 : found->second.generation;
    if (actual == expected) return {};
    return fail(Code::invalid, "adapter '{}' is of generation {}, not {}", name, actual, expected);
  }
  // Drops those that were used longest ago. Requires: the mutex.
  void make_room() {
    if (n_bytes <= options.max_bytes) return;
    const int64_t kept = options.max_bytes / 8 * 7;
    std::vector<NamedAdapter*> loaded;
    for (auto& [name, adapter] : adapters) {
      if (adapter.loaded != nullptr) loaded.push_back(&adapter);
    }
    std::ranges::sort(loaded, {}, &NamedAdapter::used);
    if (!loaded.empty()) loaded.pop_back();  // the newest stays, however large
    for (NamedAdapter* const adapter : loaded) {
      if (n_bytes <= kept) break;
      drop(*adapter);
    }
  }
  void drop(NamedAdapter& adapter) {
    if (adapter.loaded == nullptr) return;
    n_bytes -= adapter.loaded->n_bytes;
    adapter.loaded = nullptr;
  }
  void keep(NamedAdapter& adapter, std::shared_ptr<const LoadedAdapter> loaded) {
    n_bytes += loaded->n_bytes;
    adapter.loaded = std::move(loaded);
    adapter.used = ++n_uses;
    make_room();
  }

  std::shared_ptr<const Model> model;
  AdapterRegistryOptions options;
  Mutex loading;  // one adapter is read at a time; taken before `mutex`
  mutable Mutex mutex;
  Adapters adapters;
  uint64_t n_generations = 0, n_uses = 0;
  int64_t n_bytes = 0;
};

AdapterRegistry::AdapterRegistry(std::shared_ptr<const Model> model, AdapterRegistryOptions options)
    : state_(std::make_unique<State>()) {
  state_->model = std::move(model);
  state_->options = options;
}

AdapterRegistry::~AdapterRegistry() = default;

Result<AdapterRecord> AdapterRegistry::load(std::string_view name, const std::string& path,
                                            const AdapterCondition& condition) {
  TRY(check_name(name));
  const Lock loading(state_->loading);
  const AdapterFile file = TRY(open_adapter(path));
  {
    const Lock lock(state_->mutex);
    if (condition.generation) TRY(state_->check_generation(name, *condition.generation));
    if (const State::NamedAdapter* same = state_->find_same(name, file)) return same->record(name);
    TRY(state_->check_free(name, condition));
  }
  auto loaded = TRY(load_from(state_->model, file, state_->options.n_threads));
  State::NamedAdapter made{.info = loaded->info, .stamps = loaded->stamps};
  const Lock lock(state_->mutex);
  TRY(state_->check_free(name, condition));  // names may have changed meanwhile
  State::NamedAdapter& place = state_->adapters[std::string(name)];
  state_->drop(place);
  place = std::move(made);
  place.generation = ++state_->n_generations;
  state_->keep(place, std::move(loaded));
  return place.record(name);
}

Status AdapterRegistry::unload(std::string_view name, const AdapterCondition& condition) {
  const Lock lock(state_->mutex);
  const auto found = state_->adapters.find(name);
  if (condition.generation) TRY(state_->check_generation(name, *condition.generation));
  if (condition.generation == 0) return {};
  if (found == state_->adapters.end()) return unknown(name);
  state_->drop(found->second);
  state_->adapters.erase(found);
  return {};
}

Result<std::shared_ptr<const LoadedAdapter>> AdapterRegistry::find(std::string_view name) {
  const auto in_memory = [&]() -> std::shared_ptr<const LoadedAdapter> {
    const auto found = state_->adapters.find(name);
    if (found == state_->adapters.end() || found->second.loaded == nullptr) return nullptr;
    found->second.used = ++state_->n_uses;
    return found->second.loaded;
  };
  {
    const Lock lock(state_->mutex);
    if (auto loaded = in_memory()) return loaded;
    if (!state_->adapters.contains(name)) return tl::unexpected(unknown(name));
  }
  const Lock loading(state_->loading);
  State::NamedAdapter known;
  {
    const Lock lock(state_->mutex);
    if (auto loaded = in_memory()) return loaded;
    const auto found = state_->adapters.find(name);
    if (found == state_->adapters.end()) return tl::unexpected(unknown(name));
    known = found->second;
  }
  const AdapterFile file = TRY(open_adapter(known.info.path));
  if (file.stamps != known.stamps) {
    return fail(Code::invalid, "adapter '{}': {} has changed since it was loaded; load it again",
                name, known.info.path);
  }
  auto loaded = TRY(load_from(state_->model, file, state_->options.n_threads));
  const Lock lock(state_->mutex);
  const auto found = state_->adapters.find(name);
  if (found == state_->adapters.end() || found->second.generation != known.generation) {
    return tl::unexpected(unknown(name));
  }
  state_->keep(found->second, loaded);
  return loaded;
}

std::vector<AdapterRecord> AdapterRegistry::list() const {
  const Lock lock(state_->mutex);
  std::vector<AdapterRecord> records;
  records.reserve(state_->adapters.size());
  for (const auto& [name, adapter] : state_->adapters) {
    records.push_back(adapter.record(name));
  }
  return records;
}

bool AdapterRegistry::has(std::string_view name) const {
  const Lock lock(state_->mutex);
  return state_->adapters.contains(name);
}

int64_t AdapterRegistry::n_bytes() const {
  const Lock lock(state_->mutex);
  return state_->n_bytes;
}

}  // namespace ruv
