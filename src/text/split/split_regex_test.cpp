#include "text/split/split_regex.h"

#include <gtest/gtest.h>

#include "text/split/regex_scanner.h"

namespace ruv {
namespace {

// Matches of a pattern in a text, as package `tokenizers` (Oniguruma) finds them.
std::vector<std::string> matches_of(std::string_view pattern, std::string_view text) {
  const auto scanner = RegexScanner::create(pattern);
  if (!scanner) return {scanner.error().message()};
  std::vector<std::string> found;
  for (size_t at = 0; at <= text.size();) {
    const auto match = scanner->find(text, at);
    if (!match) break;
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
    at = match->end + (match->end == match->begin ? 1U : 0U);
  }
  return found;
}

using Matches = std::vector<std::string>;

TEST(SplitRegex, LiteralsEscapesAndClasses) {
  EXPECT_EQ(matches_of("a.c", "abc a\nc"), (Matches{"abc"}));
  EXPECT_EQ(matches_of(R"([a-c\-\]x])", "a-]dx"), (Matches{"a", "-", "]", "x"}));
  EXPECT_EQ(matches_of("[]a]", "x]a"), (Matches{"]", "a"}));
  EXPECT_EQ(matches_of("[a-z-9]", "b-9"), (Matches{"b", "-", "9"}));
  EXPECT_EQ(matches_of("[^a-y&&[^z]]", "az"), (Matches{"z"}));
  EXPECT_EQ(matches_of("[a-z&&[^aeiou]&&[^x-z]]+", "abcxd"), (Matches{"bc", "d"}));
  EXPECT_EQ(matches_of("[[ab][cd]]+", "xabcdx"), (Matches{"abcd"}));
  EXPECT_EQ(matches_of(R"([[:digit:][:space:]]+)", "a1 2b"), (Matches{"1 2"}));
  EXPECT_EQ(matches_of(R"([[:^digit:]])", "1a"), (Matches{"a"}));
  EXPECT_EQ(matches_of(R"(\x{e9}|\u00e8|\x41|\t)", "éèA\t"), (Matches{"é", "è", "A", "\t"}));
  EXPECT_EQ(matches_of(R"(\h+|\v)", "aG1\x0b"), (Matches{"a", "1", "\x0b"}));
  EXPECT_EQ(matches_of(R"(\p{^Han}|\P{L})", "a日"), (Matches{"a"}));
  EXPECT_EQ(matches_of(R"([\b\0])", std::string("\b\0", 2)), (Matches{"\b", std::string(1, '\0')}));
  EXPECT_EQ(matches_of("a]}", "a]}"), (Matches{"a]}"}));
}

TEST(SplitRegex, LoopsAreGreedyLazyOrPossessive) {
  EXPECT_EQ(matches_of("a{2,3}", "aaaaaaa"), (Matches{"aaa", "aaa"}));
  EXPECT_EQ(matches_of("a{2,3}?", "aaaaa"), (Matches{"aa", "aa"}));
  EXPECT_EQ(matches_of("a{,2}b", "aaab"), (Matches{"aab"}));
  EXPECT_EQ(matches_of("a+?b|a", "aab"), (Matches{"aab"}));
  EXPECT_EQ(matches_of("a++a|a", "aaa"), (Matches{"a", "a", "a"}));
  EXPECT_EQ(matches_of("a?+a", "aaa"), (Matches{"aa"}));
  EXPECT_EQ(matches_of("(?>a+)b|a", "aab"), (Matches{"aab"}));
  // Oniguruma: {n}? is optional, {n,m}+ loops, a brace that is no interval is a character.
  EXPECT_EQ(matches_of("x[0-9]{2}?", "x123"), (Matches{"x12"}));
  EXPECT_EQ(matches_of("[0-9]{1,3}+", "1234567"), (Matches{"1234567"}));
  EXPECT_EQ(matches_of("a{|b{1,", "a{b{1,"), (Matches{"a{", "b{1,"}));
}

TEST(SplitRegex, AlternativesAndGroupsInOrder) {
  EXPECT_EQ(matches_of("a|ab", "ab"), (Matches{"a"}));
  EXPECT_EQ(matches_of("(?:a|ab)(c|bcd)", "abcd"), (Matches{"abcd"}));
  EXPECT_EQ(matches_of("(?<n>x)(y)?(?P<m>z)|(?#no)w", "xz w xyz"), (Matches{"xz", "w", "xyz"}));
  EXPECT_EQ(matches_of("(?:p{0,1}q?)?r", "pqr"), (Matches{"pqr"}));
}

TEST(SplitRegex, CaseIsIgnoredForAsciiAndItsTwins) {
  EXPECT_EQ(matches_of("(?i:'s|K)", "'S'\u017Fk\u212A"), (Matches{"'S", "'\u017F", "k", "\u212A"}));
  EXPECT_EQ(matches_of("a(?i)b|c", "aBcC ac aC"), (Matches{"aB", "ac", "aC"}));
  EXPECT_EQ(matches_of("(?i:[a-c]-(?-i:x))", "B-x B-X"), (Matches{"B-x"}));
  EXPECT_EQ(matches_of(R"((?i:[^\s\p{L}\p{N}]+))", "!?a"), (Matches{"!?"}));
}

TEST(SplitRegex, LookaheadOfOneCharacter) {
  EXPECT_EQ(matches_of(R"(\s+(?!\S)|\s+)", "a   b  "), (Matches{"  ", " ", "  "}));
  EXPECT_EQ(matches_of("a(?=b|$)", "abaca"), (Matches{"a", "a"}));
  EXPECT_EQ(matches_of("a(?=[bc]+)", "ab ac ad"), (Matches{"a", "a"}));
  EXPECT_EQ(matches_of(R"((?=\p{L})[^a-z]+)", "a日本B"), (Matches{"日本B"}));
  EXPECT_EQ(matches_of(R"(\s+$)", "a  \nb "), (Matches{"  ", " "}));
  EXPECT_EQ(matches_of(R"(a\z)", "a\na"), (Matches{"a"}));
  EXPECT_EQ(matches_of(R"(\Aa)", "aa"), (Matches{"a"}));
  EXPECT_EQ(matches_of("(?=b)|c", "abc"), (Matches{"", "c"}));
}

TEST(SplitRegex, QuotedTextMatchesItself) {
  const std::string text = "a.b*c[d]{2}(e|f)^$\\+?é";
  EXPECT_EQ(matches_of(SplitRegex::quote(text), "x" + text + "y"), (Matches{text}));
}

void expect_refused(std::string_view pattern, Code code, std::string_view part) {
  const auto regex = SplitRegex::parse(pattern);
  ASSERT_FALSE(regex) << pattern;
  EXPECT_EQ(regex.error().code(), code) << pattern;
  EXPECT_NE(regex.error().message().find(part), std::string::npos) << regex.error().message();
}

TEST(SplitRegex, WhatCannotBeRunExactlyIsRefusedWithItsPlace) {
  expect_refused("ab(?<=a)", Code::unsupported, "byte 3: look-behind");
  expect_refused(R"((a)\1)", Code::unsupported, "byte 4: back references");
  expect_refused("a(?=bc)", Code::unsupported, "byte 7: lookahead of several");
  expect_refused(R"(\d{1,3}(?=(?:\d{3})*\b))", Code::unsupported, "byte 21: this escape");
  expect_refused("(?=(a{3})+)b", Code::unsupported, "lookahead of several");
  expect_refused("^a", Code::unsupported, "byte 0: ^ looks back");
  expect_refused("(?:ab)++c", Code::unsupported, "possessive");
  expect_refused("(?>ab|a)c", Code::unsupported, "atomic");
  expect_refused("(a*)*", Code::unsupported, "may be empty");
  expect_refused("(?i:straSSe)", Code::unsupported, "one character in another case");
  expect_refused("(?i:é)", Code::unsupported, "beyond ASCII");
  expect_refused("(?m:.)", Code::unsupported, "options");
  expect_refused(R"(\pL)", Code::unsupported, "braces");
  expect_refused(R"(\p{Klingon})", Code::unsupported, "\"Klingon\"");
  expect_refused(R"([[:alpha:]])", Code::unsupported, "[:alpha:]");
  expect_refused(R"(a\xe9)", Code::unsupported, "byte 2: \\x above 7F");
  expect_refused("a{1001}", Code::unsupported, "1000 repeats");
}

TEST(SplitRegex, BrokenPatternsAreCorrupt) {
  expect_refused("a(b", Code::corrupt, "byte 3: ( without )");
  expect_refused("a)b", Code::corrupt, "byte 1: ) without (");
  expect_refused("x[a-", Code::corrupt, "byte 4: the pattern ends");
  expect_refused("[b-a]", Code::corrupt, "backwards");
  expect_refused(R"([\s-a])", Code::corrupt, "a range from a class");
  expect_refused("a|*", Code::corrupt, "byte 2: nothing to repeat");
  expect_refused("a\\", Code::corrupt, "byte 2: the pattern ends");
  expect_refused(R"(\p{L)", Code::corrupt, "\\p{ without }");
  expect_refused(R"(\x{110000})", Code::corrupt, "U+10FFFF");
  expect_refused("a\xFF", Code::corrupt, "not UTF-8");
}

TEST(SplitRegex, SizesAreLimited) {
  expect_refused(std::string(60, '(') + "a" + std::string(60, ')'), Code::unsupported, "nested");
  expect_refused(std::string(30, '[') + "a" + std::string(30, ']'), Code::unsupported, "nested");
  expect_refused("a" + std::string(100, '?') + "b", Code::unsupported, "nested");
  expect_refused(std::string(20000, 'a'), Code::unsupported, "longer than 16384");
  EXPECT_TRUE(SplitRegex::parse(std::string(16384, 'a')));
  const auto places = RegexScanner::create("(?:(?:a{1000}){1000}){1000}");
  ASSERT_FALSE(places);
  EXPECT_NE(places.error().message().find("20000 places"), std::string::npos);
  const auto states = RegexScanner::create("[ab]*a[ab]{14}");
  ASSERT_FALSE(states);
  EXPECT_NE(states.error().message().find("4096 states"), std::string::npos);
}

}  // namespace
}  // namespace ruv
