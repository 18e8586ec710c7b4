// What `ruvllm train` learns from: a plain text, or lines of JSON.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "train/train_sequence.h"

namespace ruv {

// A text as sequences of n_ctx tokens, each beginning with the last token of the one before. Fails:
// as read_text_file, unsupported (no tokenizer).
Result<std::vector<TrainSequence>> read_training_text(const Model& model, const std::string& path,
                                                      int64_t n_ctx);
// Lines {"text": …}, {"prompt": …, "answer": …}, {"messages": […], "answer": …} or {"ids": […],
// "score": […]}; answers, marked ids or whole texts are learned, and the token that ends an answer.
// Fails: as read_text_file; corrupt and invalid, naming the line; a line of more tokens than n_ctx
// is invalid.
Result<std::vector<TrainSequence>> read_training_lines(const Model& model, const std::string& path,
                                                       int64_t n_ctx);

}  // namespace ruv
