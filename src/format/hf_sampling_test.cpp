#include "format/hf_sampling.h"

#include <gtest/gtest.h>

#include "format/test_folder.h"

namespace ruv::hf_sampling_test {
namespace {

struct ReadConfig {
  MetaMap metadata;
  std::vector<std::string> remarks;
};

ReadConfig read(const std::string& text) {
  const TestFolder folder;
  folder.write("generation_config.json", text);
  ReadConfig out;
  read_generation_config(folder.path(), out.metadata, out.remarks);
  return out;
}

TEST(GenerationConfig, BecomesKeysOfGgufFiles) {
  const ReadConfig out = read(R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0,
      "repetition_penalty": 1.05, "typical_p": 0.9, "do_sample": true, "eos_token_id": [1, 2], "max_length": 9})");
  EXPECT_TRUE(out.remarks.empty());
  EXPECT_EQ(out.metadata.size(), 7U);
  EXPECT_EQ(std::get<double>(out.metadata.at("general.sampling.temp")), 0.6);
  EXPECT_EQ(std::get<int64_t>(out.metadata.at("general.sampling.top_k")), 20);
  EXPECT_EQ(std::get<double>(out.metadata.at("general.sampling.top_p")), 0.95);
  EXPECT_EQ(std::get<int64_t>(out.metadata.at("general.sampling.min_p")), 0);
  EXPECT_EQ(std::get<double>(out.metadata.at("general.sampling.penalty_repeat")), 1.05);
  EXPECT_EQ(std::get<int64_t>(out.metadata.at("general.sampling.penalty_last_n")), -1);
  EXPECT_EQ(std::get<double>(out.metadata.at("general.sampling.typical_p")), 0.9);
}

TEST(GenerationConfig, ThatDoesNotSampleIsGreedy) {
  const ReadConfig out = read(R"({"do_sample": false, "temperature": 0.6, "top_p": 0.9})");
  EXPECT_EQ(out.metadata.size(), 1U);
  EXPECT_EQ(std::get<double>(out.metadata.at("general.sampling.temp")), 0);
}

TEST(GenerationConfig, IsAdviceThatMayBeWrong) {
  EXPECT_TRUE(read(R"({"eta_cutoff": 0, "num_beams": 1, "temperature": null})").remarks.empty());
  EXPECT_EQ(read(R"({"eta_cutoff": 0.5})").remarks.size(), 1U);
  EXPECT_EQ(read(R"({"temperature": "warm"})").remarks.size(), 1U);
  EXPECT_EQ(read("[1]").remarks.size(), 1U);
  EXPECT_EQ(read(std::string(100, '[')).remarks.size(), 1U);
  ReadConfig none;
  read_generation_config(TestFolder().path(), none.metadata, none.remarks);
  EXPECT_TRUE(none.metadata.empty() && none.remarks.empty());
}

}  // namespace
}  // namespace ruv::hf_sampling_test
