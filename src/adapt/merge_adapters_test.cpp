// Adapters that are merged and written are read again: ranks, scales, types, what is refused.
#include "adapt/merge_adapters.h"

#include <gtest/gtest.h>

#include "base/test_safetensors.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr const char* kModule = "base_model.model.layers.0.q_proj";

// A folder of PEFT with one module of 3 by 4, rank 2 and scale 1.5.
void write_peft(const TestFolder& folder, const std::string& base, const char* module = kModule) {
  const std::string name = module;
  folder.write("adapter_model.safetensors",
               safetensors_of({counted(name + ".lora_A.weight", 2, 4),
                               counted(name + ".lora_B.weight", 3, 2)}));
  folder.write(
      "adapter_config.json",
      R"({"peft_type":"LORA","r":2,"lora_alpha":3,"base_model_name_or_path":")" + base + "\"}");
}

Result<MergeSummary> merge_folders(const std::vector<std::string>& paths, const std::string& out,
                                   const MergeRecipe& recipe, const MergeOptions& options = {}) {
  std::vector<AdapterFile> files;
  for (const std::string& path : paths) files.push_back(open_adapter(path).value());
  const Result<AdapterSet> set = AdapterSet::join(files, recipe);
  if (!set) return tl::unexpected(set.error());
  return merge_adapters(*set, out, options);
}

std::vector<float> change_rows(const std::string& path) {
  const std::vector<AdapterFile> files = [&] {
    std::vector<AdapterFile> one;
    one.push_back(open_adapter(path).value());
    return one;
  }();
  const AdapterSet set = AdapterSet::join(files, {}).value();
  WorkerPool pool(1);
  const MergedChange change = set.change(set.modules().front(), 1 << 20, pool).value();
  std::vector<float> all, row(static_cast<size_t>(change.n_cols));
  for (int64_t i = 0; i < change.n_rows; ++i) {
    change.read_row(i, row);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// What is no sum of products would be lost.
TEST(MergeAdapters, RefusesWhatFilesOfMergedAdaptersCannotSay) {
  const std::string module = kModule, embd = "base_model.model.embed_tokens";
  const auto refusal = [&](std::vector<TestMatrix> more, const std::string& key) {
    const TestFolder one, out;
    more.push_back(counted(module + ".lora_A.weight", 2, 4));
    more.push_back(counted(module + ".lora_B.weight", 3, 2));
    one.write("adapter_model.safetensors", safetensors_of(more));
    one.write("adapter_config.json",
              R"({"peft_type":"LORA","r":2,"lora_alpha":3,)" + key + R"(,"revision":null})");
    const auto merged = merge_folders({one.path()}, out.path(), {});
    if (merged) return std::string();
    EXPECT_EQ(merged.error().code(), Code::unsupported);
    return merged.error().message().substr(one.path().size() + 2);
  };
  EXPECT_EQ(refusal({counted(module + ".lora_magnitude_vector", 3, 1)}, R"("use_dora":true)"),
            "'layers.0.q_proj.weight' has magnitudes (DoRA), which cannot be merged");
  EXPECT_EQ(refusal({counted(embd + ".lora_embedding_A", 2, 5),
                     counted(embd + ".lora_embedding_B", 4, 2)},
                    R"("use_dora":false)"),
            "'embed_tokens.weight' is an embedding, which cannot be merged");
  EXPECT_EQ(refusal({counted("base_model.model.lm_head.weight", 5, 4)},
                    R"("modules_to_save":["lm_head"])"),
            "'lm_head.weight' is a whole matrix, which cannot be merged");
  const std::string experts = "base_model.model.layers.0.mlp.experts";
  EXPECT_EQ(refusal({counted(experts + ".lora_A.weight", 6, 4),
                     counted(experts + ".lora_B.weight", 5, 6)},
                    R"("target_parameters":["mlp.experts.up_proj"])"),
            "'layers.0.mlp.experts.weight' is of a stack of experts, which cannot be merged");
}

TEST(MergeAdapters, WritesWhatItsReaderReads) {
  const TestFolder one, two, out;
  write_peft(one, "some/model");
  write_peft(two, "some/model", "base_model.model.layers.1.q_proj");
  const auto summary =
      merge_folders({one.path(), one.path(), two.path()}, out.path(), {.weights = {2, -1, 1}});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->n_modules, 2);
  EXPECT_LT(summary->relative_error, 1e-7);
  const AdapterFile merged = open_adapter(out.path()).value();
  EXPECT_EQ(merged.base, "some/model");
  ASSERT_EQ(merged.modules.size(), 2U);
  EXPECT_EQ(merged.modules[0].rank(), 3) << "no more than the matrix has rows";
  EXPECT_EQ(merged.modules[1].rank(), 2);
  EXPECT_EQ(merged.modules[0].scale, 1);
  EXPECT_EQ(merged.modules[1].scale, 1);
  const std::vector<float> want = change_rows(one.path()), got = change_rows(out.path());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(MergeAdapters, NeverReplacesWhatItReads) {
  const TestFolder one, out;
  write_peft(one, "");
  EXPECT_FALSE(merge_folders({one.path()}, one.path(), {}, {.replace = true}));
  EXPECT_TRUE(open_adapter(one.path()));
  ASSERT_TRUE(merge_folders({one.path()}, out.path(), {}));
  EXPECT_FALSE(merge_folders({one.path()}, out.path(), {}));
  EXPECT_TRUE(merge_folders({one.path()}, out.path(), {}, {.replace = true}));
}

TEST(MergeAdapters, StopsAndRefuses) {
  const TestFolder one, two, out;
  write_peft(one, "a");
  write_peft(two, "b");
  const auto refusal = [&](const MergeRecipe& recipe, const MergeOptions& options,
                           const std::string& path) {
    return merge_folders({one.path(), two.path()}, path, recipe, options).error().message();
  };
  EXPECT_NE(refusal({}, {}, out.path()).find("--base"), std::string::npos);
  EXPECT_NE(refusal({}, {}, out.path() + "/x.gguf").find("not a GGUF file"), std::string::npos);
  const MergeRecipe cat{.strategy = MergeStrategy::cat};
  EXPECT_NE(refusal(cat, {.rank_of = MergedRank::largest, .base = "c"}, out.path()).find("cat"),
            std::string::npos);
  MergeOptions stop{.base = "c"};
  stop.on_module = [](const MergeStep&) { return false; };
  const auto stopped = merge_folders({one.path(), two.path()}, out.path(), {}, stop);
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  EXPECT_TRUE(std::filesystem::is_empty(out.path()));
}

}  // namespace
}  // namespace ruv
