// Golden models whose matrices a test changes in a copy of the file, to compare an adapter with the
// model that has it in its weights.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "model/model.h"

namespace ruv {

inline std::string golden_gguf(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

class ChangedModel {
 public:
  explicit ChangedModel(const std::string& name)
      : file_(std::move(*ModelFile::open(golden_gguf(name)))),
        bytes_(*read_text_file(golden_gguf(name))),
        path_(testing::TempDir() + "ruv_adapter_" + std::to_string(getpid()) + ".gguf") {}
  ~ChangedModel() { unlink(path_.c_str()); }
  ChangedModel(const ChangedModel&) = delete;
  ChangedModel& operator=(const ChangedModel&) = delete;

  const ModelFile& file() const { return *file_; }
  // The numbers of a tensor, to read and change; empty: there is none.
  std::span<float> numbers(const std::string& tensor) {
    const TensorInfo* const info = file_->find_tensor(tensor);
    if (info == nullptr) return {};
    EXPECT_EQ(info->dtype, DType::f32);
    const auto at = info->bytes.data() - file_->files()[0].bytes().data();
    return {reinterpret_cast<float*>(&bytes_[static_cast<size_t>(at)]),
            static_cast<size_t>(info->n_elements())};
  }
  // The path of a file of the numbers as they are now.
  const std::string& write() const {
    // Models that are open keep the file that they opened.
    unlink(path_.c_str());
    std::ofstream(path_, std::ios::binary) << bytes_;
    return path_;
  }

 private:
  std::unique_ptr<ModelFile> file_;
  std::string bytes_, path_;
};

// A matrix of a layer in its file and the roles whose rows it has.
struct FileMatrix {
  std::string name;  // "blk.1.attn_qkv"
  int64_t layer;
  std::span<const Role> roles;
  int64_t n_out, n_in;
};

inline std::vector<FileMatrix> matrices_of(const Model& model) {
  std::vector<FileMatrix> all;
  for (int64_t layer = 0; layer < model.h.n_layers; ++layer) {
    const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
    const auto add = [&](std::string_view tensor, std::span<const Role> roles) {
      std::string name = fmt::format("blk.{}.{}", layer, tensor);
      const TensorInfo* const info = model.file->find_tensor(name + ".weight");
      if (info == nullptr) return;
      int64_t n_out = 0;
      for (const Role role : roles) {
        n_out += plan.extent(role_rows()[static_cast<size_t>(role)].n_out);
      }
      // The name of a fused matrix may be that of a part.
      if (info->shape[0] != n_out) return;
      all.push_back({std::move(name), layer, roles, n_out, info->shape[1]});
    };
    for (const RoleRow& row : role_rows()) add(row.tensor, {&row.role, 1});
    for (const FusedRow& fused : fused_rows()) add(fused.tensor, fused.parts);
  }
  return all;
}

}  // namespace ruv
