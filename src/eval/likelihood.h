// How likely a model finds given tokens, and what it writes by itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eval/checked_program.h"
#include "eval/text_pairs.h"
#include "ruv/engine.h"
#include "train/exact_model.h"

namespace ruv {

// How likely the tokens of a continuation are, each after those before it.
struct Likelihood {
  double log_likelihood = 0;           // natural logarithm, summed
  bool is_greedy = true;               // each is the likeliest one (ties: the lower id)
  std::vector<double> token_logprobs;  // of each

  void add(double logprob, bool likeliest);
};

struct EvalLimits {
  // Tokens that the model sees at once; longer contexts lose their beginning.
  int64_t max_tokens = 0;
  int n_threads = 0;
  KvType kv_type = KvType::f16;  // the engine's
  // Computes likelihoods in place of the engine. Null: the engine does.
  ExactModel* exact = nullptr;
  // Runs programs that the model writes. Null: tasks that need it are refused.
  const ProgramCheck* programs = nullptr;
  // Told of the share done in [0, 1]; false stops the work (cancelled). May be null.
  std::function<bool(double)> go_on = {};
};

// The likelihood of each pair, in their order. The result does not depend on it, or on what else
// the engine does. Short continuations are chosen token by token through the engine, where contexts
// that several begin with are computed once; others are computed in one pass beside it. Fails:
// invalid (a continuation longer than max_tokens), as Engine::stream, cancelled.
Result<std::vector<Likelihood>> log_likelihoods(Engine& engine, std::span<const TokenPair> pairs,
                                                const EvalLimits& limits);

struct GenerateTask {
  std::string context;
  std::vector<std::string> until;  // the answer ends before the first of them
  int64_t max_new_tokens = 256;
};

// The greedy answer to each, in their order. A context longer than max_tokens - max_new_tokens
// loses its beginning. Fails: invalid (no room for an answer), as collect_answers.
Result<std::vector<std::string>> generate_all(Engine& engine, const PairEncoder& encoder,
                                              std::span<const GenerateTask> tasks,
                                              const EvalLimits& limits);

}  // namespace ruv
