// Random lives of a whole engine on a scripted model and a fake clock.
//   RUV_SIM_FIRST=17 RUV_SIM_COUNT=1  plays one seed again
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/engine_world.h"

namespace ruv {
namespace {

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(EngineSimulation, EveryAnswerIsRightAndAllBooksAgree) {
  const uint64_t first = number_from_environment("RUV_SIM_FIRST", 0);
  const uint64_t count = number_from_environment("RUV_SIM_COUNT", 2000);
  EngineWorld::Coverage total;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("RUV_SIM_COUNT=1 RUV_SIM_FIRST=" + std::to_string(seed));
    total.add(EngineWorld(seed).run());
    if (HasFailure()) return;
  }
  std::cout << total.requests << " requests, " << total.steps << " steps, " << total.rows
            << " rows: " << total.finished << " finished, " << total.cancelled << " cancelled, "
            << total.expired << " expired; " << total.aborted_steps << " steps aborted, "
            << total.preemptions << " preemptions, " << total.reused_tokens << " tokens reused, "
            << total.evicted_pages << " pages evicted, " << total.accepted_drafts
            << " drafts accepted, " << total.demoted_pages << " pages demoted, "
            << total.passed_pages << " left a window, " << total.reused_behind_windows
            << " tokens reused there, " << total.reused_checkpoints
            << " tokens before checkpoints, " << total.reused_media << " after media, "
            << total.preempted_media << " preemptions with media\n";
  if (count < 1000) return;
  EXPECT_GT(total.cancelled, 0);
  EXPECT_GT(total.aborted_steps, 0);
  EXPECT_GT(total.expired, 0);
  EXPECT_GT(total.preemptions, 0);
  EXPECT_GT(total.reused_tokens, 0);
  EXPECT_GT(total.evicted_pages, 0);
  EXPECT_GT(total.accepted_drafts, 0);
  EXPECT_GT(total.shifted, 0);
  EXPECT_GT(total.demoted_pages, 0);
  EXPECT_GT(total.passed_pages, 0);
  EXPECT_GT(total.reused_behind_windows, 0);
  EXPECT_GT(total.reused_checkpoints, 0);
  EXPECT_GT(total.reused_media, 0);
  EXPECT_GT(total.preempted_media, 0);
}

TEST(EngineSimulation, ASeedRepeatsExactly) {
  int64_t n_guessed_right = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const EngineWorld::Coverage first = EngineWorld(seed).run();
    EXPECT_EQ(EngineWorld(seed).run().trace, first.trace) << "seed " << seed;
    n_guessed_right += first.accepted_drafts;
  }
  EXPECT_GT(n_guessed_right, 0);
}

}  // namespace
}  // namespace ruv
