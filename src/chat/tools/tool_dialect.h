// ToolDialect: how a model writes reasoning and calls of tools into its answers, as data. What
// parses answers, what writes calls, and what finds a model's dialect all read the same
// description, so they cannot disagree. Dialects are named after what they look like on the wire.
//
// Texts of marks are written as models write them, with the whitespace around. A parser compares
// only what lies between that whitespace and accepts any whitespace around it, except inside the
// values of arguments, where every byte counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

// One thing that follows another in a call.
enum class CallPartKind : uint8_t {
  mark,      // this text
  name,      // the tool's name, up to the next mark
  id,        // the call's id, up to the next mark
  named_id,  // the call's id, up to the next mark: text, the tool's name, ':', digits
  number,    // decimal digits that say nothing
  skipped,   // a text that says nothing, up to the next mark
  json,      // arguments: a JSON object
  tagged,    // arguments: each between tags (TaggedArguments)
  nested,    // arguments: elements named after their keys, in each other (NestedArguments)
  literals,  // arguments: keys and literals of a programming language (LiteralArguments)
  object,    // a JSON object with name and arguments (CallKeys)
};

struct CallPart {
  CallPartKind kind = CallPartKind::mark;
  std::string text = {};  // of a mark, and before the name in a named_id
  bool optional = false;  // models leave the mark out at times
};

// The members of a call that is a JSON object. The first of each list is the one written.
struct CallKeys {
  std::vector<std::string> name = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> id = {};
  // {"the tool's name": {arguments}}: no list is used.
  bool name_is_key = false;
};

// How the text of a tagged argument becomes a value.
enum class TagValue : uint8_t {
  by_schema,  // the tool's schema decides between text and JSON
  text,
  json,
};

// What may follow the key of a tagged argument, up to its value, and what ends the value.
struct TagForm {
  std::string key_end;
  std::string value_end;
  TagValue value = TagValue::by_schema;
};

// `begin` key `key_end` value `value_end`, for each argument. The first form is the one written;
// forms whose key_end begins another's come after it.
struct TaggedArguments {
  std::string begin = {};
  std::vector<TagForm> forms = {};
};

// <key>value</key>, each tag after `prefix`; elements of a list are `item`.
struct NestedArguments {
  std::string prefix = {};
  std::string item = {};
};

// open key assign value , key assign value close.
struct LiteralArguments {
  char open = '(';
  char close = ')';
  char assign = '=';
  // Around texts, whose bytes have no escapes; empty: Python's quotes and escapes, and its
  // words for true, false and null.
  std::string quote = {};
};

// Where the model thinks before it answers.
struct ReasoningMarks {
  std::string begin = {};  // empty: the prompt always writes it
  std::string end = {};    // empty: the model does not think in the open
  // Control tokens: reasoning may begin anywhere, else only where the answer does.
  bool anywhere = false;
  // The begin is a sentence that templates expect to find in the reasoning of past answers.
  bool begin_is_text = false;
  // A call ends it, too: some models forget the end.
  bool ended_by_call = false;
};

struct ToolDialect {
  enum class Shape : uint8_t {
    plain,     // no calls
    marked,    // text, and calls between marks
    channels,  // messages with a header that says what they are
  };

  std::string name = {};
  Shape shape = Shape::plain;
  // Before the first call and after the last, and between two.
  std::vector<CallPart> section_begin = {};
  std::vector<CallPart> section_end = {};
  std::string separator = {};
  std::vector<CallPart> call = {};
  CallKeys keys = {};
  TaggedArguments tagged = {};
  NestedArguments nested = {};
  LiteralArguments literals = {};
  // Calls begin with what ordinary text may begin with: they are looked for at the start of the
  // answer only, and must name a tool that the request has.
  bool bare = false;
  bool parallel = true;  // several calls in one answer
  // Calls have ids of nine letters and digits, in the answer or in templates that want them back.
  bool has_ids = false;
  // Marks that are part of no text, as around the text of an answer.
  std::vector<std::string> strays = {};
  // What templates write at the end of prompts although it begins a call or a text.
  std::string prefilled = {};
  // Whitespace that a template writes between a text and the first call.
  std::string gap = {};
  ReasoningMarks reasoning = {};
  // Texts of a template's source that say that its model writes this dialect, for templates that
  // show no calls. All must be there; none: the source cannot say it.
  std::vector<std::string> hints = {};
};

// Every known format of calls, in the order in which they are tried; without reasoning.
std::span<const ToolDialect> tool_dialects();
// Every known pair of marks of reasoning, in the order in which they are looked for.
std::span<const ReasoningMarks> reasoning_marks();

// The texts of all marks of a dialect, those of its arguments and its reasoning too.
std::vector<std::string> dialect_marks(const ToolDialect& dialect);

// Whether a prompt that ends so ends inside reasoning; where that begins, if so.
std::optional<size_t> open_reasoning(const ReasoningMarks& marks, std::string_view prompt_tail);

// The text without the whitespace at both ends.
std::string_view mark_core(std::string_view text);

}  // namespace ruv
