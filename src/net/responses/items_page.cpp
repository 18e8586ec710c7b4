#include "net/responses/items_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr int64_t kMaxPageItems = 100;

struct PageQuery {
  int64_t limit = 20;
  bool newest_first = true;
  std::string after = {};  // empty: from the first on
};

ApiResult<void> read_page_parameter(const QueryParameter& parameter, PageQuery& page) {
  const auto& [name, value] = parameter;
  if (name == "limit") {
    page.limit = TRY(query_integer(parameter, {1, kMaxPageItems}));
    return {};
  }
  if (name == "after") {
    page.after = value;
    if (!value.empty()) return {};
    return tl::unexpected(bad_request(name, "'after' must be the id of an item"));
  }
  if (name == "api-version") return {};  // Azure's clients send it with every request
  if (name != "order") return tl::unexpected(unknown_parameter(name, "limit, order or after"));
  page.newest_first = value == "desc";
  if (page.newest_first || value == "asc") return {};
  return tl::unexpected(bad_request(
      name, fmt::format("'order' is '{}'; it must be asc or desc", shortened(value, 100))));
}

// Items keep the ids that their client gave them. Others, and those that repeat an id, get one that
// follows from the response's, as a page may begin after any item.
void name_items(std::string_view response_id, Json& items) {
  std::set<std::string, std::less<>> taken;
  for (size_t i = 0; i < items.size(); ++i) {
    Json& item = items[i];
    const Json* own = item.find("id");
    const bool is_free = own != nullptr && own->is_string() && !own->empty() &&
                         taken.insert(std::string(own->text())).second;
    if (!is_free) item["id"] = fmt::format("item_{}_{}", response_id, i);
  }
}

}  // namespace

ApiResult<Json> items_page(std::string_view response_id, Json items, std::string_view query) {
  PageQuery page;
  for (const QueryParameter& parameter : query_parameters(query)) {
    TRY(read_page_parameter(parameter, page));
  }
  name_items(response_id, items);
  if (page.newest_first) std::reverse(items.begin(), items.end());
  const Json* first = items.begin();
  if (!page.after.empty()) {
    const auto has_id = [&](const Json& item) { return item.at("id").text() == page.after; };
    first = std::find_if(first, std::as_const(items).end(), has_id);
    if (first == items.end()) {
      return tl::unexpected(bad_request(
          "after",
          fmt::format("'after': the response has no item '{}'", shortened(page.after, 100))));
    }
    ++first;
  }
  const Json* const last = first + std::min<int64_t>(page.limit, items.end() - first);
  Json data = Json::array();
  for (const Json* item = first; item != last; ++item) data.push_back(*item);
  Json first_id = data.empty() ? Json() : data.front().at("id");
  Json last_id = data.empty() ? Json() : data.back().at("id");
  return Json{{"object", "list"},
              {"data", std::move(data)},
              {"first_id", std::move(first_id)},
              {"last_id", std::move(last_id)},
              {"has_more", last != items.end()}};
}

}  // namespace ruv
