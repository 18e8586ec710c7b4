// A device that fails while an engine uses it: requests end with its reason, nothing of the failed
// step is reported or kept, and the engine refuses what follows.
#include <gtest/gtest.h>

#include <atomic>

#include "device/cpu/cpu_device.h"
#include "engine/executor.h"
#include "model/model.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// The CPU, until it is told to fail.
class FailingDevice final : public CpuDevice {
 public:
  FailingDevice() : CpuDevice(kernels()) {}
  Status failure() const override {
    return failed_ ? fail(Code::internal, "the driver was reset") : Status();
  }
  void fail_now() { failed_ = true; }

 private:
  std::atomic<bool> failed_{false};
};

class FailedDevice : public testing::Test {
 protected:
  void SetUp() override {
    LoadOptions load;
    load.isa = kernels().isa;  // that of the device
    const auto model = *load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf", load);
    std::const_pointer_cast<Model>(model)->device = device_;
    EngineOptions options{.n_threads = 1};
    options.kv.note = [this](std::string_view text) { notes_.emplace_back(text); };
    engine_ = std::move(*Engine::create(model, options));
  }
  static Request request() {
    Request one;
    one.prompt = {1, 2, 3};
    one.params.temperature = 0;
    one.params.max_tokens = 100;
    one.params.ignore_eos = true;
    return one;
  }

  std::shared_ptr<FailingDevice> device_ = std::make_shared<FailingDevice>();
  std::vector<std::string> notes_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(FailedDevice, EndsWhatIsAskedAndAllThatFollows) {
  Request asked = request();
  int n_tokens = 0;
  asked.on_event = [&](const Event& event) {
    n_tokens += static_cast<int>(event.ids.size());
    if (n_tokens == 5) device_->fail_now();
  };
  Stream stream = std::move(*engine_->stream(asked));
  Status last;
  while (const auto event = stream.next()) last = event->status;
  EXPECT_EQ(last.code(), Code::internal);
  EXPECT_EQ(last.message(), "the device can compute no more: the driver was reset");
  EXPECT_EQ(n_tokens, 5);  // the next step was not reported
  EXPECT_EQ(engine_->condition().message(), last.message());
  const auto next = engine_->stream(request());
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().message(), last.message());
  engine_.reset();
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_[0], last.message() + "; every request is refused until a restart");
}

TEST_F(FailedDevice, MemoryOfTheCpuIsTheMachines) {
  EXPECT_EQ(device_->memory_bytes(), default_device()->memory_bytes());
  EXPECT_GT(device_->memory_bytes(), int64_t{1} << 28);
}

}  // namespace
}  // namespace ruv
