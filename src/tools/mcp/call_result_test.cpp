#include "tools/mcp/call_result.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

Result<ToolReply> read(std::string_view json) {
  return read_call_result(*parse_json(json, "test"));
}

TEST(CallResult, JoinsItsParts) {
  const auto reply =
      read(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},)"
           R"({"type":"image","mimeType":"image/png","data":"QUJDRA=="},)"
           R"({"type":"resource_link","uri":"file:///x","name":"x","description":"all of it"},)"
           R"({"type":"resource","resource":{"uri":"u:1","text":"inside"}},)"
           R"({"type":"resource","resource":{"uri":"u:2","blob":"QUJD"}},)"
           R"({"type":"audio","data":""}],"isError":true})");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_TRUE(reply->is_error);
  EXPECT_EQ(reply->text,
            "a\nb\n[image of type image/png, 4 bytes, which cannot be shown here]\n"
            "[resource x: file:///x, all of it]\n[resource u:1]\ninside\n"
            "[resource u:2 of type unknown, 3 bytes, which cannot be shown here]\n"
            "[audio of type unknown, 0 bytes, which cannot be shown here]");
}

TEST(CallResult, UsesStructureWhereThereIsNoText) {
  EXPECT_EQ(read(R"({"content":[],"structuredContent":{"n":1}})")->text, R"({"n":1})");
  EXPECT_EQ(read(R"({"structuredContent":{"n":1}})")->text, R"({"n":1})");
  EXPECT_EQ(read(R"({"structuredContent":{"n":1}})")->structured["n"], Json(1));
  EXPECT_EQ(read(R"({"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}})")->text,
            "one");
}

TEST(CallResult, NamesWhatIsWrong) {
  EXPECT_EQ(read(R"({})").error().message(), "tools/call: 'content' must be a list");
  EXPECT_EQ(read(R"({"content":[{"type":"text"}]})").error().message(),
            "tools/call: content[0]: 'text' is required");
  const auto unknown = read(R"({"content":[{"type":"smell"}]})");
  EXPECT_EQ(unknown.error().code(), Code::unsupported);
  EXPECT_EQ(unknown.error().message(), "tools/call: content[0]: content of type 'smell'");
  EXPECT_FALSE(read(R"({"content":[],"isError":1})"));
  EXPECT_FALSE(read("[]"));
}

TEST(ToolPage, IsRead) {
  const auto page = read_tool_page(*parse_json(
      R"({"tools":[{"name":"a","inputSchema":{"type":"object"},"title":"A"}],"nextCursor":"n"})",
      ""));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->tools[0].name, "a");
  EXPECT_EQ(page->next_cursor, "n");
  const auto broken = read_tool_page(*parse_json(R"({"tools":[{"name":"a"}]})", ""));
  EXPECT_EQ(broken.error().message(), "tools/list: tools[0] 'a': 'inputSchema' must be an object");
}

// Only a server that says both is believed.
TEST(ToolPage, KnowsHarmlessTools) {
  const std::pair<const char*, bool> cases[] = {
      {R"({"readOnlyHint":true,"openWorldHint":false})", true},
      {R"({"readOnlyHint":true})", false},
      {R"({"openWorldHint":false})", false},
      {R"({"readOnlyHint":true,"openWorldHint":true})", false},
      {R"({"readOnlyHint":"true","openWorldHint":0})", false},
      {"null", false},
      {"[]", false},
  };
  for (const auto& [annotations, harmless] : cases) {
    const auto page = read_tool_page(*parse_json(
        fmt::format(R"({{"tools":[{{"name":"a","inputSchema":{{}},"annotations":{}}}]}})",
                    annotations),
        ""));
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_EQ(page->tools[0].is_harmless, harmless) << annotations;
  }
}

}  // namespace
}  // namespace ruv
