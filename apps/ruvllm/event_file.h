// EventFile: numbers of a run by step, in the file that TensorBoard reads: TFRecords of Event
// messages, protobuf. What is written here was checked with TensorBoard's own reader.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/append_file.h"

namespace ruv {

// A number of a step, under the name that its chart has.
struct EventNumber {
  std::string_view tag;
  double value;
};

class EventFile {
 public:
  // A new file in a folder, which is made if it is not there. `first_step`: TensorBoard forgets
  // what earlier files of the folder have from this step on, as when a run is resumed. Fails: as
  // make_folder and AppendFile::create.
  static Result<EventFile> create(const std::string& folder, int64_t first_step);
  // Each call is in the file when it returns.
  Status add(int64_t step, std::span<const EventNumber> numbers);

 private:
  explicit EventFile(AppendFile file) : file_(std::move(file)) {}
  Status append(std::string_view event);

  AppendFile file_;
};

}  // namespace ruv
