// AnswerReader: takes one choice's text apart into content, reasoning and calls, as a client gets
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_parser.h"

namespace ruv {

// How answers to one prompt are read.
struct AnswerReading {
  ToolDialect dialect;
  ToolParserOptions options;
};

class AnswerReader {
 public:
  // `seed` makes the ids of calls: equal seeds give equal ids. `keeps`: message() and calls() are
  // wanted.
  AnswerReader(const AnswerReading& reading, std::string seed, bool keeps);

  // What more text gives. `last`: no text follows.
  std::vector<ToolDelta> read(std::string_view text, bool last);
  // The calls that were wanted are there: the answer can end.
  bool done() const { return parser_.done(); }

  bool has_calls() const { return n_calls_ > 0; }
  // What was not as the format says, so far. Valid until read().
  std::span<const ToolWarning> warnings() const { return parser_.warnings(); }
  // Everything so far.
  const ToolMessage& message() const { return message_; }
  // The whole calls, with the ids that clients get.
  std::vector<ToolCall> calls() const;
  // The id of the call with this index among all that began, void ones too.
  std::string id_of(size_t call) const;

 private:
  ToolParser parser_;
  ToolMessage message_;
  std::string seed_;
  bool keeps_;
  size_t n_calls_ = 0;                // whole ones
  bool has_ids_;                      // the model's own ids are used
  std::vector<std::string> own_ids_;  // that came with the calls; empty: none
};

}  // namespace ruv
