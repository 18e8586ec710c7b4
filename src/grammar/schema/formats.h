// The formats of strings that JSON Schema names, as languages.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "grammar/json/json_text.h"

namespace ruv {

class Formats {
 public:
  // References must outlive the object.
  Formats(Languages& languages, const JsonText& text) : l_(languages), text_(text) {}

  // What is between the quotes of a string of this format; nothing where the format is not known or
  // no regular language, as `regex` and the rules of internationalised host names. Made once.
  std::optional<Language> find(std::string_view format);

 private:
  Languages& l_;
  const JsonText& text_;
  std::map<std::string_view, Language> languages_;
};

}  // namespace ruv
