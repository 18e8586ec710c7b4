#include "net/openai/query.h"

#include <fmt/format.h>

#include <charconv>

namespace ruv {

ApiError unknown_parameter(std::string_view name, std::string_view known) {
  return bad_request(
      std::string(name),
      fmt::format("unknown query parameter '{}'; it may be {}", shortened(name, 100), known),
      "unknown_query");
}

ApiResult<int64_t> query_integer(const QueryParameter& parameter, IntegerRange range) {
  const std::string& text = parameter.value;
  const char* const end = text.data() + text.size();
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= range.min && number <= range.max)
    return number;
  return tl::unexpected(
      bad_request(parameter.name,
                  fmt::format("'{}' must be from {} to {}", parameter.name, range.min, range.max)));
}

ApiResult<bool> query_flag(const QueryParameter& parameter) {
  if (parameter.value == "true") return true;
  if (parameter.value == "false") return false;
  return tl::unexpected(
      bad_request(parameter.name, fmt::format("'{}' must be true or false", parameter.name)));
}

ApiResult<void> check_no_query(const HttpRequest& http) {
  const std::vector<QueryParameter> parameters = query_parameters(http.query);
  if (parameters.empty()) return {};
  return tl::unexpected(unknown_parameter(parameters.front().name, "none"));
}

}  // namespace ruv
