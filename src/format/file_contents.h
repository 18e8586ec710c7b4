// Telling model files apart without reading all weights: each file's size, everything before its
// first tensor, and 64 samples of 16 KB of the rest.
#pragma once

#include "base/key_text.h"
#include "format/model_file.h"

namespace ruv {

// All files of a model, in order. Copies of a file are the same; a change of a few weights may go
// unnoticed. Reads about 1 MB of each.
void add_contents(KeyText& key, const ModelFile& file);

// Whether `at` is among the bytes.
bool lies_within(const std::byte* at, Bytes bytes);

}  // namespace ruv
