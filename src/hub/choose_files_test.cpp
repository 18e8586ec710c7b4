#include "hub/choose_files.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

std::vector<RepoFile> files_of(std::initializer_list<const char*> names) {
  std::vector<RepoFile> files;
  for (const char* name : names) files.push_back({name, 100 + files.size(), {}});
  return files;
}

std::string opened(std::initializer_list<const char*> names, std::string_view want = {}) {
  const Result<ChosenFiles> chosen = choose_files(files_of(names), want);
  return chosen ? chosen->opened : "refused: " + chosen.error().message();
}

TEST(ChooseFiles, TakesTheUsualTypeOrTheNextBest) {
  EXPECT_EQ(opened({"m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q2_K.gguf"}), "m-Q4_K_M.gguf");
  EXPECT_EQ(opened({"m-f16.gguf", "m-q8_0.gguf", "m-q2_k.gguf"}), "m-q8_0.gguf");
  EXPECT_EQ(opened({"m.Q5_K_S.gguf", "m.Q4_K_S.gguf"}), "m.Q4_K_S.gguf");
  EXPECT_EQ(opened({"b.gguf", "a.gguf"}), "b.gguf") << "the smallest";
  EXPECT_EQ(opened({"mmproj-Q4_K_M.gguf", "m-Q8_0.gguf"}), "m-Q8_0.gguf");
}

TEST(ChooseFiles, TakesWhatIsNamed) {
  const auto names = {"m-Q4_K_M.gguf", "m-Q4_K.gguf", "sub/m-UD-Q4_K_XL.gguf", "mmproj-BF16.gguf"};
  EXPECT_EQ(opened(names, "q4_k"), "m-Q4_K.gguf");
  EXPECT_EQ(opened(names, "UD-Q4_K_XL"), "sub/m-UD-Q4_K_XL.gguf");
  EXPECT_EQ(opened(names, "mmproj-BF16.gguf"), "mmproj-BF16.gguf");
  EXPECT_EQ(opened(names, "Q6_K").substr(0, 18), "refused: it has no");
  EXPECT_EQ(opened({"a-Q8_0.gguf", "b-Q8_0.gguf"}, "Q8_0").substr(0, 33),
            "refused: 'Q8_0' is in several fil");
}

TEST(ChooseFiles, TakesAllPartsOrNone) {
  const auto parts = {"m-Q4_K_M-00002-of-00002.gguf", "m-Q4_K_M-00001-of-00002.gguf"};
  const auto chosen = choose_files(files_of(parts), "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->files.size(), 2U);
  EXPECT_EQ(chosen->opened, "m-Q4_K_M-00001-of-00002.gguf");
  EXPECT_EQ(opened({"m-Q4_K_M-00002-of-00002.gguf", "m-Q8_0.gguf"}), "m-Q8_0.gguf");
  EXPECT_EQ(opened({"m-Q4_K_M-00002-of-00002.gguf"}, "Q4_K_M"),
            "refused: 'm-Q4_K_M' has 1 of its 2 parts here");
}

TEST(ChooseFiles, TakesASafetensorsModelWithItsWeightsLast) {
  const auto chosen = choose_files(
      files_of({"consolidated.safetensors", "model-00001-of-00002.safetensors", "config.json",
                "model-00002-of-00002.safetensors", "model.safetensors.index.json", "x.bin"}),
      "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->opened, "");
  ASSERT_EQ(chosen->files.size(), 4U);
  EXPECT_EQ(chosen->files[0].path, "config.json");
  EXPECT_EQ(chosen->files[3].path, "model-00002-of-00002.safetensors");
  EXPECT_EQ(opened({"config.json", "model-00001-of-00002.safetensors"}),
            "refused: 'model' has 1 of its 2 parts here");
  EXPECT_EQ(opened({"x.bin"}), "refused: it has neither GGUF nor safetensors files");
}

TEST(QuantInName, IsTheLongestWord) {
  EXPECT_EQ(quant_in_name("sub/model-q4_k_m.gguf"), "Q4_K_M");
  EXPECT_EQ(quant_in_name("model.IQ3_XXS"), "IQ3_XXS");
  EXPECT_EQ(quant_in_name("xQ4_K_Mx"), "");
}

}  // namespace
}  // namespace ruv
