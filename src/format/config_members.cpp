#include "format/config_members.h"

#include <cmath>

#include "format/tensor_names.h"

namespace ruv {

bool Members::is_set(std::string_view name) const {
  const Json* const value = find(name);
  return value != nullptr && !value->is_null();
}

// Real numbers are refused even if they are whole.
Result<int64_t> Members::integer(std::string_view name) const {
  const Json* const value = find(name);
  if (value == nullptr) return wrong(name, "is missing");
  if (value->is_null()) return wrong(name, "is null");
  if (!value->is_number_integer()) return wrong(name, "is not an integer");
  const bool fits = value->is_number_unsigned() ? value->get<uint64_t>() <= INT32_MAX
                                                : value->get<int64_t>() >= 0;
  if (!fits) return wrong(name, "is not in the range 0 to 2^31 - 1");
  return value->get<int64_t>();
}

Result<int64_t> Members::positive(std::string_view name) const {
  const int64_t value = TRY(integer(name));
  if (value == 0) return wrong(name, "is 0");
  return value;
}

Result<int64_t> Members::positive_or(std::string_view name, int64_t otherwise) const {
  if (otherwise != 0 && !has(name)) return otherwise;
  return positive(name);
}

Result<std::optional<double>> Members::number(std::string_view name) const {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    return wrong(name, value->is_null() ? "is null" : "is not a finite number");
  }
  return value->get<double>();
}

Result<std::optional<bool>> Members::truth(std::string_view name) const {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) return wrong(name, "is not true or false");
  return value->get<bool>();
}

Result<std::string> Members::text_or(std::string_view name, std::string_view otherwise) const {
  const Json* const value = find(name);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) return wrong(name, value->is_null() ? "is null" : "is not text");
  return value->get<std::string>();
}

// Errors inside name the whole path.
Result<Members> Members::object(std::string_view name) const {
  static const Json kEmpty = Json::object();
  const Json* const value = find(name);
  std::string path = path_of(name) + ".";
  if (value == nullptr || value->is_null()) return Members(kEmpty, *source_, std::move(path));
  if (!value->is_object()) return wrong(name, "is not an object");
  return Members(*value, *source_, std::move(path));
}

tl::unexpected<Status> Members::wrong(std::string_view name, std::string_view what,
                                      Code code) const {
  return fail(code, "{}: '{}' {}", *source_, quoted_name(path_of(name)), what);
}

// Long values are cut.
std::string Members::shown(std::string_view name) const {
  const Json* const value = find(name);
  if (value == nullptr) return "absent";
  if (value->is_object()) return value->empty() ? "{}" : "{…}";
  if (value->is_array() && value->size() > 8) return fmt::format("[… {} values]", value->size());
  return quoted_name(value->dump());
}

}  // namespace ruv
