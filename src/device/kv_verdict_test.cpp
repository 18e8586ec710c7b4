#include "device/kv_verdict.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

KvVerdict measured(KvType type, double loss, int64_t found) {
  return {.type = type,
          .bytes_of_f16 = 0.281,
          .perplexity = 12.5,
          .perplexity_loss = loss,
          .kl = 0.0025,
          .greedy_agreement = 0.98,
          .needles_found = found,
          .needles_of_f16 = 10};
}

TEST(KvVerdict, WhatIsWrittenIsRead) {
  const KvVerdict all[] = {measured(KvType::int8, 0.0001, 10), measured(KvType::int2, 0.25, 3)};
  const auto read = read_kv_verdicts(kv_verdicts_text("a \"model\"\xff", all), "file");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[1].type, KvType::int2);
  EXPECT_EQ((*read)[1].perplexity_loss, 0.25);
  EXPECT_EQ((*read)[1].needles_found, 3);
  EXPECT_TRUE((*read)[0].passed());
  EXPECT_FALSE((*read)[1].passed());
}

TEST(KvVerdict, TypesBelowInt8NeedAMeasurementThatPassed) {
  EXPECT_TRUE(check_kv_type(KvType::f16, {}).ok());
  EXPECT_TRUE(check_kv_type(KvType::int8, {}).ok());
  const Status unknown = check_kv_type(KvType::int4, {});
  EXPECT_EQ(unknown.code(), Code::unsupported);
  EXPECT_NE(unknown.message().find("kv-gate"), std::string::npos) << unknown.message();

  const KvVerdict good[] = {measured(KvType::int4, 0.009, 9)};
  EXPECT_TRUE(check_kv_type(KvType::int4, good).ok());
  EXPECT_FALSE(check_kv_type(KvType::int2, good).ok());

  const KvVerdict worse[] = {measured(KvType::int4, 0.011, 10)};
  const Status refused = check_kv_type(KvType::int4, worse);
  EXPECT_NE(refused.message().find("1.10 %"), std::string::npos) << refused.message();
  const KvVerdict blind[] = {measured(KvType::int4, 0, 8)};
  EXPECT_NE(check_kv_type(KvType::int4, blind).message().find("8 of the 10"), std::string::npos);
}

TEST(KvVerdict, DamagedTextsAreRefused) {
  const KvVerdict one[] = {measured(KvType::int4, 0.001, 10)};
  const std::string good = kv_verdicts_text("m", one);
  for (const char* member : {"kv_gate", "tiers", "type", "int4", "kl", "needles_found"}) {
    std::string bad = good;
    bad.replace(bad.find(member), 2, "xx");
    EXPECT_FALSE(read_kv_verdicts(bad, "file").has_value()) << bad;
  }
  for (const char* bad : {"", "[]", "{\"kv_gate\": 1, \"tiers\": [3]}", "{\"kv_gate\": 2}"}) {
    EXPECT_FALSE(read_kv_verdicts(bad, "file").has_value()) << bad;
  }
}

}  // namespace
}  // namespace ruv
