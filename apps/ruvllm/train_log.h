// What a training run tells while it runs: lines or a curve on stderr, a CSV file, and numbers for
// TensorBoard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/append_file.h"
#include "base/clock.h"
#include "event_file.h"
#include "ruv/model.h"
#include "train/trainer.h"

namespace ruv {

// Where they go; empty: nowhere.
struct TrainLogFiles {
  std::string csv;
  std::string events;  // a folder
  bool replaces = false;
  // Lines of a CSV file that is there stay, up to the step that the run continues from.
  bool continues = false;
  const std::string* input = nullptr;  // which is never written over
};

class TrainLog {
 public:
  // For the steps after `first_step` up to n_steps.
  TrainLog(int64_t first_step, int64_t n_steps);

  // Fails: as create_output, EventFile::create; invalid (a file to continue is not of such a run).
  Status open(const TrainLogFiles& files, const Model& model);
  Status add(const StepReport& report);
  // The last curve, however soon after the one before.
  void close();

 private:
  // One line on stderr, or all of the curve once more.
  void show(const StepReport& report, double seconds);
  void draw(const std::string& line);

  int64_t first_step_, n_steps_;
  bool redraws_;
  SteadyClock clock_;
  int64_t start_ns_, drawn_ns_ = 0;
  bool was_drawn_ = false;
  int64_t n_tokens_ = 0;
  std::vector<double> losses_;
  std::string last_line_;
  std::optional<AppendFile> csv_;
  std::optional<EventFile> events_;
};

}  // namespace ruv
