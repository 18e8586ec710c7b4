#include "net/responses/response_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json.h"

namespace ruv {

// Written JSON has no line breaks.
Status save_response(SessionStore& files, const std::string& id, const StoredResponse& response) {
  const SessionStore::Hold hold = TRY(files.hold(response.owner, id));
  Session file;
  file.info.user = response.owner;
  file.info.name = id;
  file.info.created = file.info.updated = response.created;
  file.messages = fmt::format("{}\n{}\n{}", response.response, response.input, response.messages);
  return files.save(hold, file);
}

// What is read is sent to clients and continued, so that each part must be what it says.
Result<StoredResponse> load_response(const SessionStore& files, const SessionInfo& info) {
  Session file = TRY(files.load(info.user, info.name));
  const std::string source = fmt::format("kept response '{}'", info.name);
  std::array<std::string, 3> lines;
  std::string_view rest = file.messages;
  for (std::string& line : lines) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const Json response = TRY(parse_json(lines[0], source));
  const Json input = TRY(parse_json(lines[1], source));
  const Json messages = TRY(parse_json(lines[2], source));
  const bool has_items = input.is_array() && std::ranges::all_of(input, &Json::is_object);
  if (!rest.empty() || !response.is_object() || !has_items || !messages.is_array())
    return fail(Code::corrupt, "{}: not a response, its items and its conversation", source);
  if (response["status"] == "queued" || response["status"] == "in_progress") {
    lines[0] = interrupted_response(lines[0]);
  }
  return StoredResponse{.response = std::move(lines[0]),
                        .input = std::move(lines[1]),
                        .messages = std::move(lines[2]),
                        .created = info.created,
                        .owner = info.user};
}

Status erase_response(SessionStore& files, const std::string& owner, const std::string& id) {
  const SessionStore::Hold hold = TRY(files.hold(owner, id));
  return files.erase(hold);
}

}  // namespace ruv
