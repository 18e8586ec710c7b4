// What training gives as a folder of a checkpoint, as transformers reads and writes it.
#pragma once

#include "base/file.h"
#include "train/parameters.h"

namespace ruv {

// Names of all files that write_trained_checkpoint writes for a model, model.safetensors first:
// those of its folder with settings and tokenizer are copied. Fails: unsupported (the model is not
// such a folder), invalid (`folder` is the model's own).
Result<std::vector<std::string>> checkpoint_files(const Model& model, const std::string& folder);

// Writes a folder's model, with its trained parameters in the place of those of its own files, to
// a folder that is there, in one model.safetensors. Tensors that were trained become `dtype`: f32,
// f16 or bf16; others stay as they are, and config.json says what of both is the wider type. Fails:
// as checkpoint_files; invalid (another format; a number too large for f16), unsupported
// (trained_tensors; a tensor that was trained lies in the files in another order), and as
// FileWriter.
Status write_trained_checkpoint(const Model& model, const Parameters<float>& parameters,
                                DType dtype, const std::string& folder, FileTarget target = {});

}  // namespace ruv
