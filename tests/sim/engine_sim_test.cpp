// Random lives of a whole engine on a scripted model and a fake clock.
//   RUV_SIM_FIRST=17 RUV_SIM_COUNT=1  plays one seed again
#include <fmt/format.h>

#include <cstdlib>

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
    SCOPED_TRACE(fmt::format("RUV_SIM_FIRST={} RUV_SIM_COUNT=1", seed));
    total.add(EngineWorld(seed).run());
    if (HasFailure()) return;
  }
  fmt::print(
      "{} requests, {} steps, {} rows: {} finished, {} cancelled, {} expired; {} steps aborted, "
      "{} preemptions, {} tokens reused, {} pages evicted, {} drafts accepted\n",
      total.requests, total.steps, total.rows, total.finished, total.cancelled, total.expired,
      total.aborted_steps, total.preemptions, total.reused_tokens, total.evicted_pages,
      total.accepted_drafts);
  if (count < 1000) return;
  EXPECT_GT(total.cancelled, 0);
  EXPECT_GT(total.expired, 0);
  EXPECT_GT(total.preemptions, 0);
  EXPECT_GT(total.reused_tokens, 0);
  EXPECT_GT(total.evicted_pages, 0);
  EXPECT_GT(total.accepted_drafts, 0);
}

}  // namespace
}  // namespace ruv
