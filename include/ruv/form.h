// AnswerForm: what form an answer must have. Every token that could not lead to an answer of this
// form is left out while it is written, so an answer that is not cut off has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ruv {

// How JSON is written.
enum class JsonLayout : uint8_t {
  compact,   // without spaces
  flexible,  // without, with one, or with line breaks and indentation, as the model likes
  any,       // up to 32 blanks wherever JSON allows them
};

struct AnswerForm {
  enum class Kind : uint8_t {
    json_schema,  // a value of a JSON schema, drafts 4 to 2020-12
    choice,       // one of several texts, given as a JSON list
    regex,        // a text that matches as a whole; ECMAScript's syntax
    gbnf,         // of a grammar as llama.cpp reads it
    lark,         // of a grammar in llguidance's dialect of Lark
  };
  Kind kind = Kind::json_schema;
  // The schema as JSON, the pattern, the grammar. {"type": "object"} is any object.
  std::string text;
  // Refuses schemas with keywords that cannot be enforced, which are noted otherwise.
  bool strict = false;
  JsonLayout layout = JsonLayout::flexible;
  // Schemas as JSON, by the URI under which `text` refers to them.
  std::vector<std::pair<std::string, std::string>> schemas = {};
  bool operator==(const AnswerForm&) const = default;
};

// A form as an engine has read it. Immutable; requests share it.
struct LoadedForm;

// A keyword of a schema that is not enforced.
struct FormNote {
  std::string pointer;  // where: "#/properties/a/format"
  std::string keyword;
  std::string reason;
};
std::vector<FormNote> form_notes(const LoadedForm& form);
// What the form was read from; valid as long as the form.
const AnswerForm& asked_form(const LoadedForm& form);

}  // namespace ruv
