// Questions of the Berkeley Function Calling Leaderboard: which tools an answer calls.
#pragma once

#include "eval/published_task.h"

namespace ruv {

// Lines {"id", "question": [messages], "function": [{"name", "parameters"}]}, and in another file
// {"id", "ground_truth": [calls]}; without that file the right answer calls nothing. Types of
// Python become those of JSON schema, and dots in names "_", as the leaderboard has them for models
// that call tools by themselves. Fails: invalid (no samples, no answer for one, questions of
// several turns) or corrupt, with the file's name and the line.
Result<EvalTask> read_call_questions(const PublishedFile& file, const PublishedFile& answers,
                                     int64_t limit);

}  // namespace ruv
