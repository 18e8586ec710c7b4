// What must hold of numbers before a format can hold them, and the facts that a mix depends on: for
// quantising a file and for quantising while one is loaded.
#pragma once

#include "format/model_file.h"
#include "format/quant_mix.h"

namespace ruv {

// The facts of a model's metadata.
MixFacts mix_facts(const ModelFile& model);
// Index of the first number that is not finite or above what the format holds; -1: there is none.
int64_t first_misfit(std::span<const float> numbers, DType to);
// What is wrong with that number. `path` and `tensor` are quoted. Fails: corrupt (it is not
// finite), invalid.
Status misfit(const std::string& path, std::string_view tensor, int64_t row, int64_t column,
              float number, DType to);
// Fails: invalid, naming the types that there are.
Result<const QuantType*> known_quant_type(std::string_view name);

}  // namespace ruv
