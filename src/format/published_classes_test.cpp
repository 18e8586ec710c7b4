#include "format/published_classes.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(PublishedClasses, AreClassesOfCharactersAndEscapes) {
  const std::string punctuation = punctuation_class();
  EXPECT_TRUE(punctuation.starts_with("[\\!-\\/\\:-\\@\\[-\\`\\{-\\~"));
  EXPECT_TRUE(punctuation.ends_with("]"));
  EXPECT_NE(punctuation.find("\u2010-\u2027"), std::string::npos);
  EXPECT_EQ(punctuation.find("\u2E43"), std::string::npos);  // of Unicode 9
  EXPECT_TRUE(word_class().starts_with("[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\u200C-\u200D"));
}

}  // namespace
}  // namespace ruv
