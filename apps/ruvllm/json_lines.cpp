// The loop over lines and the checked access to their members.
#include "json_lines.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "command_line.h"

namespace ruv {

Result<Json> parse_json_line(const std::string& text, int64_t number) {
  Json line = TRY(parse_json(text, fmt::format("line {}", number)));
  if (!line.is_object()) return fail(Code::corrupt, "line {}: not a JSON object", number);
  return line;
}

void answer_json_lines(std::istream& in, const LineAnswer& answer) {
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    Result<Json> line = parse_json_line(text, number);
    const Result<Json> out = line ? answer(*line) : std::move(line);
    print_json_line(out ? *out : Json{{"error", out.error().message()}});
    std::fflush(stdout);
  }
}

Result<std::string> text_member(const Json& line, const char* name) {
  const Json* found = line.find(name);
  if (found == nullptr || !found->is_string())
    return fail(Code::invalid, "\"{}\" must be a text", name);
  return found->get<std::string>();
}

Result<bool> flag_member(const Json& line, const char* name, bool when_absent) {
  const Json* found = line.find(name);
  if (found == nullptr) return when_absent;
  if (!found->is_boolean()) return fail(Code::invalid, "\"{}\" must be true or false", name);
  return found->get<bool>();
}

Result<std::vector<Token>> ids_member(const Json& line, const char* name, int64_t limit) {
  const Json* found = line.find(name);
  if (found == nullptr || !found->is_array())
    return fail(Code::invalid, "\"{}\" must be a list of token ids", name);
  std::vector<Token> ids;
  ids.reserve(found->size());
  for (const Json& id : *found) {
    const bool whole = id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(limit);
    if (!whole)
      return fail(Code::invalid, "\"{}\"[{}]: {} is not an id from 0 to {}", name, ids.size(),
                  id.dump(), limit - 1);
    ids.push_back(id.get<Token>());
  }
  return ids;
}

}  // namespace ruv
