#include "hub/registry_manifest.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

const std::string kTemplateDigest(64, 'a');
const std::string kModelDigest(64, 'b');

std::string layer(const std::string& kind, const std::string& hex, const std::string& size) {
  return R"({"mediaType":"application/vnd.ollama.image.)" + kind + R"(","digest":"sha256:)" + hex +
         R"(","size":)" + size + "}";
}

std::string manifest(const std::string& layers) {
  return R"({"schemaVersion":2,"config":)" + layer("json", kModelDigest, "3") + R"(,"layers":[)" +
         layers + "]}";
}

TEST(RegistryManifest, ReadsLayers) {
  const auto read = read_registry_manifest(
      manifest(layer("model", kTemplateDigest, "7") + "," + layer("license", kModelDigest, "3")),
      "x");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(check_layers(*read, "x").ok());
  ASSERT_NE(read->find(LayerKind::model), nullptr);
  EXPECT_EQ(read->find(LayerKind::model)->n_bytes, 7U);
  EXPECT_EQ(read->find(LayerKind::model)->digest.hex, kTemplateDigest);
  EXPECT_EQ(read->find(LayerKind::params), nullptr);
  EXPECT_EQ(all_layers(*read, "x")->size(), 2U);  // the licence has the digest of the config
}

TEST(RegistryManifest, RefusesWhatMakesNoSense) {
  for (const std::string& text :
       {std::string("7"), std::string("{}"), std::string("{\"layers\":[]}"), manifest("7"),
        manifest("{}"), manifest(layer("model", kTemplateDigest, "-1")),
        manifest(layer("model", kTemplateDigest, "1e99")),
        manifest(layer("model", kTemplateDigest, "\"7\"")),
        manifest(layer("model", "../../x", "7")),
        manifest(layer("model", std::string(40, 'a'), "7")), manifest(layer("model", "", "7")),
        manifest(R"({"digest":"md5:00","size":1})"),
        manifest(R"({"digest":"sha256:)" + kTemplateDigest + "\"}"),
        std::string(R"({"manifests":7})"), std::string(R"({"manifests":[7]})"),
        std::string(R"({"manifests":[{"runner":"ollama","digest":"sha256:../x"}]})")}) {
    const auto read = read_registry_manifest(text, "x");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), Code::corrupt) << text;
  }
  std::string many = layer("model", kTemplateDigest, "7");
  for (int i = 0; i < 64; ++i) many += "," + layer("license", kTemplateDigest, "7");
  EXPECT_FALSE(read_registry_manifest(manifest(many), "x"));
  EXPECT_FALSE(read_registry_manifest(std::string(kMaxManifest + 1, ' '), "x"));
}

TEST(RegistryManifest, OneSizeForADigest) {
  const auto read = read_registry_manifest(
      manifest(layer("model", kTemplateDigest, "7") + "," + layer("license", kTemplateDigest, "8")),
      "x");
  ASSERT_TRUE(read);
  EXPECT_FALSE(all_layers(*read, "x"));
}

TEST(RegistryManifest, NamesWhatCannotBeRun) {
  const auto said = [](const std::string& layers) {
    const auto read = read_registry_manifest(manifest(layers), "x");
    return read ? check_layers(*read, "x").message() : "refused";
  };
  EXPECT_NE(said(layer("model", kTemplateDigest, "1") + "," + layer("adapter", kModelDigest, "1"))
                .find("adapter"),
            std::string::npos);
  EXPECT_NE(said(layer("tensor", kTemplateDigest, "1")).find("tensors"), std::string::npos);
  EXPECT_NE(said("").find("0 GGUF files"), std::string::npos);
}

TEST(RegistryManifest, TakesTheOneForGgufFilesOfAList) {
  const std::string other = R"({"runner":"mlx","digest":"sha256:)" + kModelDigest + R"("},)";
  const auto listed = read_registry_manifest(R"({"manifests":[)" + other +
                                                 R"({"runner":"llamacpp","digest":"sha256:)" +
                                                 kTemplateDigest + R"("}]})",
                                             "x");
  ASSERT_TRUE(listed) << listed.error().message();
  ASSERT_TRUE(listed->listed);
  EXPECT_EQ(listed->listed->hex, kTemplateDigest);
  const auto whole =
      read_registry_manifest(R"({"manifests":[)" + other + R"({"runner":"ollama","config":)" +
                                 layer("json", kModelDigest, "1") + R"(,"layers":[)" +
                                 layer("model", kTemplateDigest, "7") + "]}]}",
                             "x");
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_TRUE(check_layers(*whole, "x").ok());
  const auto none = read_registry_manifest(R"({"manifests":[{"runner":"mlx"}]})", "x");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv
