// What tools a model calls in its greedy answers to conversations.
#pragma once

#include "eval/sample.h"

namespace ruv {

// Scores of all samples, in their order. Fails: unsupported (no chat template, or a model that
// calls no tools); as PromptEncoder::encode and collect_answers, with the number of the sample.
Result<std::vector<SampleScore>> run_calls(Engine& engine, const EvalTask& task,
                                           const EvalLimits& limits);

}  // namespace ruv
