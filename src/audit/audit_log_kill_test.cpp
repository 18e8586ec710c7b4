// A process that writes a log and is killed at any moment: all that flush() had acknowledged is
// there afterwards, and the chain verifies.
//
// RUV_KILLS sets how many processes are killed; a few by default.
#include "audit/audit_log.h"
#include "audit/test_audit.h"
#include "base/test_kill.h"

namespace ruv::audit_log_kill_test {
namespace {

FinishedRequest request_of(int64_t step) {
  FinishedRequest made;
  made.unix_ms = step;
  made.engine = std::make_shared<AnsweringEngine>(
      AnsweringEngine{.model = "m", .model_digest = {}, .kv_type = "f16", .n_ctx = 9});
  made.request.prompt = std::vector<Token>(static_cast<size_t>(1 + step % 7), 5);
  made.request.terms.request_id = "req-" + std::to_string(step);
  made.ids = {1, 2, 3};
  made.text = "answer";
  made.finish = FinishReason::stop;
  return made;
}

// Adds some answers at a time, until it is killed.
int write_on(const std::string& folder, int64_t step, int acknowledged) {
  auto store = AuditStore::open({.folder = folder});
  if (!store) return 1;
  auto log = AuditLog::start(std::move(*store), {.contents = AuditContents::kept, .batch = 3});
  if (!log) return 2;
  for (;; ++step) {
    (*log)->add(request_of(step));
    if (!(*log)->flush().ok()) return 3;
    acknowledge(acknowledged);
  }
}

int64_t n_acknowledged(const std::string& folder, int64_t step, uint32_t n_us) {
  return n_steps_until_killed(
      n_us, [&](int acknowledged) { return write_on(folder, step, acknowledged); });
}

TEST(AuditLogKill, LosesNothingThatWasAcknowledged) {
  const int n_kills = n_kills_wanted();
  constexpr int kKillsOfLog = 40;  // each is followed by reading all of the log
  Rng rng(5);
  std::optional<AuditFolder> log;
  int64_t n = 0, n_of_all = 0;
  for (int kill = 0; kill < n_kills; ++kill) {
    if (kill % kKillsOfLog == 0) {
      log.emplace("kill");
      n_of_all += std::exchange(n, 0);
    }
    const AuditFolder& folder = *log;
    n += n_acknowledged(folder.path(), n, static_cast<uint32_t>(rng.below(20000)));
    const AuditVerdict verdict = verdict_of(folder.path());
    for (const AuditFault& fault : verdict.faults) ADD_FAILURE() << fault.entry << fault.what;
    ASSERT_TRUE(verdict.n_entries == n || verdict.n_entries == n + 1);
    EXPECT_EQ(verdict.n_with_contents, verdict.n_entries);
    n = verdict.n_entries;
  }
  EXPECT_GE(n_of_all + n, n_kills);
}

}  // namespace
}  // namespace ruv::audit_log_kill_test
