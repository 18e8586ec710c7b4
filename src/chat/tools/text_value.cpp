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

// The JSON type of a value that JsonScan accepted. A number that no double holds is a number.
TypeSet type_of_json(std::string_view json) {
  const bool number = json.front() == '-' || (json.front() >= '0' && json.front() <= '9');
  if (number && json.find_first_of(".eE") == std::string_view::npos) {
    return TypeSet(TypeSet::integer);
  }
  const auto value = parse_json(json, "argument");
  return value ? type_of_value(*value) : TypeSet(TypeSet::number);
}

// The text if it is JSON of one of the types; it keeps its spelling. Line breaks in texts are
// escaped.
bool read_as_json(std::string_view text, TypeSet types, std::string& json) {
  JsonScan scan;
  json.clear();
  bool whole = false;
  for (const char c : text) {
    if (whole) return false;
    const JsonScan::Verdict verdict = scan.push(c, json);
    if (verdict == JsonScan::Verdict::bad || verdict == JsonScan::Verdict::over) return false;
    whole = verdict == JsonScan::Verdict::done;
  }
  if (!whole && !scan.whole_at_end()) return false;
  return !(types & type_of_json(json)).empty();
}

// Python's literals of one of the types.
bool read_as_python(std::string_view text, TypeSet types, std::string& json) {
  static const LiteralArguments kPython;
  TextCursor cursor;
  cursor.append(text);
  cursor.end();
  LiteralScan scan = LiteralScan::value(kPython);
  std::string written;
  return scan.read(cursor, written) == ReadStep::done && cursor.empty() &&
         read_as_json(written, types, json);
}

}  // namespace

std::string json_of_text(std::string_view text, TypeSet types, uint64_t offset,
                         ToolWarnings& warnings, bool has_quotes) {
  const std::string_view core = mark_core(text);
  TypeSet tried = types;
  if (has_quotes) {
  } else if (types.has(TypeSet::string) && !types.is_all()) {
    // Beside a text only what no text would look like.
    tried = types & TypeSet(TypeSet::null | TypeSet::array | TypeSet::object);
  } else {
    tried = types & TypeSet(127 - TypeSet::string);
  }
  std::string json;
  if (read_as_json(core, tried, json)) return json;
  if (read_as_python(core, tried, json)) return json;
  if (!types.has(TypeSet::string)) {
    warnings.push_back({ToolWarning::Kind::wrong_type, offset});
  }
  return quoted(text);
}

}  // namespace ruv
