// LocalSource: a loaded model as its owner passes it on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/openai/service.h"

namespace ruv {

class SessionKeeper;

// What answers requests of the same process, or is served besides. All must outlive what uses it;
// `owner` keeps them alive where it is not null.
struct LocalSource {
  std::shared_ptr<const void> owner = {};
  Engine* engine = nullptr;
  const ModelText* text = nullptr;
  std::vector<std::string> names = {};
  GenerateParams usual = {};
  SessionKeeper* sessions = nullptr;  // null: none are kept
  int64_t max_sequences = 0;
  AdapterRegistry* adapters = nullptr;  // null: requests can name none
  std::string adapter_folder = {};      // from which they may load some; empty: none
};

// A service with parts of its own. `engine`: the source's, or a guest in it.
OpenAiService service_of(const LocalSource& source, Engine& engine);

}  // namespace ruv
