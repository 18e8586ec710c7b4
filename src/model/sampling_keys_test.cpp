#include "model/sampling_keys.h"

#include <gtest/gtest.h>

#include "format/gguf_writer.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

using Sampling = std::vector<std::pair<std::string, double>>;

// What a file with these keys recommends, and what is said about it.
Sampling read(const MetaMap& keys, std::vector<std::string>& remarks) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  auto out = GgufWriter::create(path, {.replace = true});
  EXPECT_TRUE(out);
  out->add_text("general.architecture", "llama");
  for (const auto& [key, value] : keys) out->add("general.sampling." + key, value);
  EXPECT_TRUE(out->begin_tensors().ok());
  EXPECT_TRUE(out->commit().ok());
  const auto file = ModelFile::open(path);
  EXPECT_TRUE(file) << file.error().message();
  return read_sampling(**file, remarks);
}

TEST(SamplingKeys, AllThatLlamaCppWritesIsRead) {
  std::vector<std::string> remarks;
  const Sampling found = read({{"temp", 0.5},
                               {"top_k", int64_t{20}},
                               {"top_p", 0.5},
                               {"min_p", 0.25},
                               {"xtc_probability", 0.5},
                               {"xtc_threshold", 0.25},
                               {"penalty_last_n", int64_t{9}},
                               {"penalty_repeat", 1.5},
                               {"mirostat", int64_t{2}},
                               {"mirostat_tau", 4.5},
                               {"mirostat_eta", 0.25}},
                              remarks);
  EXPECT_EQ(found, (Sampling{{"temperature", 0.5},
                             {"top_k", 20},
                             {"top_p", 0.5},
                             {"min_p", 0.25},
                             {"repetition_penalty", 1.5},
                             {"repetition_window", 9},
                             {"xtc_probability", 0.5},
                             {"xtc_threshold", 0.25},
                             {"mirostat", 2},
                             {"mirostat_tau", 4.5},
                             {"mirostat_eta", 0.25}}));
  EXPECT_TRUE(remarks.empty());
}

TEST(SamplingKeys, OutOfRangeAreNotUsedAndSaid) {
  std::vector<std::string> remarks;
  const Sampling found = read({{"mirostat", int64_t{3}},
                               {"mirostat_eta", -0.5},
                               {"xtc_probability", 1.5},
                               {"xtc_threshold", 0.5}},
                              remarks);
  EXPECT_EQ(found, (Sampling{{"xtc_threshold", 0.5}}));
  EXPECT_EQ(remarks.size(), 3U);
}

}  // namespace
}  // namespace ruv
