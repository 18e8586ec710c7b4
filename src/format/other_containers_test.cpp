// Containers that are recognised and refused with a way out.
#include "format/other_containers.h"

#include <gtest/gtest.h>

#include "format/model_file.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

std::string refusal_of(const std::string& bytes, const std::string& name) {
  const Status status = refuse_other_container(std::as_bytes(std::span(bytes)), name);
  return status.ok() ? "ok" : status.message();
}

TEST(OtherContainers, AreNamedWithWhatToDo) {
  EXPECT_NE(refusal_of("PK\x03\x04 rest", "a/model.pth").find("torch.load('model.pth'"),
            std::string::npos);
  EXPECT_NE(refusal_of("\x80\x02}q\x01", "old").find("a pickle of PyTorch"), std::string::npos);
  EXPECT_NE(refusal_of("lmgg....", "m.bin").find("a GGML file"), std::string::npos);
  EXPECT_NE(refusal_of("tjgg....", "m.bin").find("a GGJT file"), std::string::npos);
  EXPECT_NE(refusal_of("24ka....", "m.bin").find("llama2.c"), std::string::npos);
  EXPECT_EQ(refusal_of("GGUF....", "m.gguf"), "ok");
  EXPECT_EQ(refusal_of("PK\x03\x04 rest", "m.zip"), "ok");
  EXPECT_EQ(refusal_of("", "m.bin"), "ok");
}

TEST(OtherContainers, SizesOfLlama2CMustFillTheFile) {
  const int32_t sizes[7] = {8, 12, 2, 2, 1, 5, 16};
  const size_t n = 5 * 8 + 2 * (2 * 8 + 2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 12) + 8 + 16 * 4;
  std::string file(reinterpret_cast<const char*>(sizes), sizeof sizes);
  file.resize(sizeof sizes + 4 * n);
  EXPECT_NE(refusal_of(file, "m.bin").find("llama2.c"), std::string::npos);
  file.resize(file.size() - 4);
  EXPECT_EQ(refusal_of(file, "m.bin"), "ok");
}

TEST(OtherContainers, OpeningSaysSo) {
  const TestFolder folder;
  const auto opened = ModelFile::open(folder.write("m.pt", "PK\x03\x04 rest"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::unsupported);
  folder.write("config.json",
               R"({"model_type": "mystery", "architectures": ["MysteryForCausalLM"]})");
  folder.write("pytorch_model.bin", "PK\x03\x04 rest");
  const auto file = ModelFile::open(folder.path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_NE((*file)->usable().message().find("torch.load('pytorch_model.bin'"), std::string::npos)
      << (*file)->usable().message();
}

}  // namespace
}  // namespace ruv
