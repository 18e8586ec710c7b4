// What a run writes beside its steps is what it writes at once.
#include "train/state_saver.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

namespace ruv::state_saver_test {
namespace {

TEST(StateSaver, WritesTheNumbersThatThereWereWhenItBegan) {
  const std::string path = testing::TempDir() + "ruv_state_saver_" + std::to_string(getpid());
  const std::vector<RunFact> facts = {{"--rate", "1"}, {"texts", "abc"}};
  std::vector<float> values(100000, 1), first(100000, 2), second(100000, 3);
  TrainState state{.n_steps = 7, .facts = facts, .numbers = {}};
  state.numbers.push_back({"a", {saved_part(values), saved_part(first), saved_part(second)}});
  StateSaver saver;
  for (const float x : {4.0F, 5.0F}) {
    values.assign(values.size(), x);
    ASSERT_TRUE(saver.begin(path, state).ok());
    values.assign(values.size(), 9);
    ASSERT_TRUE(saver.finish().ok());
    state.n_steps = 0;
    ASSERT_TRUE(read_train_state(path, state).ok());
    EXPECT_EQ(state.n_steps, 7);
    EXPECT_EQ(values, std::vector<float>(values.size(), x));
  }
  EXPECT_EQ(second, std::vector<float>(second.size(), 3));
  std::filesystem::remove(path);
}

TEST(StateSaver, AWriteThatFailedIsReported) {
  StateSaver saver;
  TrainState state;
  ASSERT_TRUE(saver.begin(testing::TempDir() + "ruv_no_such_folder/state", state).ok());
  EXPECT_EQ(saver.finish().code(), Code::not_found);
  EXPECT_TRUE(saver.finish().ok());
}

TEST(StateSaver, OtherFactsAreNamed) {
  const std::string path = testing::TempDir() + "ruv_state_facts_" + std::to_string(getpid());
  const std::vector<RunFact> facts = {{"--rate", "1"}, {"texts", "abc"}};
  TrainState state{.n_steps = 7, .facts = facts, .numbers = {}};
  ASSERT_TRUE(write_train_state(path, state).ok());
  const std::vector<RunFact> others[] = {{{"--rate", "1"}, {"texts", "abd"}},
                                         {{"--rate", "1"}},
                                         {{"--rate", "1"}, {"texts", "abc"}, {"more", "1"}}};
  const std::string_view said[] = {"texts abc; this one has abd", "texts abc; this one has none",
                                   "without more, which is 1 here"};
  for (size_t i = 0; i < std::size(others); ++i) {
    state.facts = others[i];
    state.n_steps = 0;
    const Status refused = read_train_state(path, state);
    EXPECT_EQ(refused.code(), Code::invalid);
    EXPECT_NE(refused.message().find(said[i]), std::string::npos) << refused.message();
    EXPECT_EQ(state.n_steps, 0);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ruv::state_saver_test
