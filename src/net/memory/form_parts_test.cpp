#include "net/memory/form_parts.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ruv {
namespace {

const std::string kForm =
    "--xyz\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n"
    "--xyz\r\ncontent-disposition: FORM-DATA; name=file; filename=\"a \\\"b\\\".md\"\r\n"
    "Content-Type: text/markdown\r\n\r\n# A\r\n\r\n--xy\r\n\r\n--xyz\r\n"
    "Content-Disposition: form-data; name=\"empty\"; filename=\"\"\r\n\r\n\r\n--xyz--\r\n";

TEST(FormParts, AreTakenApart) {
  const auto parts = parse_form(kForm, "xyz");
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_EQ(parts->size(), 3U);
  EXPECT_EQ((*parts)[0].name, "purpose");
  EXPECT_EQ((*parts)[0].content, "assistants");
  EXPECT_FALSE((*parts)[0].is_file);
  EXPECT_EQ((*parts)[1].filename, "a \"b\".md");
  EXPECT_EQ((*parts)[1].content, "# A\r\n\r\n--xy\r\n");
  EXPECT_TRUE((*parts)[2].is_file);
  EXPECT_EQ((*parts)[2].content, "");
  EXPECT_EQ(parse_form("before\r\n" + kForm, "xyz")->size(), 3U) << "a preamble";
  EXPECT_TRUE(parse_form("--xyz--", "xyz")->empty());
}

TEST(FormParts, ThatAreNotWellFormedAreRefused) {
  for (const char* body :
       {"", "x", "--xyz", "--xyz\r\n", "--xyz\r\n\r\n\r\n--xyz--",
        "--xyz\r\nContent-Disposition: form-data\r\n\r\na\r\n--xyz--",
        "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\nno end",
        "--xyz\r\nContent-Disposition: form-data; name=a\r\n--xyz--",
        "--xyz\r\nContent-Disposition: attachment; name=a\r\n\r\na\r\n--xyz--",
        "--xyz\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: "
        "base64\r\n\r\n"
        "YQ==\r\n--xyz--",
        "--xyz and more\r\nContent-Disposition: form-data; name=a\r\n\r\na\r\n--xyz--"}) {
    EXPECT_FALSE(parse_form(body, "xyz")) << body;
  }
  EXPECT_FALSE(parse_form(kForm, ""));
  EXPECT_FALSE(parse_form(kForm, std::string(71, 'x')));
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many += "--x\r\nContent-Disposition: form-data; name=a\r\n\r\na\r\n";
  }
  EXPECT_FALSE(parse_form(many + "--x--", "x"));
}

// Whatever comes: no crash, and contents are bytes of the body.
TEST(FormParts, OfChangedBytesAreReadOrRefused) {
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    std::string body = kForm;
    for (int i = 0; i < 3; ++i) {
      const size_t at = rng.next() % body.size();
      if (round % 3 == 0) body.erase(at, 1 + rng.next() % 9);
      if (round % 3 == 1) body[at] = "\r\n-;=\"\\x: "[rng.next() % 10];
      if (round % 3 == 2) body.resize(at + 1);
    }
    const auto parts = parse_form(body, "xyz");
    if (!parts) continue;
    for (const FormPart& part : *parts) {
      if (part.content.empty()) continue;
      EXPECT_GE(part.content.data(), body.data());
      EXPECT_LE(part.content.data() + part.content.size(), body.data() + body.size());
    }
  }
}

}  // namespace
}  // namespace ruv
