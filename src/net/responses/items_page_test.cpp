#include "net/responses/items_page.h"

#include <gtest/gtest.h>

#include <vector>

namespace ruv {
namespace {

// Items without ids, but for the third.
Json five_items() {
  Json items = Json::array();
  for (int i = 0; i < 5; ++i) items.push_back(Json{{"role", "user"}, {"content", i}});
  items[2]["id"] = "own";
  return items;
}

std::vector<int> contents_of(const Json& page) {
  std::vector<int> contents;
  for (const Json& item : page.at("data")) contents.push_back(item.at("content").get<int>());
  return contents;
}

TEST(ItemsPage, TheNewestComeFirstUnlessAskedOtherwise) {
  const Json page = *items_page("resp_a", five_items(), "");
  EXPECT_EQ(contents_of(page), (std::vector{4, 3, 2, 1, 0}));
  EXPECT_EQ(page.at("first_id"), "item_resp_a_4");
  EXPECT_EQ(page.at("last_id"), "item_resp_a_0");
  EXPECT_EQ(page.at("has_more"), false);
  EXPECT_EQ(contents_of(*items_page("resp_a", five_items(), "order=asc")),
            (std::vector{0, 1, 2, 3, 4}));
}

TEST(ItemsPage, PagesThatFollowEachOtherAreTheWhole) {
  for (const char* order : {"asc", "desc"}) {
    for (int limit = 1; limit <= 6; ++limit) {
      std::vector<int> seen;
      std::string after;
      bool has_more = true;
      while (has_more) {
        const Json page = *items_page("resp_a", five_items(),
                                      fmt::format("limit={}&order={}{}", limit, order, after));
        for (const int content : contents_of(page)) seen.push_back(content);
        ASSERT_LE(page.at("data").size(), static_cast<size_t>(limit));
        ASSERT_LE(seen.size(), 5U);
        EXPECT_EQ(page.at("last_id"), page.at("data").back().at("id"));
        EXPECT_EQ(page.at("first_id"), page.at("data").front().at("id"));
        after = "&after=" + page.at("last_id").get<std::string>();
        has_more = page.at("has_more").get<bool>();
      }
      const bool is_up = order == std::string_view("asc");
      EXPECT_EQ(seen, is_up ? (std::vector{0, 1, 2, 3, 4}) : (std::vector{4, 3, 2, 1, 0})) << limit;
    }
  }
}

TEST(ItemsPage, ItemsKeepTheIdsThatTheyHaveAlone) {
  const Json page = *items_page("resp_a", five_items(), "order=asc&after=own");
  EXPECT_EQ(contents_of(page), (std::vector{3, 4}));
  Json items = five_items();
  items[3]["id"] = "own";
  items[4]["id"] = 7;
  const Json named = *items_page("resp_a", items, "order=asc");
  EXPECT_EQ(named.at("data")[2].at("id"), "own");
  EXPECT_EQ(named.at("data")[3].at("id"), "item_resp_a_3");
  EXPECT_EQ(named.at("data")[4].at("id"), "item_resp_a_4");
}

TEST(ItemsPage, OfNothingHasNoIds) {
  for (const Json& page : {*items_page("resp_a", Json::array(), ""),
                           *items_page("resp_a", five_items(), "after=item_resp_a_0")}) {
    EXPECT_EQ(page.at("data"), Json::array());
    EXPECT_TRUE(page.at("first_id").is_null() && page.at("last_id").is_null());
    EXPECT_EQ(page.at("has_more"), false);
  }
}

TEST(ItemsPage, TwentyItemsUnlessAskedOtherwise) {
  Json items = Json::array();
  for (int i = 0; i < 150; ++i) items.push_back(Json{{"content", i}});
  const auto n_items = [&](const char* query) {
    return items_page("resp_a", items, query)->at("data").size();
  };
  EXPECT_EQ(n_items(""), 20U);
  EXPECT_EQ(n_items("api-version=v1"), 20U);
  EXPECT_EQ(n_items("limit=100"), 100U);
  EXPECT_EQ(n_items("limit=1"), 1U);
}

TEST(ItemsPage, WrongParametersAreRefusedByName) {
  const std::pair<const char*, const char*> kWrong[] = {{"limit=0", "limit"},
                                                        {"limit=101", "limit"},
                                                        {"limit=-1", "limit"},
                                                        {"limit=", "limit"},
                                                        {"limit=2x", "limit"},
                                                        {"limit=1e1", "limit"},
                                                        {"limit=99999999999999999999", "limit"},
                                                        {"order=", "order"},
                                                        {"order=ASC", "order"},
                                                        {"after=", "after"},
                                                        {"after=item_resp_b_0", "after"},
                                                        {"before=own", "before"},
                                                        {"include%5B%5D=x", "include[]"}};
  for (const auto& [query, name] : kWrong) {
    const auto page = items_page("resp_a", five_items(), query);
    ASSERT_FALSE(page) << query;
    EXPECT_EQ(page.error().status, 400) << query;
    EXPECT_EQ(page.error().param, name) << query;
  }
}

}  // namespace
}  // namespace ruv
