#include "base/faults.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Faults, KeepsEachOnceAndCountsWhatIsTooMuch) {
  Faults faults;
  EXPECT_TRUE(faults.empty() && faults.first().ok());
  faults.add(Status());
  EXPECT_TRUE(faults.empty());
  faults.add(Status(Code::corrupt, "a"));
  faults.add(Status(Code::unsupported, "b"));
  faults.add(Status(Code::corrupt, "a"));
  EXPECT_EQ(faults.all().size(), 2U);
  EXPECT_EQ(faults.first().message(), "a");
  for (int i = 0; i < 100; ++i) faults.add(Status(Code::corrupt, std::to_string(i)));
  EXPECT_TRUE(faults.is_full());
  EXPECT_EQ(faults.all().size(), Faults::kMost);
  EXPECT_EQ(faults.n_left_out(), 102 - static_cast<int64_t>(Faults::kMost));
  Faults more;
  more.add(faults);
  EXPECT_EQ(more.n_left_out(), faults.n_left_out());
}

TEST(Faults, OnlyWhatIsUnsupportedIsPassedOver) {
  Faults faults;
  EXPECT_TRUE(faults.keep_unsupported(Status()).ok());
  EXPECT_TRUE(faults.keep_unsupported(Status(Code::unsupported, "a")).ok());
  EXPECT_EQ(faults.keep_unsupported(Status(Code::corrupt, "b")).message(), "b");
  EXPECT_EQ(faults.all().size(), 1U);
}

}  // namespace
}  // namespace ruv
