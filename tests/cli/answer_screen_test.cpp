// How answers look at a terminal. Each text is given at once, byte by byte and in pieces of three
// bytes, which must show the same.
#include "answer_screen.h"

#include <gtest/gtest.h>

#include <clocale>
#include <string>

namespace ruv {
namespace {

constexpr TerminalStyle kStyle{"<b>", "<d>", "<r>", "</>"};

std::string shown(std::string_view text, ScreenForm form, size_t width, size_t piece) {
  std::string out;
  AnswerScreen screen(form, width, kStyle, [&](std::string_view part) { out += part; });
  for (size_t at = 0; at < text.size(); at += piece) screen.add(text.substr(at, piece));
  screen.finish();
  return out;
}

std::string shown(std::string_view text, ScreenForm form = ScreenForm::markdown,
                  size_t width = 40) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const std::string whole = shown(text, form, width, text.size() + 1);
  EXPECT_EQ(shown(text, form, width, 1), whole);
  EXPECT_EQ(shown(text, form, width, 3), whole);
  return whole;
}

TEST(AnswerScreen, RawTextIsAsItIs) {
  EXPECT_EQ(shown("**a**\x1b[1m b", ScreenForm::raw), "**a**\x1b[1m b\n");
  EXPECT_EQ(shown("a\n", ScreenForm::raw), "a\n");
  EXPECT_EQ(shown("", ScreenForm::raw), "");
}

TEST(AnswerScreen, WordsAreNotBroken) {
  EXPECT_EQ(shown("one two three four five six", ScreenForm::wrapped, 20),
            "one two three four\nfive six\n");
  EXPECT_EQ(shown("a\n\nb", ScreenForm::wrapped, 20), "a\n\nb\n");
  EXPECT_EQ(shown("日本語日本語 日本語日本", ScreenForm::wrapped, 20),
            "日本語日本語\n日本語日本\n");
  EXPECT_EQ(shown("x aaaaaaaaaaaaaaaaaaaaaaaaa y", ScreenForm::wrapped, 20),
            "x\naaaaaaaaaaaaaaaaaaaaaaaaa y\n");
}

TEST(AnswerScreen, ControlCharactersDoNothing) {
  EXPECT_EQ(shown("a\x1b[2Jb\x07", ScreenForm::wrapped), "a<U+001B>[2Jb<U+0007>\n");
  EXPECT_EQ(shown("a\r\nb", ScreenForm::wrapped), "a\nb\n");
  EXPECT_EQ(shown("```\n\x1b[2J\n```"), "    <d><U+001B>[2J</>\n");
}

TEST(AnswerScreen, Emphasis) {
  EXPECT_EQ(shown("a **b c** d"), "a </><b>b c</> d\n");
  EXPECT_EQ(shown("*a* `b*c` d"), "</>\x1b[3ma</> </><d>b*c</> d\n");
  EXPECT_EQ(shown("(**a**)"), "(</><b>a</>)\n");
  EXPECT_EQ(shown("2**3 * 4 and a*b"), "2**3 * 4 and a*b\n");
  EXPECT_EQ(shown("**a\nb"), "</><b>a</>\nb\n");
}

TEST(AnswerScreen, HeadingsAndLists) {
  EXPECT_EQ(shown("## A title\nText"), "<b>A title</>\nText\n");
  EXPECT_EQ(shown("- one\n* two"), "• one\n• two\n");
  EXPECT_EQ(shown("1. one two three four", ScreenForm::markdown, 20),
            "1. one two three\n   four\n");
  EXPECT_EQ(shown("1984 was a year"), "1984 was a year\n");
}

TEST(AnswerScreen, BlocksOfCode) {
  EXPECT_EQ(shown("see\n```cpp\nint **a;\n\n  x;\n```\ndone"),
            "see\n    <d>int **a;</>\n    <d></>\n    <d>  x;</>\ndone\n");
  EXPECT_EQ(shown("```\nnever ended"), "    <d>never ended</>\n");
  EXPECT_EQ(shown("```"), "");
  EXPECT_EQ(shown("```cpp of a file\nx\n```\n"), "    <d>x</>\n");
}

TEST(AnswerScreen, ColumnsOfATerminal) {
  EXPECT_EQ(shown_columns("abc"), 3U);
  EXPECT_EQ(shown_columns("日本"), 4U);
  EXPECT_EQ(shown_columns("e\u0301"), 1U);
}

}  // namespace
}  // namespace ruv
