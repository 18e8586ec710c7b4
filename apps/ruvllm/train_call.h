// TrainCall: what `ruvllm train` was asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "train/trainer.h"
#include "train/write_model.h"

namespace ruv {

// Numbers that may have a fraction; the text is what was given.
struct TrainNumber {
  std::string text;
  double value = 0;
};

struct TrainCall {
  std::string model, file, jsonl, out;
  std::string state, log, tensorboard;
  std::string shape = "cosine";
  std::string type = "f32";
  std::string optimiser = "adamw";
  std::string states = "f32";
  std::string precision = "f32";
  std::string targets;
  std::string objective = "sft";
  std::string teacher;
  std::string adapter;  // to begin with
  std::string pooling;
  TrainNumber rate{"1e-4"}, min_rate{"0"}, rate_decay{"1"}, fall{"0.2"};
  TrainNumber decay{"0.01"}, beta2{"0.999"}, clip{"1"}, alpha{""}, prompt_weight{"0"};
  TrainNumber beta{"0.1"}, label_smoothing{"0"}, clip_ratio{"0.2"}, kl{"0.02"};
  TrainNumber gamma{"0.99"}, lambda{"0.95"}, value_weight{"0.1"};
  TrainNumber margin{"0.5"}, temperature{""};
  int64_t rate_every = 1;
  int64_t rank = 0;
  int64_t n_heads = 3;
  int64_t n_steps = 100;
  int64_t n_warmup = 0;
  int64_t n_sequences = 8;
  int64_t n_ctx = 256;
  int64_t n_rows = 512;
  int64_t checkpoints = 0;
  int64_t held_out = 0;
  int64_t seed = 0;
  int64_t fresh = -1;
  int64_t save_every = 0;
  bool resumes = false;
  bool force = false;
  bool json = false;
  int n_threads = 0;

  // The file of texts.
  const std::string& input() const { return file.empty() ? jsonl : file; }
  bool is_adapter() const { return rank > 0; }
  bool trains_draft_heads() const { return objective == "draft-heads"; }
  double temperature_or(double otherwise) const {
    return temperature.text.empty() ? otherwise : temperature.value;
  }
  // Whether --out is a folder of a checkpoint.
  bool writes_checkpoint() const;
  // The parts of --targets.
  std::vector<std::string> target_names() const;
};

// Declares all options.
void add_train_flags(CommandLine& line, TrainCall& call);
// Reads the numbers; what is wrong with the call, or empty: nothing. Requires: the line is parsed.
std::string read_train_call(const CommandLine& line, TrainCall& call);
// Requires: the call was read.
TrainOptions options_of(const TrainCall& call);
DType type_of(const TrainCall& call);
// Whether --targets asks for a tensor of this name.
bool is_target(std::string_view target, std::string_view tensor);
// Options that later steps depend on, for the file of the run.
std::vector<RunFact> facts_of(const TrainCall& call);

}  // namespace ruv
