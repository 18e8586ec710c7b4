// The file of a training run: all that its next step depends on besides the model's file and the
// sequences, and facts about these and the options, so that a run does not continue with others.
// Numbers are little-endian.
//
//   "RUVTRAIN" | u32 version | u64 steps | u64 facts | u64 parameters
//   for each fact: u32 length, name | u32 length, value
//   for each parameter: u32 length, name | u64 numbers, f32 values
//                       | u64 numbers, f32 first moments | u64 numbers, f32 second moments
//   u64 hash of the file before it
//
// An optimiser that has fewer moments writes 0 numbers.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ruv {

// What a run was begun with, such as {"--rate", "1e-4"}.
struct RunFact {
  std::string name, value;
};

// A parameter: its values, first moments and second moments.
struct StateNumbers {
  std::string name;
  std::array<std::span<float>, 3> parts;
};

// Numbers lie elsewhere.
struct TrainState {
  int64_t n_steps = 0;
  std::span<const RunFact> facts = {};
  std::vector<StateNumbers> numbers;
};

// Replaces a file that is there, once the new one is complete. Fails: as FileWriter.
Status write_train_state(const std::string& path, const TrainState& state);
// Fills the numbers and n_steps, all or nothing. Fails: as MappedFile::open, corrupt, invalid
// (other facts, which are named, or other parameters).
Status read_train_state(const std::string& path, TrainState& state);

}  // namespace ruv
