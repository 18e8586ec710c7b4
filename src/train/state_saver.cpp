#include "train/state_saver.h"

#include <utility>

#include "base/allocation.h"

namespace ruv {

// Without a thread to be had the state is written at once.
Status StateSaver::begin(const std::string& path, const TrainState& state) {
  TRY(finish());
  const bool had_memory = try_allocating([&] {
    path_ = path;
    n_steps_ = state.n_steps;
    facts_.assign(state.facts.begin(), state.facts.end());
    names_.resize(state.numbers.size());
    numbers_.resize(state.numbers.size());
    for (size_t i = 0; i < numbers_.size(); ++i) {
      names_[i] = state.numbers[i].name;
      for (size_t part = 0; part < numbers_[i].size(); ++part) {
        PartCopy& copy = numbers_[i][part];
        copy.part = state.numbers[i].parts[part];
        copy.bytes.assign(copy.part.memory.begin(), copy.part.memory.end());
        copy.part.memory = copy.bytes;
      }
    }
  });
  if (!had_memory) return fail(Code::out_of_memory, "{}: no memory for a copy of the run", path);
  const auto write = [this] {
    TrainState copy{.n_steps = n_steps_, .facts = facts_, .numbers = {}};
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const auto& [values, first, second] = numbers_[i];
      copy.numbers.push_back({names_[i], {values.part, first.part, second.part}});
    }
    result_ = write_train_state(path_, copy);
  };
  if (!start_thread(writer_, write)) write();
  return {};
}

Status StateSaver::finish() {
  join();
  return std::exchange(result_, Status());
}

}  // namespace ruv
