#include "tools/registry.h"

#include <gtest/gtest.h>

#include "tools/scripted_tool.h"

namespace ruv {
namespace {

std::vector<std::shared_ptr<Tool>> echo_tools(std::initializer_list<const char*> names) {
  std::vector<std::shared_ptr<Tool>> tools;
  for (const char* name : names) tools.push_back(echo_tool(name));
  return tools;
}

TEST(ToolName, FollowsOpenAisRules) {
  EXPECT_TRUE(check_tool_name("get_Weather-2").ok());
  EXPECT_TRUE(check_tool_name(std::string(64, 'a')).ok());
  EXPECT_FALSE(check_tool_name("").ok());
  EXPECT_FALSE(check_tool_name(std::string(65, 'a')).ok());
  const Status dotted = check_tool_name("a.b");
  EXPECT_EQ(dotted.code(), Code::invalid);
  EXPECT_NE(dotted.message().find("byte 1"), std::string::npos) << dotted.message();
  EXPECT_FALSE(check_tool_name("grüße").ok());
}

TEST(ToolRegistry, FindsToolsInTheOrderOfTheirSources) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.set_tools("one", echo_tools({"b", "a"})).ok());
  ASSERT_TRUE(registry.set_tools("two", echo_tools({"c"})).ok());
  ASSERT_TRUE(registry.set_tools("one", echo_tools({"d", "a"})).ok());
  std::string names;
  for (const auto& entry : registry.tools()) names += entry->spec().name;
  EXPECT_EQ(names, "dac");
  EXPECT_EQ(registry.find("b"), nullptr);
  EXPECT_EQ(registry.find("c")->source(), "two");
  EXPECT_EQ(registry.definitions()[0].dump(),
            R"({"type":"function","function":{"name":"d","description":"Returns its arguments.",)"
            R"("parameters":{}}})");
}

TEST(ToolRegistry, RefusesNamesThatAreTakenAndChangesNothingThen) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.set_tools("one", echo_tools({"a"})).ok());
  const uint64_t before = registry.revision();
  const Status taken = registry.set_tools("two", echo_tools({"b", "a"}));
  EXPECT_EQ(taken.message(), "two: the tool name 'a' is taken by one");
  EXPECT_EQ(registry.set_tools("two", echo_tools({"b", "b"})).message(),
            "two: has two tools named 'b'");
  EXPECT_FALSE(registry.set_tools("two", echo_tools({"b c"})).ok());
  EXPECT_EQ(registry.find("b"), nullptr);
  EXPECT_EQ(registry.revision(), before);
}

TEST(ToolRegistry, HoldsAThousandToolsOfTwentyServers) {
  ToolRegistry registry;
  for (int server = 0; server < 20; ++server) {
    std::vector<std::shared_ptr<Tool>> tools;
    for (int i = 0; i < 50; ++i) tools.push_back(echo_tool(fmt::format("s{}_t{}", server, i)));
    ASSERT_TRUE(registry.set_tools(fmt::format("s{}", server), std::move(tools)).ok());
  }
  EXPECT_EQ(registry.tools().size(), 1000u);
  EXPECT_EQ(registry.find("s19_t49")->source(), "s19");
}

TEST(ToolRegistry, ChecksArgumentsByTheGivenCheckMadeOnce) {
  int n_made = 0;
  ToolRegistry registry([&](const ToolSpec& spec) -> Result<ArgumentCheck> {
    ++n_made;
    if (spec.name == "odd") return fail(Code::unsupported, "schema: 'odd'");
    return ArgumentCheck([](std::string_view text) {
      return text.find("bad") == text.npos ? Status() : Status(Code::invalid, "'bad' is unknown");
    });
  });
  ASSERT_TRUE(registry.set_tools("one", echo_tools({"a", "odd"})).ok());
  EXPECT_EQ(n_made, 0);
  const ToolRegistry::Entry tool = registry.find("a");
  EXPECT_EQ(tool->read_arguments(R"({"x":1})")->dump(), R"({"x":1})");
  EXPECT_EQ(tool->read_arguments(" ")->dump(), "{}");
  EXPECT_EQ(tool->read_arguments(R"({"bad":1})").error().message(), "'bad' is unknown");
  EXPECT_EQ(tool->read_arguments("[1]").error().code(), Code::invalid);
  EXPECT_EQ(tool->read_arguments("{").error().code(), Code::corrupt);
  EXPECT_EQ(registry.find("odd")->read_arguments("{}").error().code(), Code::unsupported);
  EXPECT_EQ(n_made, 2);
}

}  // namespace
}  // namespace ruv
