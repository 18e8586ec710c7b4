// LearnState: all that an instance's next step depends on besides the model, the options and the
// feedback. Equal bytes learn equal bytes.
//
//   "RUVLEARN" | u32 version | u64 model | u64 numbers | u64 steps
//   f64 mean reward | u64 rewards | u64 texts in F
//   f32 numbers | f32 first moments | f32 second moments | f32 F
//   text: task | u64 anchors, of each: text, f32 numbers, f32 F̂ | u64 kept, of each: u64
//   u64 hash of what is before it
// Numbers are little-endian; a text is a u32 length and its bytes.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "learn/weight_anchor.h"

namespace ruv {

struct LearnState {
  uint64_t n_steps = 0;
  double mean_reward = 0;  // of ratings so far
  uint64_t n_rewards = 0;
  uint64_t n_fisher = 0;  // texts that F is of; 0: the task has none yet
  std::vector<float> numbers = {}, first = {}, second = {}, fisher = {};
  std::string task = {};  // that is being learned
  std::vector<TaskAnchor> anchors = {};
  std::vector<uint64_t> kept = {};  // numbers of feedback that is learned again

  bool operator==(const LearnState&) const = default;
};
inline bool operator==(const TaskAnchor& a, const TaskAnchor& b) {
  return a.task == b.task && a.numbers == b.numbers && a.fisher == b.fisher;
}

// What a state must fit: the content key of the model with the shape of the adapter, and how many
// numbers that has.
struct StateFit {
  uint64_t model = 0;
  size_t n_numbers = 0;
};

std::vector<std::byte> state_bytes(const LearnState& state, const StateFit& fit);
// Fails: corrupt; invalid (of another model, or of another adapter).
Result<LearnState> parse_state(Bytes bytes, const StateFit& fit, const std::string& source);

}  // namespace ruv
