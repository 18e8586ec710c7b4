// README.md of a repository of model files, from what the files say of themselves.
#pragma once

#include <string>
#include <vector>

#include "hub/push_model.h"

namespace ruv {

struct CardFacts {
  std::string repo;
  std::string license = {};     // empty: as the files say
  std::string base_model = {};  // likewise; "owner/name"
};
// With the metadata that hubs read at its beginning, then a table of the models' numbers and one of
// all files. Requires: described files. Fails: as ModelFile::open, of GGUF files.
Result<std::string> model_card(const CardFacts& facts, const std::vector<PushFile>& files);

}  // namespace ruv
