#include "engine/indent_stop.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

struct Ended {
  std::string text;
  bool stopped;
  bool operator==(const Ended&) const = default;
};

// In pieces of n bytes.
Ended ended(std::string_view text, int64_t least, size_t n) {
  IndentStop stop(least);
  std::string all;
  for (size_t i = 0; i < text.size(); i += n) all += stop.push(text.substr(i, n));
  return {all + stop.finish(), stop.stopped()};
}

TEST(IndentStop, EndsBeforeALineThatIsIndentedLess) {
  struct Case {
    std::string text;
    int64_t least;
    Ended wanted;
  };
  const Case cases[] = {
      {"x\n  y\n    z\n  w", 2, {"x\n  y\n    z\n  w", false}},
      {"x\n  y\n z\n  w", 2, {"x\n  y\n", true}},
      {"x\ny", 1, {"x\n", true}},
      {"x\n\ty", 1, {"x\n\ty", false}},
      {"x\n\n  y", 2, {"x\n", true}},  // an empty line
      {"x\n  \n", 2, {"x\n  \n", false}},
      {"x\n ", 2, {"x\n ", false}},  // the answer ended there
      {"x\ny\n\nz", 0, {"x\ny\n\nz", false}},
      {" \n", 3, {" \n", false}},
  };
  for (const Case& one : cases) {
    for (size_t n = 1; n <= one.text.size(); ++n) {
      EXPECT_EQ(ended(one.text, one.least, n), one.wanted) << one.text << ", pieces of " << n;
    }
  }
}

TEST(IndentStop, HoldsBackOnlyTheIndentation) {
  IndentStop stop(3);
  EXPECT_EQ(stop.push("ab\n  "), "ab\n");
  EXPECT_EQ(stop.push(" "), "");
  EXPECT_EQ(stop.push(" c"), "    c");
  EXPECT_EQ(stop.push("\n d"), "\n");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.push("\n      e"), "");
  EXPECT_EQ(stop.finish(), "");
}

}  // namespace
}  // namespace ruv
