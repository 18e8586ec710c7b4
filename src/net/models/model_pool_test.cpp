#include "net/models/model_pool.h"

#include <gtest/gtest.h>

#include <future>

#include "net/scripted_engine.h"

namespace ruv {
namespace {

// A model that counts itself.
class CountedModel final : public LoadedModel {
 public:
  CountedModel(const ServerParts& parts, std::string name, int64_t n_bytes, std::atomic<int>& n)
      : service_(make_service(parts, engine_, text_, {std::move(name)})),
        n_bytes_(n_bytes),
        n_loaded_(n) {
    ++n_loaded_;
  }
  ~CountedModel() override { --n_loaded_; }
  const OpenAiService& service() const override { return service_; }
  int64_t n_bytes() const override { return n_bytes_; }

 private:
  ScriptedEngine engine_;
  ByteText text_;
  OpenAiService service_;
  int64_t n_bytes_;
  std::atomic<int>& n_loaded_;
};

class ModelPoolTest : public testing::Test {
 protected:
  void start(int64_t max_bytes, std::vector<std::pair<std::string, int64_t>> models,
             KeepSeconds keep = {}) {
    pool_ = std::make_unique<ModelPool>(
        parts_, ModelPoolOptions{.max_bytes = max_bytes, .keep = keep, .max_waiting = 4});
    for (const auto& [name, n_bytes] : models) {
      pool_->add({.names = {name, name + "-alias"},
                  .n_bytes = n_bytes,
                  .load = [this, name = name,
                           n_bytes = n_bytes]() -> Result<std::unique_ptr<LoadedModel>> {
                    if (name == "broken") return fail(Code::corrupt, "no file for it");
                    return std::make_unique<CountedModel>(parts_, name, n_bytes, n_loaded_);
                  }});
    }
    ASSERT_TRUE(pool_->load_first().ok());
  }
  // Waits for the model.
  ApiResult<ServiceLease> use(const std::string& name) {
    std::promise<ApiResult<ServiceLease>> promise;
    pool_->with_model(name, 100, [&](ApiResult<ServiceLease> lease) { promise.set_value(lease); });
    return promise.get_future().get();
  }
  // Waits until it is unloaded.
  ApiResult<void> unload(const std::string& name) {
    std::promise<ApiResult<void>> promise;
    pool_->unload(name, [&](ApiResult<void> done) { promise.set_value(done); });
    return promise.get_future().get();
  }
  ModelPhase phase(size_t i) const { return pool_->list()[i].phase; }

  ServerParts parts_ = make_server_parts();
  std::atomic<int> n_loaded_ = 0;
  std::unique_ptr<ModelPool> pool_;
};

TEST_F(ModelPoolTest, ModelsAreLoadedWhenTheyAreAskedFor) {
  start(10, {{"a", 3}, {"b", 3}});
  EXPECT_EQ(n_loaded_, 1);
  EXPECT_EQ(phase(1), ModelPhase::unloaded);
  EXPECT_EQ(pool_->loaded("b").error().code, "model_not_loaded");
  const auto b = use("b-alias:latest");
  ASSERT_TRUE(b);
  EXPECT_EQ((*b)->names.front(), "b");
  EXPECT_EQ(n_loaded_, 2);
  EXPECT_EQ((*use(""))->names.front(), "a");
}

TEST_F(ModelPoolTest, AModelGivesWayWhenItsLastRequestHasEnded) {
  start(5, {{"a", 3}, {"b", 3}});
  auto a = use("a");
  std::promise<ApiResult<ServiceLease>> b;
  pool_->with_model("b", 100,
                    [&](ApiResult<ServiceLease> lease) { b.set_value(std::move(lease)); });
  EXPECT_EQ(phase(0), ModelPhase::loaded);
  a = tl::unexpected(ApiError());
  EXPECT_EQ((*b.get_future().get())->names.front(), "b");
  EXPECT_EQ(n_loaded_, 1);
  EXPECT_EQ(phase(0), ModelPhase::unloaded);
}

TEST_F(ModelPoolTest, WhatCannotBeLoadedIsRefusedAndTheRestIsServed) {
  start(10, {{"a", 3}, {"broken", 3}});
  const auto broken = use("broken");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().status, 503);
  EXPECT_NE(broken.error().message.find("no file for it"), std::string::npos);
  EXPECT_EQ(phase(1), ModelPhase::failed);
  EXPECT_TRUE(use("a"));
  EXPECT_EQ(use("c").error().status, 404);
}

TEST_F(ModelPoolTest, UnloadingWaitsForTheRequestsThatUseTheModel) {
  start(10, {{"a", 3}});
  auto a = use("a");
  std::promise<int> n_then;
  pool_->unload("a", [&](const ApiResult<void>&) { n_then.set_value(n_loaded_); });
  EXPECT_EQ(n_loaded_, 1);
  a = tl::unexpected(ApiError());
  EXPECT_EQ(n_then.get_future().get(), 0);
  EXPECT_EQ(phase(0), ModelPhase::unloaded);
  EXPECT_TRUE(unload("a")) << "it is not loaded";
  EXPECT_EQ(unload("c").error().status, 404);
  EXPECT_TRUE(use("a")) << "it is loaded again";
}

TEST_F(ModelPoolTest, AKeptModelLeavesWithItsLastRequest) {
  start(10, {{"a", 3}, {"b", 3}});
  auto b = use("b");
  pool_->keep("b", 0);
  EXPECT_EQ(n_loaded_, 2);
  b = tl::unexpected(ApiError());
  while (n_loaded_ > 1) std::this_thread::yield();
  EXPECT_EQ(phase(0), ModelPhase::loaded);
}

TEST_F(ModelPoolTest, TooManyWaitingRequestsAreRefusedAndTheOthersHearOfTheEnd) {
  start(3, {{"a", 3}, {"b", 3}});
  const auto a = use("a");  // b cannot come while it is used
  std::atomic<int> n_ended = 0;
  for (int i = 0; i < 4; ++i) {
    pool_->with_model("b", 100, [&](const ApiResult<ServiceLease>& lease) { n_ended += !lease; });
  }
  const auto refused = use("b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 429);
  EXPECT_EQ(n_ended, 0);
  pool_->close();
  EXPECT_EQ(n_ended, 4);
  EXPECT_EQ(n_loaded_, 0);
  EXPECT_FALSE(pool_->loaded("a"));
  parts_.beside.reset();  // as at the end of a server, before the pool is destroyed
}

TEST_F(ModelPoolTest, WaitingRequestsHoldABoundedNumberOfBytes) {
  start(3, {{"a", 3}, {"b", 3}});
  auto a = use("a");
  std::promise<bool> served;
  const auto count = [&](const ApiResult<ServiceLease>& lease) { served.set_value(!!lease); };
  pool_->with_model("b", (64 << 20) - 99, count);
  EXPECT_EQ(use("b").error().status, 429);
  a = tl::unexpected(ApiError());
  EXPECT_TRUE(served.get_future().get());
  EXPECT_TRUE(use("a")) << "there is room again";
}

}  // namespace
}  // namespace ruv
