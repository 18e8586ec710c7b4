#include "ruv/adapter_registry.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/test_safetensors.h"
#include "format/test_folder.h"
#include "model/adapter.h"

namespace ruv {
namespace {

class AdapterRegistryTest : public testing::Test {
 protected:
  // A folder of PEFT with one matrix whose numbers are made of `seed`.
  std::string write(const std::string& name, float seed) const {
    const ModelInfo info = model_info(*model_);
    const std::string module = "base_model.model.model.layers.0.mlp.up_proj.lora_";
    TestMatrix a = counted(module + "A.weight", 2, info.n_embd);
    for (float& x : a.numbers) x += seed;
    std::filesystem::create_directories(folder_.path() + "/" + name);
    folder_.write(name + "/adapter_config.json", R"({"peft_type":"LORA","r":2})");
    folder_.write(name + "/adapter_model.safetensors",
                  safetensors_of({a, counted(module + "B.weight", info.n_ff, 2)}));
    return folder_.path() + "/" + name;
  }
  static std::string message(const Status& status) { return status.message(); }

  TestFolder folder_;
  std::shared_ptr<const Model> model_ =
      *load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
  AdapterRegistry registry_{model_, {.n_threads = 1}};
};

TEST_F(AdapterRegistryTest, NamesAreGivenOnce) {
  const std::string a = write("a", 1), b = write("b", 2);
  const Result<AdapterRecord> first = registry_.load("x", a);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->generation, 1U);
  EXPECT_EQ(first->info.max_rank, 2);
  EXPECT_EQ(registry_.load("x", a)->generation, 1U) << "it is the same";
  EXPECT_EQ(registry_.load("x", b).error().message(),
            "adapter 'x' is loaded already, generation 1; say that generation to replace it");
  EXPECT_EQ(registry_.load("x", b, {.generation = 0}).error().message(),
            "adapter 'x' is of generation 1, not 0");
  EXPECT_EQ(registry_.load("x", b, {.generation = 1})->generation, 2U);
  EXPECT_EQ(registry_.load("x", a, {.may_replace = true})->generation, 3U);
  EXPECT_EQ(registry_.load("y", b, {.generation = 3}).error().message(),
            "adapter 'y' is of generation 0, not 3");
  EXPECT_EQ(registry_.load("", a).error().code(), Code::invalid);
  EXPECT_EQ(registry_.load(std::string(257, 'n'), a).error().code(), Code::invalid);
  EXPECT_EQ(registry_.load("z", folder_.path() + "/none").error().code(), Code::not_found);
  ASSERT_EQ(registry_.list().size(), 1U);
  EXPECT_EQ(registry_.list()[0].info.path, a);
}

TEST_F(AdapterRegistryTest, WhatWasGivenStaysAfterItsNameIsGone) {
  ASSERT_TRUE(registry_.load("x", write("a", 1)));
  const auto held = *registry_.find("x");
  EXPECT_EQ(registry_.find("x"), held);
  EXPECT_EQ(message(registry_.unload("x", {.generation = 2})),
            "adapter 'x' is of generation 1, not 2");
  EXPECT_TRUE(registry_.unload("x").ok());
  EXPECT_EQ(registry_.n_bytes(), 0);
  EXPECT_EQ(registry_.find("x").error().code(), Code::not_found);
  EXPECT_EQ(registry_.unload("x").code(), Code::not_found);
  EXPECT_TRUE(registry_.unload("x", {.generation = 0}).ok());
  EXPECT_EQ(held->adapter.max_rank(), 2);
}

TEST_F(AdapterRegistryTest, LittleMemoryHoldsManyAdapters) {
  ASSERT_TRUE(registry_.load("probe", write("probe", 0)));
  const int64_t one = registry_.n_bytes();
  ASSERT_GT(one, 0);
  AdapterRegistry registry(model_, {.max_bytes = 8 * one, .max_known = 20, .n_threads = 1});
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("n{:02}", i);
    ASSERT_TRUE(registry.load(name, write(name, static_cast<float>(i))));
    EXPECT_LE(registry.n_bytes(), 8 * one);
  }
  const auto in_memory = [&] {
    std::string names;
    for (const AdapterRecord& record : registry.list()) {
      if (record.in_memory) names += record.name + " ";
    }
    return names;
  };
  EXPECT_EQ(in_memory(), "n12 n13 n14 n15 n16 n17 n18 n19 ");
  const auto held = *registry.find("n13");
  EXPECT_EQ((*registry.find("n00"))->info.path, folder_.path() + "/n00");
  EXPECT_EQ(in_memory(), "n00 n13 n15 n16 n17 n18 n19 ") << "n13 was used after n14";
  EXPECT_EQ(registry.find("n13"), held);
  EXPECT_EQ(registry.load("one more", write("more", 7)).error().code(), Code::out_of_memory);
}

TEST_F(AdapterRegistryTest, FilesThatChangedAreNotTakenForWhatWasLoaded) {
  AdapterRegistry registry(model_, {.max_bytes = 1, .n_threads = 1});
  ASSERT_TRUE(registry.load("x", write("a", 1)));
  ASSERT_TRUE(registry.load("y", write("b", 2)));
  const uint64_t key = (*registry.find("y"))->adapter.key;
  write("a", 3);
  EXPECT_NE(registry.find("x").error().message().find("has changed since it was loaded"),
            std::string::npos);
  const Result<AdapterRecord> again =
      registry.load("x", folder_.path() + "/a", {.may_replace = true});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->generation, 3U);
  EXPECT_NE((*registry.find("x"))->adapter.key, key);
}

// Each reader sees one version or the other, whole.
TEST_F(AdapterRegistryTest, IsReplacedWhileOthersRead) {
  const std::string paths[] = {write("a", 1), write("b", 2)};
  std::vector<uint64_t> keys;
  for (const std::string& path : paths) {
    ASSERT_TRUE(registry_.load("x", path, {.may_replace = true}));
    keys.push_back((*registry_.find("x"))->adapter.key);
  }
  std::atomic<bool> stop = false;
  std::atomic<int> n_wrong = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto found = registry_.find("x");
        const uint64_t key = found ? (*found)->adapter.key : 0;
        if (key != keys[0] && key != keys[1]) ++n_wrong;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(registry_.load("x", paths[i % 2], {.may_replace = true}));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(n_wrong, 0);
}

}  // namespace
}  // namespace ruv
