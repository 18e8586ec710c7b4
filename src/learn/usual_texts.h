// What a gate measures where its user gives nothing: ordinary sentences, and questions with short
// answers.
#pragma once

#include "learn/update_gate.h"

namespace ruv {

// Fails: unsupported (the model has no tokenizer), as tokenize.
Result<UpdateTexts> usual_update_texts(const Model& model);

}  // namespace ruv
