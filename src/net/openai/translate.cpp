#include "net/openai/translate.h"

#include "base/json.h"

namespace ruv {

ApiResult<void> read_members(const Json& body, std::span<const MemberReader> readers, Json& chat) {
  for (const MemberReader& reader : readers) {
    if (const Json* value = find_field(body, reader.name)) TRY(reader.read(*value, chat));
  }
  return {};
}

ApiResult<std::string> text_member(const Json& object, const char* name, const std::string& where) {
  const std::string field = fmt::format("{}.{}", where, name);
  const Json* value = find_field(object, name);
  if (value == nullptr) return missing_field(field);
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  return value->get<std::string>();
}

ApiError named_as(std::span<const FieldName> names, ApiError error) {
  for (const FieldName& name : names) {
    const std::string_view rest =
        std::string_view(error.param)
            .substr(error.param.starts_with(name.chat) ? name.chat.size() : error.param.size());
    const bool is_field =
        error.param == name.chat || rest.starts_with('.') || rest.starts_with('[');
    if (!is_field) continue;
    const std::string quoted = fmt::format("'{}'", error.param);
    if (const size_t at = error.message.find(quoted); at != std::string::npos) {
      error.message.replace(at, quoted.size(), fmt::format("'{}'", name.own));
    }
    error.param = name.own;
    break;
  }
  return error;
}

}  // namespace ruv
