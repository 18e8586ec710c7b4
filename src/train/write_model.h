// What training gives as a file of a model.
#pragma once

#include "base/file.h"
#include "train/parameters.h"

namespace ruv {

// Writes the model as a GGUF file, complete with tokenizer and chat template, with its trained
// parameters in the place of those of its own file, which stays. Trained matrices become `dtype`:
// f32, f16 or bf16; tensors that were not trained keep their format. Fails: invalid (another
// format; a number too large for f16), unsupported (trained_tensors; a container whose tensors are
// put together), and as FileWriter. `head`: a vector that scores texts by their last hidden state,
// which becomes the model's classifier; empty: none.
Status write_trained_model(const Model& model, const Parameters<float>& parameters, DType dtype,
                           const std::string& path, FileTarget target = {},
                           std::span<const float> head = {});

}  // namespace ruv
