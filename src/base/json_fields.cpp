#include "base/json_fields.h"

#include "base/json.h"

namespace ruv {

Status status_of(const FieldError& error) {
  const bool is_unsupported = error.kind == FieldError::Kind::unsupported;
  return {is_unsupported ? Code::unsupported : Code::invalid, error.message};
}

tl::unexpected<FieldError> invalid_field(std::string field, std::string message,
                                         FieldError::Kind kind) {
  return tl::unexpected(FieldError{kind, std::move(field), std::move(message)});
}

tl::unexpected<FieldError> wrong_type(std::string field, std::string_view wanted,
                                      const Json& value) {
  std::string message = fmt::format("'{}' must be {}, not {}", field, wanted, type_words(value));
  return invalid_field(std::move(field), std::move(message), FieldError::Kind::wrong_type);
}

tl::unexpected<FieldError> missing_field(std::string field) {
  std::string message = fmt::format("'{}' is required", field);
  return invalid_field(std::move(field), std::move(message), FieldError::Kind::missing);
}

tl::unexpected<FieldError> unknown_field(std::string field) {
  std::string message = fmt::format("unknown field '{}'", field);
  return invalid_field(std::move(field), std::move(message), FieldError::Kind::unknown);
}

// A value's type as a phrase: "an integer", "a list".
std::string_view type_words(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::object:
      return "an object";
    case Json::Kind::array:
      return "an array";
    case Json::Kind::string:
      return "a string";
    case Json::Kind::boolean:
      return "a boolean";
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      return "an integer";
    case Json::Kind::big_integer:
      return "an integer of more than 64 bits";
    case Json::Kind::real:
      return "a number with a fraction";
    case Json::Kind::null:
      return "null";
  }
  return "";
}

// A null member counts as absent.
const Json* find_field(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

FieldResult<bool> read_flag(const Json& object, std::string_view name, bool fallback) {
  const Json* value = find_field(object, name);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  return wrong_type(std::string(name), "true or false", *value);
}

// Whole, and in the range; the message states both.
FieldResult<int64_t> integer_within(const std::string& name, const Json& value,
                                    IntegerRange range) {
  if (!value.is_number_integer()) return wrong_type(name, "an integer", value);
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = too_large ? INT64_MAX : value.get<int64_t>();
  if (too_large || number < range.min || number > range.max) {
    return invalid_field(name, fmt::format("'{}' is {}; it must be from {} to {}", name,
                                           value.dump(), range.min, range.max));
  }
  return number;
}

FieldResult<int64_t> read_integer(const Json& object, std::string_view name, int64_t fallback,
                                  IntegerRange range) {
  const Json* value = find_field(object, name);
  if (value == nullptr) return fallback;
  return integer_within(std::string(name), *value, range);
}

}  // namespace ruv
