// Files of models in containers that are not read: recognised, so that the refusal can say what the
// file is and what to do.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace ruv {

// A command that makes model.safetensors of a file that PyTorch has pickled.
std::string command_for_pickle(std::string_view file);
// Ok: the bytes are none of these. Fails: unsupported, naming the container and the way out.
Status refuse_other_container(Bytes bytes, const std::string& path);

}  // namespace ruv
