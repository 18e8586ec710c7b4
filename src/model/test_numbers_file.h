// For tests: GGUF files that hold numbers and no tensors.
#pragma once

#include <gtest/gtest.h>

#include "format/gguf_writer.h"
#include "format/test_folder.h"
#include "model/hparams.h"
#include "model/model.h"

namespace ruv {

// A file of numbers only.
class NumbersFile {
 public:
  explicit NumbersFile(std::string architecture) : architecture_(std::move(architecture)) {
    set("block_count", int64_t{4});
    set("embedding_length", int64_t{64});
    set("feed_forward_length", int64_t{96});
    set("attention.head_count", int64_t{4});
    set("context_length", int64_t{4096});
    set("attention.layer_norm_rms_epsilon", 1e-5);
  }
  NumbersFile& set(std::string_view key, MetaValue value) {
    values_.insert_or_assign(fmt::format("{}.{}", architecture_, key), std::move(value));
    return *this;
  }
  void remove(std::string_view key) { values_.erase(fmt::format("{}.{}", architecture_, key)); }
  NumbersFile& set_numbers(std::string_view key, std::vector<double> numbers) {
    auto array = std::make_shared<MetaArray>();
    array->numbers = std::move(numbers);
    return set(key, std::shared_ptr<const MetaArray>(array));
  }
  std::unique_ptr<ModelFile> open(const ModelFileOptions& options = {}) const {
    const std::string path = folder_->path() + "/model.gguf";
    auto out = GgufWriter::create(path, {.replace = true});
    EXPECT_TRUE(out);
    out->add_text("general.architecture", architecture_);
    for (const auto& [key, value] : values_) out->add(key, value);
    EXPECT_TRUE(out->begin_tensors().ok());
    EXPECT_TRUE(out->commit().ok());
    auto file = ModelFile::open(path, options);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
  }
  NumbersFile& set_integers(std::string_view key, std::vector<int64_t> integers) {
    auto array = std::make_shared<MetaArray>();
    array->integers = std::move(integers);
    return set(key, std::shared_ptr<const MetaArray>(array));
  }
  HParams read() const {
    const auto file = open();
    auto h = read_hparams(*file, *find_family(architecture_));
    EXPECT_TRUE(h) << h.error().message();
    return *h;
  }
  std::vector<LayerPlan> plans() const {
    const auto file = open();
    auto plans = plan_layers(*file, *find_family(architecture_), read(), *rope());
    EXPECT_TRUE(plans) << plans.error().message();
    return *plans;
  }
  Result<RopePlans> rope() const {
    const auto file = open();
    return read_rope(*file, *find_family(architecture_), read());
  }

 private:
  std::string architecture_;
  MetaMap values_;
  std::shared_ptr<TestFolder> folder_ = std::make_shared<TestFolder>();
};

inline NumbersFile indexed() {
  NumbersFile numbers("glm-dsa");
  numbers.set("attention.q_lora_rank", int64_t{6}).set("attention.kv_lora_rank", int64_t{8});
  numbers.set("rope.dimension_count", int64_t{4}).set("attention.key_length", int64_t{10});
  numbers.set("attention.indexer.head_count", int64_t{3});
  numbers.set("attention.indexer.key_length", int64_t{5});
  numbers.set("attention.indexer.top_k", int64_t{7});
  return numbers;
}

}  // namespace ruv
