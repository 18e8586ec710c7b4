// AdapterRegistry: the adapters of one model by name. All that are known may be asked for; those
// that were asked for lately are in memory, within a budget, and the others are read from disk
// again when they are needed. Requests keep what they were given, whatever happens to its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ruv/adapter.h"

namespace ruv {

struct AdapterRegistryOptions {
  // Memory of adapters that are in memory, but for those that only requests still hold. Above it
  // the least recently used are dropped until 7/8 of it are left. Lowering it makes more requests
  // wait for the disk.
  int64_t max_bytes = int64_t{512} << 20;
  size_t max_known = 10'000;
  int n_threads = 0;  // that pack matrices; 0: one per core
};

struct AdapterRecord {
  std::string name;
  AdapterInfo info;
  // Grows with each load of any adapter: one that was replaced has another. At least 1.
  uint64_t generation = 0;
  bool in_memory = false;
};

// What a name must be for a change to happen.
struct AdapterCondition {
  // Nothing: not taken, for load(); taken, for unload(). 0: not taken. Others: an adapter's of this
  // generation.
  std::optional<uint64_t> generation = {};
  bool may_replace = false;  // without a generation: whatever has the name
};

class AdapterRegistry {
 public:
  AdapterRegistry(std::shared_ptr<const Model> model, AdapterRegistryOptions options = {});
  ~AdapterRegistry();

  // Loads the adapter and gives it the name; it has it already where it was loaded from the same
  // files and these have not changed. Nothing changes where it fails: as load_adapter;
  // invalid (the name is empty or longer than 256 bytes, the condition does not hold),
  // out_of_memory (max_known). Any thread.
  Result<AdapterRecord> load(std::string_view name, const std::string& path,
                             const AdapterCondition& condition = {});
  // Requests that compute with it end as they would have. Fails: not_found, invalid (the condition
  // does not hold). Any thread.
  Status unload(std::string_view name, const AdapterCondition& condition = {});
  // Reads it from disk if it is not in memory. Fails: not_found; as load_adapter; invalid (its
  // files have changed since it was loaded). Any thread.
  Result<std::shared_ptr<const LoadedAdapter>> find(std::string_view name);
  // By name.
  std::vector<AdapterRecord> list() const;
  bool has(std::string_view name) const;
  // Memory of the adapters that the registry holds.
  int64_t n_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ruv
