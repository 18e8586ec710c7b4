// The file of a training run: all that its next step depends on besides the model's file and the
// sequences, and facts about these and the options, so that a run does not continue with others.
// Numbers are little-endian.
//
//   "RUVTRAIN" | u32 version | u64 steps | u64 facts | u64 parameters
//   for each fact: u32 length, name | u32 length, value
//   for each parameter: u32 length, name | values | first moments | second moments
//   u64 hash of the file before it
//
// Version 2 has u64 numbers, f32 numbers for each of the three. Version 3 is written where moments
// are bytes, and has u64 numbers, u32 form, and what StoredMoment keeps in that form. An optimiser
// that has fewer moments writes 0 numbers.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "train/stored_moment.h"

namespace ruv {

// What a run was begun with, such as {"--rate", "1e-4"}.
struct RunFact {
  std::string name, value;
};

// Numbers as a run keeps them.
struct SavedPart {
  MomentForm form = MomentForm::plain;  // float32
  int64_t n = 0;
  std::span<std::byte> memory = {};
};
SavedPart saved_part(std::span<float> numbers);
SavedPart saved_part(const StoredMoment<float>& moment);

// A parameter: its values, first moments and second moments.
struct StateNumbers {
  std::string name;
  std::array<SavedPart, 3> parts;
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
// (other facts, which are named, other parameters, or moments of another form).
Status read_train_state(const std::string& path, TrainState& state);

}  // namespace ruv
