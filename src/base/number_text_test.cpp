#include "base/number_text.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(NumberText, IsReadAsFarAsItGoes) {
  double value = 7;
  const std::string_view text = "-1.25e2";
  const auto whole = read_number(text, value);
  EXPECT_EQ(whole.ec, std::errc());
  EXPECT_EQ(whole.ptr, text.data() + text.size());
  EXPECT_EQ(value, -125);
  for (const std::string_view huge : {"1e999", "1e-999"}) {
    EXPECT_EQ(read_number(huge, value).ec, std::errc::result_out_of_range) << huge;
  }
  EXPECT_EQ(read_number("+1", value).ec, std::errc::invalid_argument);
  EXPECT_EQ(value, -125);
}

}  // namespace
}  // namespace ruv
