// Sequences whose beginnings are on disk: what they are promised while the disk is slow.
#include <gtest/gtest.h>

#include <filesystem>
#include <semaphore>

#include "base/rng.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv::engine_restore_test {
namespace {

constexpr int64_t kVocab = 32;
constexpr int64_t kPages = 64;

class EngineRestore : public testing::Test {
 protected:
  EngineRestore() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-restore-XXXXXX").string();
    options_.kv.disk_folder = ::mkdtemp(name.data());
    options_.n_ctx = 512;
    options_.max_sequences = 4;
    options_.kv.max_tokens = kPages * kPageTokens;
    options_.kv.disk_max_bytes = int64_t{1} << 26;
    model_.h.n_vocab = kVocab;
    for (std::vector<Token>& prompt : prompts_) {
      for (int i = 0; i < 70; ++i) prompt.push_back(static_cast<Token>(rng_.below(kVocab)));
    }
  }
  ~EngineRestore() override { std::filesystem::remove_all(options_.kv.disk_folder); }

  std::unique_ptr<EngineCore> core() {
    EngineParts parts;
    parts.executor = std::make_unique<ScriptedExecutor>(kPages, kVocab, clock_);
    const uint64_t hash[2] = {1, 2};
    auto store = open_page_store(options_.kv, hash, "test", parts.executor->pages());
    EXPECT_TRUE(store.has_value()) << store.error().message();
    parts.store = std::move(*store);
    return std::make_unique<EngineCore>(model_, options_, clock_, std::move(parts));
  }
  // Its last event goes to `last`.
  void add(EngineCore& core, size_t prompt, int64_t timeout_ms, Event& last) {
    Request request;
    request.prompt = prompts_[prompt];
    request.params.max_tokens = 3;
    request.params.temperature = 0;
    request.terms.timeout_ms = timeout_ms;
    request.on_event = [&last](const Event& event) { last = event; };
    core.add(core.make_sequence(++n_requests_, std::move(request)));
  }

  FakeClock clock_;
  Model model_;
  EngineOptions options_;
  Rng rng_{3};
  std::vector<Token> prompts_[3];
  RequestId n_requests_ = 0;
  const StopFlag never_{false};
};

TEST_F(EngineRestore, ADeadlineHoldsWhileThePagesAreBeingRead) {
  {
    const auto first = core();
    Event events[3];
    for (size_t i = 0; i < 3; ++i) add(*first, i, 0, events[i]);
    while (first->has_work()) first->step(never_);
  }
  std::counting_semaphore<1000> reached(0);
  std::counting_semaphore<1000> go_on(0);
  Event read;
  Event late;
  Event patient;
  const auto second = core();
  second->set_on_result([&] {
    reached.release();
    go_on.acquire();
  });
  add(*second, 0, 0, read);
  reached.acquire();  // now the disk's thread stands still
  EXPECT_EQ(second->ms_to_deadline(), -1);
  add(*second, 1, 5000, late);
  add(*second, 2, 0, patient);
  EXPECT_EQ(second->ms_to_deadline(), 5000);
  while (second->has_work()) second->step(never_);
  EXPECT_EQ(read.finish, FinishReason::length);
  EXPECT_GE(read.timings.n_cached_tokens, 4 * kPageTokens);
  EXPECT_EQ(late.finish, FinishReason::none);

  clock_.advance_ns(second->ms_to_deadline() * 1'000'000 - 1);
  EXPECT_FALSE(second->has_work());
  EXPECT_EQ(second->ms_to_deadline(), 1);
  clock_.advance_ns(1);
  EXPECT_TRUE(second->has_work());
  EXPECT_FALSE(second->step(never_)) << "there is nothing to compute";
  EXPECT_EQ(late.finish, FinishReason::error);
  EXPECT_EQ(late.status.code(), Code::deadline);
  EXPECT_EQ(second->load().n_waiting, 1);
  EXPECT_FALSE(second->has_work());
  EXPECT_EQ(second->ms_to_deadline(), -1);

  // What was read for it is kept, and the other one finds its own.
  go_on.release(900);
  while (patient.finish == FinishReason::none) {
    if (!second->has_work()) reached.acquire();
    second->step(never_);
  }
  EXPECT_EQ(patient.finish, FinishReason::length);
  EXPECT_GE(patient.timings.n_cached_tokens, 4 * kPageTokens);
  Event again;
  add(*second, 1, 0, again);
  while (again.finish == FinishReason::none) second->step(never_);
  EXPECT_GE(again.timings.n_cached_tokens, 4 * kPageTokens);
  EXPECT_TRUE(second->consistent());
}

}  // namespace
}  // namespace ruv::engine_restore_test
