// What the model of a file would be and everything that keeps it from running, found without
// reading its weights: a file of 100 GB takes no longer than one of 1 MB with as many tensors.
#pragma once

#include "base/faults.h"
#include "model/model.h"

namespace ruv {

struct ExaminedModel {
  // With tokenizer and chat template where they can be used; its weights have shapes and no
  // numbers. Null: the file itself could not be opened.
  std::shared_ptr<const Model> model;
  // Each names the key, tensor, format or architecture. None: load_model takes the file; the first
  // one is what it fails with otherwise.
  Faults faults;
  bool has_numbers = false;  // the model's numbers, positions and plans are those of the file
};

// Any thread. Never fails: what is wrong is in the faults.
ExaminedModel examine_model(const std::string& path, const LoadOptions& options = {});

// What the drafting head of the file is, or why it is not used; empty: the file has none.
std::string draft_head_text(const Model& model);

}  // namespace ruv
