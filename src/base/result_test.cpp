#include "base/result.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Try, PassesValuesAndErrors) {
  const auto half = [](int n) -> Result<int> {
    if (n % 2 != 0) return fail(Code::invalid, "{} is odd", n);
    return n / 2;
  };
  const auto quarter = [&](int n) -> Result<int> { return TRY(half(TRY(half(n)))); };
  const auto check = [&](int n) -> Status {
    TRY(quarter(n));
    return {};
  };
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_TRUE(check(12).ok());
  EXPECT_EQ(with_context("here", check(6)).message(), "here: 3 is odd");
}

}  // namespace
}  // namespace ruv
