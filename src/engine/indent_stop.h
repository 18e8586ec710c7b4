// IndentStop: ends an answer before the first line, after the one that it begins in, that is
// indented less than is asked for: by fewer spaces and tabs, or because it is empty. That is how
// what fills a gap in a block of code stays inside the block (llama.cpp's n_indent). A line's
// indentation is held back until that is decided.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv {

class IndentStop {
 public:
  // 0: never ends an answer.
  explicit IndentStop(int64_t least = 0) : least_(least) {}

  // Adds text and returns what now certainly belongs to the answer: nothing once it has ended.
  std::string push(std::string_view text);
  // What is held back, when the answer ends otherwise.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  int64_t least_;
  bool in_indent_ = false;  // of a line, which held_ has so far
  std::string held_;
  bool stopped_ = false;
};

}  // namespace ruv
