// StateSaver: writes the states of a run while its next steps are computed.
#pragma once

#include "base/thread.h"
#include "train/train_state.h"

namespace ruv {

// One state is written at a time. Its numbers are copied first, so that memory for them is needed
// once more: with Adam 12 bytes for each number that is trained, or 6 of moments in bytes. Not for
// several threads.
class StateSaver {
 public:
  StateSaver() = default;
  ~StateSaver() { join(); }
  StateSaver(const StateSaver&) = delete;
  StateSaver& operator=(const StateSaver&) = delete;

  // Copies the state and begins to write it, once the one before is written. The file is replaced
  // when the new one is complete: a run that is killed leaves one of both. Fails: as the write
  // before; out_of_memory.
  Status begin(const std::string& path, const TrainState& state);
  // Waits until nothing is written. Fails: as the last write did, as write_train_state.
  Status finish();

 private:
  void join() {
    if (writer_.joinable()) writer_.join();
  }

  // Read by the thread; not touched here while it runs.
  std::string path_;
  int64_t n_steps_ = 0;
  std::vector<RunFact> facts_;
  std::vector<std::string> names_;
  struct PartCopy {
    SavedPart part = {};  // whose memory is `bytes`
    std::vector<std::byte> bytes = {};
  };
  std::vector<std::array<PartCopy, 3>> numbers_;
  Status result_;
  Thread writer_;
};

}  // namespace ruv
