#include "net/responses/response_store.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(ResponseStore, KeepsAndForgets) {
  ResponseStore store;
  store.put("a", {"1", "2", "3"});
  ASSERT_TRUE(store.find("a"));
  EXPECT_EQ(store.find("a")->messages, "3");
  store.put("a", {"4", "", ""});
  EXPECT_EQ(store.find("a")->response, "4");
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_FALSE(store.find("a"));
  EXPECT_EQ(store.n_bytes(), 0U);
}

TEST(ResponseStore, DropsTheOldestWhereThereIsNoRoom) {
  ResponseStore by_number(1 << 20, 3);
  for (const char* id : {"a", "b", "c", "d"}) by_number.put(id, {"x", "", ""});
  EXPECT_FALSE(by_number.find("a"));
  EXPECT_TRUE(by_number.find("b") && by_number.find("d"));

  ResponseStore by_size(10'000);
  for (int i = 0; i < 100; ++i) {
    by_size.put(std::to_string(i), {std::string(1000, 'x'), "", ""});
    EXPECT_LE(by_size.n_bytes(), 10'000U);
  }
  EXPECT_TRUE(by_size.find("99") && by_size.find("95"));
  EXPECT_FALSE(by_size.find("80"));
  // What is larger than all room takes none of it.
  by_size.put("large", {std::string(20'000, 'x'), "", ""});
  EXPECT_FALSE(by_size.find("large"));
  EXPECT_TRUE(by_size.find("99"));
}

}  // namespace
}  // namespace ruv
