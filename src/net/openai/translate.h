// What the readers of other APIs share that turn a body into the body of a chat request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "net/api_error.h"

namespace ruv {

// Reads a member of the body into the chat request.
struct MemberReader {
  const char* name;
  ApiResult<void> (*read)(const Json& value, Json& chat);
};
// Calls those whose members are there. Fails as the first that does.
ApiResult<void> read_members(const Json& body, std::span<const MemberReader> readers, Json& chat);

// A member that must be a text. `where` is put before its name. Fails: 400.
ApiResult<std::string> text_member(const Json& object, const char* name, const std::string& where);

// A field of chat requests, and the one that it was made of.
struct FieldName {
  std::string_view chat, own;
};
// The error with the field's own name, in its message, too. Members and elements of a field count
// as the field.
ApiError named_as(std::span<const FieldName> names, ApiError error);

}  // namespace ruv
