// Adapters in training: derivatives, what they learn, and their files.
#include "train/trained_adapter.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "base/rng.h"
#include "device/batch_builder.h"
#include "format/safetensors.h"
#include "model/decoder.h"
#include "train/trainer.h"

namespace ruv::trained_adapter_test {
namespace {

std::string path_of(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

const std::vector<TrainSequence> kTexts = {{{3, 14, 15, 9, 2, 6, 5, 35}}, {{8, 9, 7, 9, 3}}};

TEST(TrainedAdapter, DerivativesAreThoseOfDifferences) {
  WorkerPool pool(2);
  const auto device = make_train_device<double>();
  const auto model = *load_model_on(device, path_of("llama2"));
  Parameters<double> parameters =
      *Parameters<double>::choose(*model, *device, [](auto) { return false; });
  const auto adapter = *TrainedAdapter<double>::create(
      *model, *device, {.rank = 3, .alpha = 6, .seed = 5}, parameters);
  Rng rng(9);
  for (const AdaptedModule& module : adapter.modules()) {
    for (double& x : parameters.all()[module.b].values) x = rng.uniform() - 0.5;
  }
  const Activations activations = *Activations::create(*model, 16, 16, 3);
  const auto ops = device->make_ops(pool);
  const auto batches = *make_batches(kTexts, {16, model->h.n_vocab}, adapter.mix());
  const auto loss = [&](bool learns) {
    if (learns) device->tape().record(0);
    const View logits = decode(*ops, *model, batches[0].rows.batch(), activations, 16)->logits;
    const double sum =
        cross_entropy(device->memory().numbers(logits, learns), {batches[0].targets}, 1, pool);
    if (learns) device->tape().backward();
    return sum;
  };
  loss(true);
  ASSERT_TRUE(device->failure().ok()) << device->failure().message();
  for (const Parameter<double>& p : parameters.all()) {
    double greatest = 1e-3;
    for (const double g : p.gradient) greatest = std::max(greatest, std::abs(g));
    for (const size_t at : {size_t{1}, p.values.size() / 2}) {
      constexpr double kStep = 3e-4;
      const double kept = p.values[at];
      const auto loss_at = [&](double x) {
        p.values[at] = kept + x;
        return loss(false);
      };
      const double slope =
          (loss_at(-2 * kStep) - 8 * loss_at(-kStep) + 8 * loss_at(kStep) - loss_at(2 * kStep)) /
          (12 * kStep);
      p.values[at] = kept;
      EXPECT_LT(std::abs(slope - p.gradient[at]) / greatest, 1e-6) << p.name;
    }
  }
}

TrainOptions adapting_options(int64_t max_rows = 16) {
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = max_rows;
  options.rate.peak = 1e-2;
  options.adapter = LowRankOptions{.rank = 4, .alpha = 8, .seed = 1};
  return options;
}

// Matrices of a trained adapter for a model on the CPU.
Adapter on_cpu(const Model& cpu, const Trainer& trainer) {
  std::vector<AdapterMatrices> all;
  const auto rows_of = [&](size_t at) {
    const Parameter<float>& p = trainer.parameters().all()[at];
    MatrixRows rows{"trained", DType::f32, p.matrix->n_in(), {}, nullptr};
    for (size_t i = 0; i < p.values.size(); i += static_cast<size_t>(rows.n_in)) {
      rows.rows.push_back(reinterpret_cast<const std::byte*>(&p.values[i]));
    }
    return rows;
  };
  for (const AdaptedModule& module : trainer.adapter()->modules()) {
    all.push_back({module.layer, {&module.role, 1}, rows_of(module.a), rows_of(module.b), 2.0F});
  }
  WorkerPool pool(1);
  return *make_adapter(cpu, all, RopeOrder::halves, pool);
}

double cpu_loss(const Model& cpu, const Adapter& adapter) {
  WorkerPool pool(1);
  KvPages pages = *KvPages::create(cpu.cache_layout(), 2);
  const Activations activations = *Activations::create(cpu, 16, 16, adapter.max_rank());
  const auto ops = *cpu.device->make_ops(pool, pages, ops_limits(cpu, 16, adapter.max_rank()));
  const AdapterShare share = {&adapter, 1};
  std::vector<float> logits;
  double sum = 0;
  for (const TrainSequence& text : kTexts) {
    const std::vector<PageId> page = {0};
    BatchBuilder batch;
    batch.begin_sequence(0, page);
    batch.set_adapters({&share, 1});
    const auto n = text.tokens.size() - 1;
    batch.add(std::span(text.tokens).first(n));
    batch.want_logits(static_cast<int64_t>(n));
    const View view = decode(*ops, cpu, batch.batch(), activations, 16)->logits;
    logits.resize(static_cast<size_t>(view.n_rows * view.n_cols));
    cpu.device->download(view.start, std::as_writable_bytes(std::span(logits)));
    const Adjoined<float> numbers = {logits.data(), nullptr, view.n_rows, view.n_cols};
    sum += cross_entropy<float>(numbers, {std::span(text.tokens).subspan(1)}, 1, pool);
  }
  return sum / static_cast<double>(kTexts[0].n_targets() + kTexts[1].n_targets());
}

TEST(TrainedAdapter, LearnsBesideAModelThatStaysAsItIs) {
  for (const char* const name : {"llama2", "gemma3"}) {
    const auto trainer = *Trainer::create(path_of(name), adapting_options());
    const auto plain = *Trainer::create(path_of(name), TrainOptions{.max_rows = 16});
    const double before = *trainer->loss(kTexts);
    EXPECT_EQ(before, *plain->loss(kTexts)) << name;
    for (int i = 0; i < 15; ++i) ASSERT_TRUE(trainer->step(kTexts));
    const double after = *trainer->loss(kTexts);
    EXPECT_LT(after, before - 0.5) << name;
    const auto cpu = *load_model(path_of(name));
    EXPECT_NEAR(cpu_loss(*cpu, on_cpu(*cpu, *trainer)), after, 0.02) << name;
  }
}

TEST(TrainedAdapter, ItsFilesAreThoseOfPeft) {
  const std::string folder = testing::TempDir() + "ruv_trained_adapter_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  TrainOptions options = adapting_options();
  options.adapter->adapts = [](std::string_view name) {
    return name.find("attn_q") != name.npos || name.find("ffn_down") != name.npos;
  };
  const auto trainer = *Trainer::create(path_of("llama2"), options);
  ASSERT_TRUE(trainer->step(kTexts));
  const Status written =
      write_peft_adapter(trainer->model(), *trainer->adapter(), trainer->parameters(), folder);
  ASSERT_TRUE(written.ok()) << written.message();
  const MappedFile file = *MappedFile::open(folder + "/adapter_model.safetensors");
  const auto tensors = *parse_safetensors(file.bytes(), "adapter");
  ASSERT_EQ(std::ssize(tensors), 4 * trainer->model().h.n_layers);
  EXPECT_EQ(tensors[0].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(tensors[1].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{4, trainer->model().h.n_embd}));
  const Bytes expected = std::as_bytes(trainer->parameters().all()[1].values);
  EXPECT_TRUE(std::ranges::equal(tensors[1].bytes, expected));
  const Json config = *parse_json(*read_text_file(folder + "/adapter_config.json"), "config");
  EXPECT_EQ(config["r"].get<int64_t>(), 4);
  EXPECT_EQ(config["lora_alpha"].get<double>(), 8);
  EXPECT_EQ(config["target_modules"].size(), 2U);
  std::filesystem::remove_all(folder);
}

TEST(TrainedAdapter, ModulesThatAFileHasInOneMatrixAreRefusedByName) {
  const auto trainer = *Trainer::create(path_of("phi3"), adapting_options());
  const Status refused = write_peft_adapter(trainer->model(), *trainer->adapter(),
                                            trainer->parameters(), testing::TempDir());
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_NE(refused.message().find("blk.0.attn_q.weight"), std::string::npos);
}

TEST(TrainedAdapter, NumbersThatMakeNoSenseAreRefused) {
  TrainOptions options = adapting_options();
  options.adapter->rank = 0;
  EXPECT_EQ(Trainer::create(path_of("llama2"), options).error().code(), Code::invalid);
  options = adapting_options();
  options.adapter->alpha = NAN;
  EXPECT_EQ(Trainer::create(path_of("llama2"), options).error().code(), Code::invalid);
  options = adapting_options();
  options.adapter->adapts = [](std::string_view) { return false; };
  EXPECT_EQ(Trainer::create(path_of("llama2"), options).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv::trained_adapter_test
