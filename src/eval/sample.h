// What a task asks: samples given one by one in a file of lines of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "eval/answer_rule.h"
#include "eval/likelihood.h"
#include "ruv/conversation.h"

namespace ruv {

enum class SampleKind : uint8_t {
  choices,       // which of several continuations is the likeliest
  continuation,  // how likely one is
  text,          // how likely each token of a text is (rolling)
  answer,        // whether the greedy answer is the expected one
  calls,         // whether the greedy answer calls the expected tools
};

struct EvalSample {
  std::string context;
  std::vector<std::string> choices;  // choices: as they are measured; each continues `delimiter`
  std::string delimiter = " ";
  size_t gold = 0;           // the right choice
  std::string continuation;  // exactly as it is scored
  std::string text;
  // answer: equal to the greedy one, without white space at both ends; or the program of a test,
  // which comes after the context and the greedy answer
  std::string expected;
  std::vector<std::string> until;
  // calls: what is answered, with its tools; the functions and the expected calls as
  // calls_are_expected() takes them.
  Conversation conversation;
  TemplateValue functions, expected_calls;
  int64_t max_new_tokens = 256;
};

struct EvalTask {
  SampleKind kind = SampleKind::text;
  // answer: what of it counts; each rule has a score of its own. At least one there.
  std::vector<AnswerRule> rules = {AnswerRule::whole};
  std::vector<EvalSample> samples;  // at least one
};

// Reads lines {"context", "choices", "answer": index, "delimiter"}, {"context", "continuation"},
// {"text"} or {"context", "answer": text, "until", "max_tokens"}, all of one kind, at most `limit`
// of them (0: all). Fails: invalid or corrupt, with the file's name and the line.
Result<EvalTask> read_task_lines(std::string_view content, std::string_view source, int64_t limit);

struct SampleScore {
  std::vector<Likelihood> likelihoods;  // of each choice, of the continuation, of each window
  size_t chosen = 0;                    // choices: by sum; ties: the first
  size_t chosen_by_length = 0;          // by sum over the choice's characters
  std::string answer;
  std::vector<bool> is_expected = {};  // answer: under each rule of the task
  double log_likelihood = 0;           // continuation and text
  bool is_right = false;               // of answers: under the first rule
  bool is_right_by_length = false;
};

// Scores of all samples, in their order. Fails: as log_likelihoods, generate_all and
// ProgramCheck::passes, as run_calls; invalid, with the number of the sample, or where programs are
// to be run and the limits have nothing for it.
Result<std::vector<SampleScore>> run_task(Engine& engine, const EvalTask& task,
                                          const EvalLimits& limits);

struct EvalMetric {
  std::string_view name;
  double value = 0;
  double error = -1;  // standard error; below 0: there is none
};
// What lm-evaluation-harness computes from such scores. The error of a mean is that of a sample;
// that of a perplexity is its first-order estimate.
std::vector<EvalMetric> metrics_of(const EvalTask& task, const std::vector<SampleScore>& scores);

}  // namespace ruv
