#include "base/utf8.h"
#include "tools/tool.h"

namespace ruv {
namespace {

constexpr size_t kMaxToolName = 64;

bool may_be_in_tool_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

// Quotes at most as much of the name as may be valid.
Status check_tool_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxToolName) {
    return fail(Code::invalid, "tool name '{}': {} characters, must be 1 to {}",
                to_valid_utf8(name.substr(0, kMaxToolName)), name.size(), kMaxToolName);
  }
  for (size_t at = 0; at < name.size(); ++at) {
    if (may_be_in_tool_name(name[at])) continue;
    return fail(Code::invalid,
                "tool name '{}': the character at byte {} is not allowed; letters, digits, '_' "
                "and '-' are",
                to_valid_utf8(name), at);
  }
  return {};
}

}  // namespace ruv
