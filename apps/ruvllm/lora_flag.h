// --lora of subcommands that load a model: adapters that all of its answers are computed with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "ruv/adapter_registry.h"

namespace ruv {

// "PATH" or "PATH=SCALE".
struct LoraFile {
  std::string path;
  float scale = 1;
};
// What follows the last '=' is the scale if it is a number; else the path has the '='. Fails:
// invalid (no path, a scale that is not finite).
Result<LoraFile> parse_lora(const std::string& text);

void add_lora_flag(CommandLine& line, std::vector<std::string>& texts);
// Loads them in order. Fails: as parse_lora and load_adapter; invalid (more than kMaxAdapters).
Result<std::vector<AdapterUse>> open_adapters(const std::vector<std::string>& texts,
                                              std::shared_ptr<const Model> model, int n_threads);

// Adapters of `serve`, which requests name.
struct ServedAdapters {
  std::vector<std::string> lora;     // PATH or PATH=SCALE, of requests that do not say
  std::vector<std::string> modules;  // NAME=PATH
  std::string folder;                // from which clients may load others; empty: none
  int64_t memory_mebibytes = 512;

  bool any() const { return !lora.empty() || !modules.empty() || !folder.empty(); }
};
// The largest rank that requests of a server may compute with.
inline constexpr int64_t kMaxServedRank = 256;

void add_adapter_flags(CommandLine& line, ServedAdapters& adapters);
// A registry with all that are named; those of `lora` have the names of their files. `usual` gets
// those that requests without a choice compute with. Fails: as open_adapters and
// AdapterRegistry::load; invalid (modules that are not NAME=PATH).
Result<std::unique_ptr<AdapterRegistry>> open_registry(const ServedAdapters& adapters,
                                                       std::shared_ptr<const Model> model,
                                                       int n_threads,
                                                       std::vector<AdapterUse>& usual);

}  // namespace ruv
