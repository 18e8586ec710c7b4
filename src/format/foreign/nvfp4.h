// NVFP4 in the names of both tools that write it.
#pragma once

#include "format/foreign/scaled_weight.h"

namespace ruv {

struct NvPieces {
  std::string_view codes, global;  // names
  GlobalScale form = GlobalScale::times;
};
// Fails: corrupt.
Status read_nvfp4_module(const std::string& module, const NvPieces& pieces,
                         ForeignCheckpoint& checkpoint);

}  // namespace ruv
