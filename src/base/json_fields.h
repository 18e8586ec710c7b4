// Checked access to the fields of a JSON object that came from outside: each failure names the
// field, and says of what kind it is, so that an API can turn it into its own error.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ruv {

// Why a field was refused.
struct FieldError {
  enum class Kind { missing, wrong_type, unknown, unsupported, invalid };
  Kind kind = Kind::invalid;
  std::string field;  // with its path: "messages[1].content[0].type"
  std::string message;
};
// Unsupported for fields of that kind, else invalid.
Status status_of(const FieldError& error);

template <class T>
using FieldResult = tl::expected<T, FieldError>;

// "'field' must be a string, not an integer".
tl::unexpected<FieldError> wrong_type(std::string field, std::string_view wanted,
                                      const Json& value);
// "'field' is required".
tl::unexpected<FieldError> missing_field(std::string field);
// "unknown field 'field'".
tl::unexpected<FieldError> unknown_field(std::string field);
tl::unexpected<FieldError> invalid_field(std::string field, std::string message,
                                         FieldError::Kind kind = FieldError::Kind::invalid);

// "a string", "an object": a value's type in an error message.
std::string_view type_words(const Json& value);

// Null when the member is absent or null.
const Json* find_field(const Json& object, std::string_view name);

// Absent and null give the fallback; another type or range is an error.
FieldResult<bool> read_flag(const Json& object, std::string_view name, bool fallback);
struct IntegerRange {
  int64_t min;
  int64_t max;
};
FieldResult<int64_t> read_integer(const Json& object, std::string_view name, int64_t fallback,
                                  IntegerRange range);
// The value of the field `name`; the error has the number as it was sent.
FieldResult<int64_t> integer_within(const std::string& name, const Json& value, IntegerRange range);

}  // namespace ruv
