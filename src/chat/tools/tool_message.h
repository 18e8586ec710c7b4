// What the text of an answer says: reasoning, text for the reader, calls of tools. A parser gives
// it in pieces (ToolDelta); ToolMessage puts them together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

// One piece. Pieces only add; a call that turns out to be none is taken back by `call_broken`.
struct ToolDelta {
  enum class Kind : uint8_t {
    reasoning,    // text: the next piece of the reasoning
    content,      // text: the next piece of the answer's text
    call_begin,   // text: the name; id: empty where the dialect has none
    arguments,    // text: the next piece of the call's arguments, which are JSON
    call_end,     // the arguments are a whole JSON object; id: where it came after them
    call_broken,  // the call is void; all of its text follows as content
  };
  Kind kind = Kind::content;
  size_t call = 0;  // of the answer's calls, from 0; void ones count
  std::string text = {};
  std::string id = {};

  friend bool operator==(const ToolDelta&, const ToolDelta&) = default;
};

// What was not as the dialect says. None of it is an error: the text is kept.
struct ToolWarning {
  enum class Kind : uint8_t {
    malformed_call,     // text that begins as a call and is none; given as content
    unfinished_call,    // the answer ended inside a call; given as content
    missing_end,        // a whole call whose end mark did not come
    wrong_type,         // an argument that is not of its schema's type; given as text
    control_in_string,  // a control character in a JSON string; it was escaped
    unknown_recipient,  // a message to a recipient that is not a tool; given as content
    unknown_header,     // the header of a message has words that say nothing; left out
    unknown_member,     // a call's object has a member that says nothing; left out
  };
  Kind kind = Kind::malformed_call;
  uint64_t offset = 0;  // bytes of the answer before the place

  friend bool operator==(const ToolWarning&, const ToolWarning&) = default;
};

// "malformed_call" and so on.
std::string_view warning_name(ToolWarning::Kind kind);

struct ToolCall {
  std::string name;
  std::string id;         // empty: none
  std::string arguments;  // a JSON object

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// The sum of deltas.
class ToolMessage {
 public:
  // Requires: deltas of one answer, in order.
  void add(const ToolDelta& delta);

  // The texts so far.
  const std::string& reasoning() const { return reasoning_; }
  const std::string& content() const { return content_; }
  // The calls that are whole, in order. Requires: the answer has ended.
  std::vector<ToolCall> calls() const;
  // Their indices among all that began.
  std::vector<size_t> call_places() const;
  // Bytes that it holds.
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  struct Call {
    ToolCall call;
    bool broken = false;
  };
  std::string reasoning_;
  std::string content_;
  std::vector<Call> calls_;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
