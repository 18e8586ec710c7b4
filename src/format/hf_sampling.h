// generation_config.json of a model's folder: how its makers sample. The values become metadata
// under the keys that GGUF files have for them (general.sampling.…), so that both are read alike.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "format/model_file.h"

namespace ruv {

// Adds what the folder's file says; nothing where it has none. A file that is no JSON object, and
// values that sample in ways we do not have, are remarks: they are advice.
void read_generation_config(const std::string& folder, MetaMap& metadata,
                            std::vector<std::string>& remarks);

// The file that gives these values; an empty object: there are none.
Json generation_config_of(const MetaMap& metadata);

}  // namespace ruv
