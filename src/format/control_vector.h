// Control vectors (steering vectors) as llama.cpp's files have them: GGUF with general.architecture
// "controlvector" and tensors "direction.N", f32 (n_embd), of which each is added to the residual
// stream after layer N, counted from 0. There is none after layer 0.
#pragma once

#include "format/adapter_file.h"
#include "format/gguf.h"

namespace ruv {

bool is_control_vector(const GgufContents& contents);

// Its directions by layer. Reads none of their numbers. Requires: is_control_vector(). Fails:
// corrupt (no direction, a count that is another), unsupported (a key or a tensor that is not
// honoured), each naming the key or tensor.
Result<AdapterFile> read_control_vector(GgufContents contents, const std::string& source);

}  // namespace ruv
