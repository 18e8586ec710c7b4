// A model and the heads of a file of their own beside it, in a folder that lives as long as one
// test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "ruv/model.h"
#include "test_head_text.h"

namespace ruv {

inline constexpr double kHeadBound = 2e-4;  // of the logits' standard deviation

class HeadFiles : public testing::Test {
 protected:
  HeadFiles() { std::filesystem::create_directories(root_); }
  ~HeadFiles() override { std::filesystem::remove_all(root_); }

  std::string model_path() const { return root_ + "/model"; }
  std::string head_path() const { return root_ + "/head"; }
  void write(const Json& golden) const {
    std::filesystem::remove_all(model_path());
    write_folder(model_path(), golden);
    write_head(golden.at("head"));
  }
  void write_head(const Json& head) const {
    std::filesystem::remove_all(head_path());
    write_head_folder(head_path(), head);
  }
  Result<std::shared_ptr<const Model>> load(const std::string& packed = {}) const {
    LoadOptions options;
    options.n_threads = 1;
    options.draft_head_file = head_path();
    options.packed_cache_dir = packed;
    options.packed_cache_min_bytes = 0;
    options.packed_cache_reserve_bytes = 0;
    return load_model(model_path(), options);
  }
  // Loading with the heads fails, and says this.
  void expect_refused(std::string_view part) const {
    const auto model = load();
    ASSERT_FALSE(model) << part;
    EXPECT_NE(model.error().message().find(part), std::string::npos) << model.error().message();
    EXPECT_NE(model.error().message().find(head_path()), std::string::npos);
  }

  std::string root_ = testing::TempDir() + "ruv_heads_" + std::to_string(getpid());
};

}  // namespace ruv
