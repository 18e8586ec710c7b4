#include "base/json.h"

namespace ruv {
namespace {

// Deepest nesting of brackets outside strings; counts only, so any text is safe to scan.
int nesting_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source, int max_depth) {
  const int depth = nesting_depth(text);
  if (depth > max_depth) {
    return fail(Code::corrupt, "{}: JSON nested {} deep, the limit is {}", source, depth,
                max_depth);
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& e) {
    return fail(Code::corrupt, "{}: offset {}: not valid JSON: {}", source, e.byte, e.what());
  } catch (const nlohmann::json::exception& e) {  // a number out of range
    return fail(Code::corrupt, "{}: not valid JSON: {}", source, e.what());
  }
}

}  // namespace ruv
