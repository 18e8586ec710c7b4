#include "tools/command_spec.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

std::string file_of(std::string_view fields) {
  return R"({"tools":[{"name":"t","description":"d","command":["cat"])" + std::string(fields) +
         "}]}";
}

TEST(CommandSpec, ReadsEveryField) {
  const auto specs = read_command_specs(
      file_of(R"(,"parameters":{"type":"object"},"limits":{"wall_s":2,"cpu_s":3,"memory_mb":64,)"
              R"("output_kb":5,"file_mb":6,"processes":7},"read_only":["/a"],"writable":["/b"],)"
              R"("network":true,"environment":{"LANG":"C","X":"y"},"folder":"/a")"),
      "f");
  ASSERT_TRUE(specs) << specs.error().message();
  const CommandSpec& spec = specs->at(0);
  EXPECT_EQ(spec.tool.parameters.dump(), R"({"type":"object"})");
  EXPECT_EQ(spec.program.timeout_ms, 2000);
  EXPECT_EQ(spec.program.max_output_bytes, 5u << 10);
  EXPECT_EQ(spec.process.cpu_seconds, 3u);
  EXPECT_EQ(spec.process.memory_bytes, 64u << 20);
  EXPECT_EQ(spec.process.file_bytes, 6u << 20);
  EXPECT_EQ(spec.sandbox.max_processes, 7);
  EXPECT_EQ(spec.sandbox.read_only, std::vector<std::string>{"/a"});
  EXPECT_EQ(spec.sandbox.writable, std::vector<std::string>{"/b"});
  EXPECT_TRUE(spec.sandbox.network);
  EXPECT_EQ(spec.sandbox.folder, "/a");
  const std::vector<std::string> environment{"PATH=" + std::string(kDefaultProgramPath),
                                             "HOME=/tmp", "TMPDIR=/tmp", "LANG=C", "X=y"};
  EXPECT_EQ(spec.environment, environment);
}

TEST(CommandSpec, NeedsConsentWhereItReachesOut) {
  const std::pair<const char*, bool> cases[] = {
      {"", false},
      {R"(,"read_only":["/a"])", false},
      {R"(,"writable":["/b"])", true},
      {R"(,"network":true)", true},
      {R"(,"consent":true)", true},
      {R"(,"network":true,"consent":false)", false},
  };
  for (const auto& [fields, needed] : cases) {
    const auto specs = read_command_specs(file_of(fields), "f");
    ASSERT_TRUE(specs) << specs.error().message();
    EXPECT_EQ(specs->at(0).tool.needs_consent, needed) << fields;
  }
}

TEST(CommandSpec, RefusesByName) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "f: must be an object {\"tools\": […]}"},
      {R"({"tools":[],"x":1})", "f: must be an object {\"tools\": […]}"},
      {R"({"tools":[1]})", "f: tools[0]: must be an object"},
      {R"({"tools":[{}]})", "f: tools[0]: 'name' is required"},
      {R"({"tools":[{"name":"t","description":"d"}]})", "f: tools[0]: 'command' is required"},
      {file_of(R"(,"shell":true)"), "f: tools[0]: unknown field 'shell'"},
      {file_of(R"(,"limits":{"gpu":1})"), "f: tools[0]: unknown field 'gpu'"},
      {file_of(R"(,"limits":{"wall_s":0})"),
       "f: tools[0]: 'wall_s' is 0; it must be from 1 to 86400"},
      {file_of(R"(,"read_only":["a"])"),
       "f: tools[0]: 'read_only[0]' is 'a', not an absolute path"},
      {file_of(R"(,"writable":[1])"),
       "f: tools[0]: 'writable[0]' must be a string, not an integer"},
      {file_of(R"(,"environment":{"A=B":"c"})"), "f: tools[0]: 'environment': 'A=B' is not a name"},
      {file_of(R"(,"environment":{"A":"\u0000"})"),
       "f: tools[0]: 'environment' contains a zero byte"},
      {file_of(R"(,"parameters":[])"), "f: tools[0]: 'parameters' must be an object, not an array"},
      {file_of(R"(,"consent":"no")"), "f: tools[0]: 'consent' must be true or false, not a string"},
      {file_of(R"(,"folder":"x")"), "f: tools[0]: 'folder' is not an absolute path"},
      {R"({"tools":[{"name":"t","description":"d","command":["./x"]}]})",
       "f: tools[0]: 'command' begins with './x': give an absolute path or a name alone"},
      {R"({"tools":[{"name":"t","description":"d","command":[]}]})",
       "f: tools[0]: 'command' names no program"},
  };
  for (const auto& [text, message] : cases) {
    const auto specs = read_command_specs(text, "f");
    ASSERT_FALSE(specs) << text;
    EXPECT_EQ(specs.error().message(), message);
  }
  EXPECT_EQ(read_command_specs("{", "f").error().code(), Code::corrupt);
}

}  // namespace
}  // namespace ruv
