// HtmlFlow: text as it flows on a page: blanks that are joined, breaks between lines and
// paragraphs, and marks of headings.
#pragma once

#include "memory/chunks.h"

namespace ruv {

class HtmlFlow {
 public:
  enum class Break : uint8_t { none, space, line, paragraph };

  // A character, unless it is a blank outside of `pre`, which is joined with those around it.
  void put(uint32_t code_point);
  // What comes next is at least so far from what was put. Ends a heading's line.
  void end_line(Break at_least);
  void space() { raise(Break::space); }
  // What is put until the line ends is a heading. Requires: end_line() before it.
  void begin_heading(int level) { heading_ = level; }
  bool is_in_heading() const { return heading_ != 0; }
  // Blanks count from here on, or not any more.
  void keep_blanks(bool keeps);

  ReadText take() { return std::move(read_); }

 private:
  void raise(Break at_least) { pending_ = std::max(pending_, at_least); }

  ReadText read_;
  Break pending_ = Break::none;
  int heading_ = 0;         // its level; 0: none
  bool is_marked_ = false;  // the heading has its mark
  bool keeps_blanks_ = false;
  bool skips_newline_ = false;  // the first one after `pre` is not shown
};

}  // namespace ruv
