// A page's text is what a browser shows, with a mark for each heading, whatever the bytes are.
#include "memory/html_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/utf8.h"

namespace ruv::html_text_test {
namespace {

std::string text_of(std::string_view page) {
  const auto read = read_html(page);
  return read ? read->text : "refused: " + read.error().message();
}

TEST(HtmlText, IsWhatABrowserShows) {
  const std::pair<const char*, const char*> cases[] = {
      {"<!DOCTYPE html><title>T</title><body><p>One\n  two<p>three<br>four</body>",
       "One two\n\nthree\nfour"},
      {"a<script>if (x < 1) {'</p>'}</script>b<style>p{}</style>c", "abc"},
      {"a<SCRIPT src=x>b</Scripty>c</SCRIPT >d", "ad"},
      {"a<script>no end", "a"},
      {"a<!-- b <p> --> c <!--> d <!---> e <!-- f", "a c d e"},
      {"<ul><li>one<li>two</ul><table><tr><td>a<td>b<tr><td>c</table>", "one\ntwo\n\na b\nc"},
      {"<pre>\n a\n  b</pre>c&nbsp; d", " a\n  b\n\nc d"},
      {"&lt;b&gt; &amp;amp; &eacute;&#233;&#xE9;&#x1F600; &copy 1 &nosuch; &#; & &amp",
       "<b> &amp; \u00E9\u00E9\u00E9\U0001F600 \u00A9 1 &nosuch; &#; & &"},
      {"&#0;&#128;&#xD800;&#99999999999;&hearts", "\uFFFD\u20AC\uFFFD\uFFFD&hearts"},
      {"1 < 2 <3 </ x>4<?php x ?>5<![CDATA[6]]>7", "1 < 2 <3 457"},
      {"a<p title='>' data-x=\"<b>\" hidden=x>b<p>c", "a\n\nc"},
      {"a<div hidden><div>b</div>c</div>d", "a\n\nd"},
      {"a<span style='color: red; DISPLAY : none'>b</span>c", "ac"},
      {"<ul><li hidden><ul><li>x</ul>y<li>z</ul>", "z"},
      {"<ul><li>a<li hidden>x</ul>b", "a\n\nb"},
      {"a<img hidden alt=x>b<svg/>c<svg><svg></svg>x</svg>d<noscript>e</noscript>", "abcd"},
      {"<textarea>a &amp; <b></textarea><xmp>&amp;</xmp>", "a & <b>\n\n&amp;"},
      {"so\u00ADft \xEF\xBB\xBF", "soft \uFEFF"},
      {"a<p", "a"},
      {"", ""},
  };
  for (const auto& [page, text] : cases) EXPECT_EQ(text_of(page), text) << page;
}

TEST(HtmlText, HeadingsAreMarkedAndBeginChunks) {
  const auto read = read_html(
      "<h1>The <em>ship</em></h1><p>It sails.<h2>C# &amp;<br>crew</h2><h3></h3>The cook."
      "<h2>Ports<p>Here</h2># no heading");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text,
            "The ship\n\nIt sails.\n\nC# & crew\n\nThe cook.\n\nPorts\n\nHere\n\n# no heading");
  const auto chunks = *chunks_of(read->text, {}, read->marks);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].headings, "The ship");
  EXPECT_EQ(chunks[1].headings, "The ship > C# & crew");
  EXPECT_EQ(chunks[2].headings, "The ship > Ports");
}

TEST(HtmlText, EncodingsAreReadOrRefused) {
  EXPECT_EQ(text_of("<meta charset=\"ISO-8859-1\"><p>caf\xE9 \x80"), "caf\u00E9 \u20AC");
  EXPECT_EQ(text_of("\xEF\xBB\xBF<p>caf\u00E9"), "caf\u00E9");
  EXPECT_NE(text_of("<meta charset=big5>\xA4\xA4").find("byte 19"), std::string::npos);
  EXPECT_NE(text_of("\xFF\xFE<\0p\0>\0").find("UTF-16"), std::string::npos);
}

// Parts of pages in any order, cut anywhere.
TEST(HtmlText, AnyPageGivesTextWithMarksAtLines) {
  constexpr std::string_view kParts[] = {
      "<p>",         "</p>",   "<h1>",   "</h2>", "<div hidden>", "</div>",
      "<li hidden>", "<ul>",   "</ul>",  "<pre>", "</pre>",       "&amp;",
      "&#x",         "text ",  "\n",     "<!--",  "-->",          "<script>",
      "</script>",   "<a b='", "'>",     "<svg>", "</svg>",       "<textarea>",
      "</textarea>", "<",      "\u00E9", "<br>"};
  Rng rng(3);
  for (int turn = 0; turn < 2000; ++turn) {
    std::string page;
    for (uint64_t i = rng.below(40); i > 0; --i) page += kParts[rng.below(std::size(kParts))];
    const auto read = read_html(page);
    ASSERT_TRUE(read);
    EXPECT_TRUE(is_valid_utf8(read->text));
    EXPECT_LE(read->text.size(), page.size());
    for (const TextMark& mark : read->marks) {
      ASSERT_LT(mark.at, std::ssize(read->text));
      EXPECT_TRUE(mark.at == 0 || read->text[static_cast<size_t>(mark.at) - 1] == '\n') << page;
    }
    EXPECT_TRUE(chunks_of(read->text, {}, read->marks));
  }
}

// A reader that recurs, or looks for each end from the beginning, does not get through these.
TEST(HtmlText, DeepAndLongPagesAreRead) {
  for (const std::string_view part : {"<div>", "<div hidden>", "<svg>", "<", "</", "<!-", "&",
                                      "<a '", "<textarea></", "<h1>", "&#", "<p x="}) {
    std::string page;
    while (page.size() < 2'000'000) page += part;
    EXPECT_TRUE(read_html(page));
  }
}

}  // namespace
}  // namespace ruv::html_text_test
