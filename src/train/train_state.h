// The file of a training run: all that its next step depends on besides the model's file, the
// options and the sequences. Numbers are little-endian.
//
//   "RUVTRAIN" | u32 version | u64 steps | u64 parameters
//   for each: u32 length, name | u64 numbers | f32 values | f32 first moments | f32 second moments
//   u64 hash of the file before it
#pragma once

#include "train/adam.h"

namespace ruv {

struct TrainState {
  int64_t n_steps;
  std::span<const Parameter<float>> parameters;
  const Adam<float>& adam;
};

// Replaces a file that is there. Fails: as FileWriter.
Status write_train_state(const std::string& path, const TrainState& state);
// Fills parameters and moments, all or none; returns the number of steps. Fails: as
// MappedFile::open, corrupt, invalid (names or sizes are not those of the parameters).
Result<int64_t> read_train_state(const std::string& path,
                                 std::span<const Parameter<float>> parameters, Adam<float>& adam);

}  // namespace ruv
