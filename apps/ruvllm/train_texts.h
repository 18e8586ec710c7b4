// What `ruvllm train` learns from: a plain text, or lines of JSON.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "train/train_sequence.h"

namespace ruv {

// How texts become sequences.
struct TextRules {
  int64_t n_ctx = 0;        // the most tokens of a sequence
  float prompt_weight = 0;  // of tokens that are not of an answer, in lines that have both
};

// A text as sequences of n_ctx tokens, each beginning with the last token of the one before. Fails:
// as read_text_file, invalid (not UTF-8), unsupported (no tokenizer).
Result<std::vector<TrainSequence>> read_training_text(const Model& model, const std::string& path,
                                                      const TextRules& rules);
// Lines {"text": …}, {"prompt": …, "answer": …}, {"messages": […], "answer": …}, {"messages": […]}
// that end with an assistant's, or {"ids": […], "score": […]}; whole texts, answers and the tokens
// that end them are learned, and ids by their scores. Fails: as read_text_file; corrupt and
// invalid, naming the line; a line of more tokens than n_ctx is invalid.
Result<std::vector<TrainSequence>> read_training_lines(const Model& model, const std::string& path,
                                                       const TextRules& rules);

// What a line of an objective has: sequences whose loss is one, in the order that the objective
// says, and rewards of answers.
struct TrainExample {
  std::vector<TrainSequence> sequences;
  std::vector<double> rewards = {};
};

enum class LineKind : uint8_t {
  text,     // one sequence: as read_training_lines
  pair,     // a prompt, "chosen" and "rejected"
  answers,  // a prompt, "answers" and their "rewards"
  triplet,  // "anchor", "positive" and "negative" or "negatives"
};
// A prompt is "prompt", "messages" (with "tools" and "chat_template_kwargs") or "ids"; other texts
// may be lists of ids, to which no token is added. Fails: as read_training_lines.
Result<std::vector<TrainExample>> read_training_examples(const Model& model,
                                                         const std::string& path, LineKind kind,
                                                         const TextRules& rules);

}  // namespace ruv
