#include "engine/tenants.h"

#include <gtest/gtest.h>

#include <string>

namespace ruv {
namespace {

double served(TenantLedger& ledger, int32_t tenant) {
  return ledger.views(0)[static_cast<size_t>(tenant)].served;
}

TEST(TenantLedger, PromptAndAnswerHaveTheirWeights) {
  TenantLedger ledger;
  const int32_t a = ledger.open("a");
  ledger.queue(a, 0);
  ledger.start(a, 100, 0);
  ledger.generated(a, 7);
  EXPECT_EQ(served(ledger, a), 114);
}

TEST(TenantLedger, OneNameIsOneTenant) {
  TenantLedger ledger(12);
  const int32_t a = ledger.open("a");
  EXPECT_EQ(ledger.open("a"), a);
  const int32_t b = ledger.open("b");
  EXPECT_NE(b, a);
  EXPECT_EQ(ledger.views(0)[static_cast<size_t>(b)].max_pages, 12);
  ledger.close(a);
  EXPECT_EQ(ledger.open("a"), a);
}

TEST(TenantLedger, IdleTimeIsNotSavedUp) {
  TenantLedger ledger;
  const int32_t a = ledger.open("a");
  const int32_t b = ledger.open("b");
  const int32_t c = ledger.open("c");
  ledger.queue(a, 0);
  ledger.start(a, 500, 0);
  ledger.queue(a, 0);
  ledger.queue(b, 0);  // lifted to what a has
  EXPECT_EQ(served(ledger, b), 500);
  ledger.start(b, 300, 0);
  ledger.queue(c, 0);  // only a queues
  EXPECT_EQ(served(ledger, c), 500);
  ledger.queue(b, 0);  // it had more than others: that stays
  EXPECT_EQ(served(ledger, b), 800);
}

TEST(TenantLedger, AfterAnEmptyQueueTheLastOneCounts) {
  TenantLedger ledger;
  const int32_t a = ledger.open("a");
  const int32_t b = ledger.open("b");
  ledger.queue(a, 0);
  ledger.start(a, 500, 0);
  ledger.queue(b, 0);
  EXPECT_EQ(served(ledger, b), 500);
}

TEST(TenantLedger, TellsHowLongATenantWaitsForItsTurn) {
  TenantLedger ledger;
  const int32_t a = ledger.open("a");
  const auto unserved = [&](int64_t now_ms) { return ledger.views(now_ms)[0].unserved_ms; };
  ledger.queue(a, 100);
  ledger.queue(a, 150);
  EXPECT_EQ(unserved(180), 80);
  ledger.start(a, 5, 200);
  EXPECT_EQ(unserved(230), 30);
  ledger.leave_queue(a);
  EXPECT_EQ(unserved(900), 0);
}

TEST(TenantLedger, ForgetsIdleNamesButNotWhoIsAhead) {
  TenantLedger ledger;
  const int32_t busy = ledger.open("busy");
  const int32_t ahead = ledger.open("ahead");
  ledger.generated(ahead, 1000);
  ledger.close(ahead);
  for (int i = 0; i < 100000; ++i) ledger.close(ledger.open("name " + std::to_string(i)));
  EXPECT_LE(ledger.n_known(), 1100);
  EXPECT_LE(ledger.views(0).size(), 1100U);
  EXPECT_EQ(ledger.open("busy"), busy);
  EXPECT_EQ(ledger.open("ahead"), ahead);
  EXPECT_EQ(served(ledger, ahead), 2000);
}

}  // namespace
}  // namespace ruv
