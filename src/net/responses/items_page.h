// The items of a kept response's request, a page at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "net/api_error.h"

namespace ruv {

// The list that the query asks for: `limit` (1 to 100, 20 where it says nothing), `order` ("desc",
// where it says nothing, or "asc") and `after`, the id of the item before the first. `items`: those
// of the response of this id, of which each gets an id of its own. Fails: 400 naming the parameter.
ApiResult<Json> items_page(std::string_view response_id, Json items, std::string_view query);

}  // namespace ruv
