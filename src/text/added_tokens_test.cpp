#include "text/added_tokens.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

// "text" for plain sections and "[id]" for tokens, with what strips ate: "[3:\n]".
std::vector<std::string> sections_of(const std::vector<AddedToken>& tokens, std::string_view text,
                                     std::vector<SpecialRange> ranges = {}) {
  if (ranges.empty()) ranges = {{text.size(), SpecialParsing::on}};
  std::vector<Section> sections;
  AddedTokens(tokens).split(text, ranges, sections);
  std::vector<std::string> out;
  size_t end = 0;
  for (const Section& s : sections) {
    EXPECT_EQ(s.begin, end);
    end = s.end;
    const std::string part(text.substr(s.begin, s.end - s.begin));
    out.push_back(s.id < 0 ? part : fmt::format("[{}:{}]", s.id, part));
  }
  EXPECT_EQ(end, text.size());
  return out;
}

using Sections = std::vector<std::string>;

TEST(AddedTokens, LeftmostThenLongest) {
  const std::vector<AddedToken> tokens = {{.id = 1, .text = "ab"},
                                          {.id = 2, .text = "abcd"},
                                          {.id = 3, .text = "bc"},
                                          {.id = 4, .text = "  "}};
  EXPECT_EQ(sections_of(tokens, "xabcdy"), (Sections{"x", "[2:abcd]", "y"}));
  EXPECT_EQ(sections_of(tokens, "abce"), (Sections{"[1:ab]", "ce"}));
  EXPECT_EQ(sections_of(tokens, "bcbc   "), (Sections{"[3:bc]", "[3:bc]", "[4:  ]", " "}));
  EXPECT_EQ(sections_of(tokens, ""), Sections{});
  EXPECT_EQ(sections_of({}, "ab"), Sections{"ab"});
}

TEST(AddedTokens, StripsEatWhiteSpace) {
  const std::vector<AddedToken> tokens = {{.id = 1, .text = "<r>", .rstrip = true},
                                          {.id = 2, .text = "<l>", .lstrip = true}};
  EXPECT_EQ(sections_of(tokens, "a <r>\n\u3000b"), (Sections{"a ", "[1:<r>\n\u3000]", "b"}));
  EXPECT_EQ(sections_of(tokens, "a \u3000<l> b"), (Sections{"a", "[2: \u3000<l>]", " b"}));
  EXPECT_EQ(sections_of(tokens, "<r>  <l>"), (Sections{"[1:<r>  ]", "[2:<l>]"}));
}

TEST(AddedTokens, SingleWordStandsBetweenNonWordCharacters) {
  const std::vector<AddedToken> tokens = {{.id = 1, .text = "cat", .single_word = true}};
  EXPECT_EQ(sections_of(tokens, "cat, cats \u00E9cat cat"),
            (Sections{"[1:cat]", ", cats \u00E9cat ", "[1:cat]"}));
}

TEST(AddedTokens, ControlTokensOnlyWhereParsingIsOn) {
  const std::vector<AddedToken> tokens = {{.id = 1, .text = "<s>", .special = true},
                                          {.id = 2, .text = "<t>"}};
  const auto on = SpecialParsing::on;
  const auto off = SpecialParsing::off;
  EXPECT_EQ(sections_of(tokens, "<s><t><s>", {{3, on}, {9, off}}),
            (Sections{"[1:<s>]", "[2:<t>]", "<s>"}));
  // Half in the template and half in the user's text is no control token.
  EXPECT_EQ(sections_of(tokens, "a<s>b", {{2, on}, {5, off}}), Sections{"a<s>b"});
  EXPECT_EQ(sections_of(tokens, "a<s>b", {{2, off}, {5, on}}), Sections{"a<s>b"});
  EXPECT_EQ(sections_of(tokens, "x<s>", {{1, off}, {4, on}}), (Sections{"x", "[1:<s>]"}));
}

TEST(AddedTokens, AShorterControlTokenIsFoundWhereTheLongerDoesNotFit) {
  const std::vector<AddedToken> tokens = {{.id = 1, .text = "<s>", .special = true},
                                          {.id = 2, .text = "<s>x", .special = true}};
  EXPECT_EQ(sections_of(tokens, "<s>x", {{3, SpecialParsing::on}, {4, SpecialParsing::off}}),
            (Sections{"[1:<s>]", "x"}));
}

}  // namespace
}  // namespace ruv
