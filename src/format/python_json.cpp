// One pass over the text that only knows whether it is inside of a text: what is not valid JSON
// stays so, and the parser says where.
#include "format/python_json.h"

namespace ruv {

std::string with_tagged_floats(std::string_view text) {
  std::string out;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const char c = text[i];
    if (in_text && c == '\\' && rest.size() > 1) {
      out += rest.substr(0, 2);
      ++i;
      continue;
    }
    if (c == '"') in_text = !in_text;
    std::string_view word;
    for (const std::string_view known : {"Infinity", "-Infinity", "NaN"}) {
      if (!in_text && rest.starts_with(known)) word = known;
    }
    if (word.empty()) {
      out += c;
    } else {
      out.append(R"({"__float__": ")").append(word).append("\"}");
      i += word.size() - 1;
    }
  }
  return out;
}

}  // namespace ruv
