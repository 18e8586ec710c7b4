// From bare text to JSON. Templates print values as Python does, and models repeat what they read.
#include "base/json.h"
#include "chat/tools/argument_reader.h"
#include "chat/tools/json_scan.h"
#include "chat/tools/literal_scan.h"

namespace ruv {
namespace {

std::string quoted(std::string_view text) {
  std::string json = "\"";
  append_in_json_string(json, text);
  return json + '"';
}

// The text if it is JSON of one of the types; it keeps its spelling.
bool read_as_json(std::string_view text, TypeSet types) {
  const auto value = parse_json(text, "argument");
  return value && types.admits(*value);
}

// Python's literals of one of the types.
bool read_as_python(std::string_view text, TypeSet types, std::string& json) {
  static const LiteralArguments kPython;
  TextCursor cursor;
  cursor.append(text);
  cursor.end();
  LiteralScan scan = LiteralScan::value(kPython);
  json.clear();
  return scan.read(cursor, json) == ReadStep::done && cursor.empty() && read_as_json(json, types);
}

}  // namespace

std::string json_of_text(std::string_view text, TypeSet types, uint64_t offset,
                         ToolWarnings& warnings) {
  const std::string_view core = mark_core(text);
  TypeSet tried = types;
  if (types.has(TypeSet::string) && !types.is_all()) {
    // Beside a text only what no text would look like.
    tried = types & TypeSet(TypeSet::null | TypeSet::array | TypeSet::object);
  } else {
    tried = types & TypeSet(127 - TypeSet::string);
  }
  if (read_as_json(core, tried)) return std::string(core);
  std::string json;
  if (read_as_python(core, tried, json)) return json;
  if (!types.has(TypeSet::string)) {
    warnings.push_back({ToolWarning::Kind::wrong_type, offset});
  }
  return quoted(text);
}

}  // namespace ruv
