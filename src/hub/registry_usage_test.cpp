#include "hub/registry_usage.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ruv {
namespace {

using Sampling = std::vector<std::pair<std::string, double>>;

RegistryUsage usage_of(std::string_view params) {
  RegistryUsage usage;
  add_registry_params(params, usage);
  return usage;
}

TEST(RegistryUsage, ReadsParamsByTheNamesOfOptions) {
  const RegistryUsage usage =
      usage_of(R"({"temperature":0.6,"top_k":20,"repeat_penalty":1,"stop":["<a>","<b>"]})");
  EXPECT_EQ(usage.sampling,
            (Sampling{{"temperature", 0.6}, {"top_k", 20}, {"repetition_penalty", 1}}));
  EXPECT_EQ(usage.stop, (std::vector<std::string>{"<a>", "<b>"}));
  EXPECT_TRUE(usage.unused.empty());
  EXPECT_EQ(usage_of(R"({"stop":"<a>"})").stop, (std::vector<std::string>{"<a>"}));
  EXPECT_EQ(usage_of(R"({"repeat_last_n":-1,"top_k":-1,"presence_penalty":-1})").sampling,
            (Sampling{{"repetition_window", 1 << 30}, {"top_k", 0}, {"presence_penalty", -1}}));
}

TEST(RegistryUsage, NamesWhatHasNoEffect) {
  const auto unused = [](std::string_view params) {
    const RegistryUsage usage = usage_of(params);
    EXPECT_TRUE(usage.sampling.empty() && usage.stop.empty()) << params;
    return usage.unused.size() == 1 ? usage.unused.front() : "other";
  };
  EXPECT_EQ(unused(R"({"num_ctx":4096})"), "params: num_ctx (give it as --ctx)");
  EXPECT_EQ(unused(R"({"num_gpu":1})"), "params: num_gpu");
  EXPECT_EQ(unused(R"({"temperature":"hot"})"), "params: temperature (it is not a number)");
  EXPECT_EQ(unused(R"({"stop":[1]})"), "params: stop (it is not a list of texts)");
  EXPECT_EQ(unused(R"({"stop":{}})"), "params: stop (it is not a list of texts)");
  for (const char* text : {"", "7", "[]", "{", "\xff", R"({"a":[[[[[]]]]]})"})
    EXPECT_EQ(unused(text), "params (no JSON object)") << text;
  const std::string long_name(1000, 'x');
  EXPECT_EQ(unused("{\"" + long_name + "\":1}").size(), 8 + 60U);
}

TEST(RegistryUsage, ALaterLayerWins) {
  RegistryUsage usage = usage_of(R"({"temperature":1,"top_p":0.5,"stop":["a"]})");
  add_registry_params(R"({"temperature":0,"stop":["b"]})", usage);
  EXPECT_EQ(usage.sampling, (Sampling{{"temperature", 0}, {"top_p", 0.5}}));
  EXPECT_EQ(usage.stop, (std::vector<std::string>{"b"}));
  add_registry_system("first", usage);
  add_registry_system("second", usage);
  EXPECT_EQ(usage.system, "second");
  add_registry_system("\xff", usage);
  EXPECT_EQ(usage.system, "second");
  EXPECT_EQ(usage.unused, (std::vector<std::string>{"system message (no UTF-8)"}));
}

}  // namespace
}  // namespace ruv
