// Options of learning from feedback, the same for `learn` and `serve`.
#pragma once

#include <string>

#include "command_line.h"
#include "learn/learner.h"

namespace ruv {

struct LearnCall {
  std::string folder;
  std::string texts;     // a file; empty: the usual ones
  std::string matrices;  // empty: the usual ones
  std::string rate, lambda, replay, rehearsal;
  std::string held_out_rise, divergence, canary_rise, norm, own_rise;
  int64_t rank = 2, n_layers = 0, n_ctx = 512;
  bool no_sync = false;
};

// All but the folder.
void add_learn_flags(CommandLine& line, LearnCall& call);
// Whether one of them was given.
bool has_learn_flags(const CommandLine& line);
// The options of a call for the model at `path`, whose tokenizer reads --learn-texts. Fails:
// invalid, naming the flag; as read_training_lines.
Result<LearnOptions> learn_options(const LearnCall& call, const std::string& path, int n_threads);

}  // namespace ruv
