// JsonText: how values are written in a document: which escapes and which spaces. One object makes
// the languages of all parts of a document, so equal parts of different schemas are one language.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grammar/json/json_alphabet.h"

namespace ruv {

enum class JsonSpacing : uint8_t {
  compact,   // none
  flexible,  // none, one space, or a line break with up to 32 spaces of indentation
  any,       // up to 32 blanks wherever JSON allows them
};

struct JsonStyle {
  JsonEscapes escapes = JsonEscapes::needed;
  JsonSpacing spacing = JsonSpacing::flexible;
  bool operator==(const JsonStyle&) const = default;
};

class JsonText {
 public:
  // `languages` must outlive this object.
  JsonText(Languages& languages, JsonStyle style);

  const JsonAlphabet& alphabet() const { return alphabet_; }
  JsonStyle style() const { return style_; }

  // What lies between the quotes of strings: one character, any, exactly this text (UTF-8).
  Language character() const { return character_; }
  Language any_string() const { return any_string_; }
  Language string(std::string_view text);
  // Strings of min to max characters; max may be Languages::kUnlimited.
  Language string_of_length(uint32_t min, uint32_t max);
  Language quoted(Language inside);

  // Spaces included: '{' or '[' and what may follow it, ',' and ':', '}' or ']'.
  Language open(char bracket);
  Language comma() const { return comma_; }
  Language colon() const { return colon_; }
  Language close(char bracket);

 private:
  Languages& l_;
  JsonStyle style_;
  JsonAlphabet alphabet_;
  Language character_;
  Language any_string_;
  Language line_;  // what may be between a bracket or a comma and what follows it
  Language comma_;
  Language colon_;
};

// `text` (UTF-8) as it is written between quotes, escaped only where JSON demands it, which is one
// of the texts of string() in every style.
std::string escape_json(std::string_view text);
// The value of a string from its text between the quotes; nothing where that is not JSON, or has
// half a pair of surrogates.
std::optional<std::string> unescape_json(std::string_view inside);

}  // namespace ruv
