// CallObject: reads a call that is a JSON object: {"name": …, "arguments": {…}}, in any order, with
// members that say nothing among them, perhaps all inside a member "function".
#pragma once

#include <string>

#include "chat/tools/argument_reader.h"
#include "chat/tools/json_scan.h"

namespace ruv {

// What is known of a call so far.
struct CallFacts {
  std::string name = {};
  std::string id = {};
  std::string early_id = {};  // the id, if it came before the arguments
  std::string json = {};      // arguments that were read and not passed on
  // The name is whole, so that arguments can be passed on.
  bool named = false;
};

class CallObject {
 public:
  // `dialect` must outlive it.
  explicit CallObject(const ToolDialect& dialect) : dialect_(dialect) {}

  // Reads what is there, from '{' to its '}'.
  ReadStep read(TextCursor& text, CallFacts& facts, ToolWarnings& warnings);

 private:
  enum class State : uint8_t {
    begin,
    first_key,
    key,
    colon,
    value,
    arguments,
    skipped,
    after,
    done
  };
  enum class Member : uint8_t { name, id, arguments, function, other };

  // One reader for each kind of state; `done`: the next step may follow.
  ReadStep step(TextCursor& text, CallFacts& facts, ToolWarnings& warnings);
  ReadStep between(TextCursor& text, CallFacts& facts, ToolWarnings& warnings);
  ReadStep begin_value(TextCursor& text, CallFacts& facts);
  ReadStep read_token(TextCursor& text);
  ReadStep read_key(TextCursor& text, CallFacts& facts);
  ReadStep read_text_value(TextCursor& text, CallFacts& facts);
  ReadStep read_arguments(TextCursor& text, CallFacts& facts, ToolWarnings& warnings);
  ReadStep skip_value(TextCursor& text);
  ReadStep close(TextCursor& text, CallFacts& facts, ToolWarnings& warnings);
  // What a member of this name says.
  Member member_of(std::string_view key) const;
  // Arguments that are a JSON text of an object, or null. False: they are neither.
  static bool take_quoted_arguments(std::string_view token, CallFacts& facts);

  const ToolDialect& dialect_;
  State state_ = State::begin;
  Member member_ = Member::other;
  JsonScan scan_;
  std::string token_;  // JSON of a key or a value that is read whole
  int depth_ = 0;      // 2: inside the member "function"
  bool quoted_arguments_ = false;
  bool has_arguments_ = false;
  bool is_type_ = false;     // the member is the call's type
  bool has_others_ = false;  // members that say nothing
};

}  // namespace ruv
