// What routes that read the query of a path share: a parameter that they do not know is refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_fields.h"
#include "net/api_error.h"
#include "net/http/message.h"

namespace ruv {

// 400 unknown_query; `known`: the parameters that there are, as "limit or after".
ApiError unknown_parameter(std::string_view name, std::string_view known);
// A whole number in decimal digits. Fails: 400 naming the parameter and the range.
ApiResult<int64_t> query_integer(const QueryParameter& parameter, IntegerRange range);
// "true" or "false". Fails: 400 naming the parameter.
ApiResult<bool> query_flag(const QueryParameter& parameter);

// That a path has no query. Fails: 400 unknown_query.
ApiResult<void> check_no_query(const HttpRequest& http);

}  // namespace ruv
