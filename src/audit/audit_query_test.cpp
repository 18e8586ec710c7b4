// Filters, figures and proofs over drawn logs.
#include "audit/audit_query.h"

#include "audit/audit_proof.h"
#include "audit/test_audit.h"

namespace ruv::audit_query_test {
namespace {

// Answer `i` of two models: every tenth failed, one took long.
AuditEntry answer_of(int64_t i) {
  AuditEntry entry{.body = Json::object()};
  Json& body = entry.body;
  body["kind"] = "answer";
  body["time_ms"] = 1000 * i;
  body["id"] = "req-" + std::to_string(i);
  body["tenant"] = i % 2 == 0 ? "even" : "odd";
  body["model"] = i % 3 == 0 ? "big" : "small";
  body["finish"] = i % 10 == 0 ? "error" : "stop";
  if (i % 10 == 0) {
    body["error"]["code"] = "deadline";
    body["error"]["message"] = "not done after " + std::to_string(i * 7) + " ms";
  }
  body["tokens"]["prompt"] = 10;
  body["tokens"]["answer"] = i;
  body["times"]["total_ms"] = i == 77 ? 5000.5 : 100.0 + static_cast<double>(i);
  return entry;
}

class AuditQueryTest : public testing::Test {
 protected:
  AuditQueryTest() : folder_("query") {
    auto made = AuditStore::open({.folder = folder_.path()});
    for (int64_t i = 1; i <= 100; i += 10)
      EXPECT_TRUE(made->append(10, i, [&](size_t, int64_t number) { return answer_of(number); }));
    EXPECT_TRUE(made->append(1, 101, [&](size_t, int64_t) { return gap_entry(3, 101); }));
    store_.emplace(std::move(*made));
  }
  std::vector<int64_t> numbers(const AuditFilter& filter) {
    std::vector<int64_t> found;
    const Status status = for_each_entry(*store_, filter, [&](const AuditRow& row) {
      found.push_back(row.number);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return found;
  }
  AuditFolder folder_;
  std::optional<AuditStore> store_;
};

TEST_F(AuditQueryTest, EachConditionOfAFilterHolds) {
  EXPECT_EQ(numbers({}).size(), 100U);
  EXPECT_EQ(numbers({.with_notes = true}).size(), 101U);
  EXPECT_EQ(numbers({.since_ms = 5000, .until_ms = 7000}), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(numbers({.model = "big"}).size(), 33U);
  EXPECT_EQ(numbers({.tenant = "odd"}).size(), 50U);
  EXPECT_EQ(numbers({.finish = "error"}).size(), 10U);
  EXPECT_EQ(numbers({.request_id = "req-42"}), std::vector<int64_t>{42});
  EXPECT_EQ(numbers({.slower_than_us = 5'000'000}), std::vector<int64_t>{77});
  EXPECT_EQ(numbers({.after = 98}), (std::vector<int64_t>{99, 100}));
  EXPECT_EQ(numbers({.most = 2, .newest_first = true}), (std::vector<int64_t>{100, 99}));
  EXPECT_TRUE(numbers({.model = "big' OR '1' = '1"}).empty());
}

TEST_F(AuditQueryTest, FiguresAreThoseOfTheEntries) {
  const auto figures = audit_figures(*store_, {}, 3);
  ASSERT_TRUE(figures) << figures.error().message();
  ASSERT_EQ(figures->models.size(), 2U);
  const AuditModelFigures& big = figures->models.at("big");
  EXPECT_EQ(big.n, 33);
  EXPECT_EQ(big.n_prompt_tokens, 330);
  EXPECT_EQ(big.n_answer_tokens, 33 * 34 / 2 * 3);
  EXPECT_EQ(big.finishes.at("error"), 3);
  EXPECT_DOUBLE_EQ(big.total.p50, 100 + 51);
  EXPECT_DOUBLE_EQ(big.total.most, 100 + 99);
  ASSERT_EQ(figures->spikes.size(), 1U);
  EXPECT_EQ(figures->spikes[0].number, 77);
  ASSERT_EQ(figures->errors.size(), 1U) << "numbers do not tell messages apart";
  EXPECT_EQ(figures->errors[0].n, 10);
  EXPECT_EQ(figures->errors[0].message, "not done after # ms");
  EXPECT_EQ(figures->errors[0].first, 10);
  EXPECT_EQ(figures->errors[0].last, 100);
}

TEST_F(AuditQueryTest, AProofHoldsAndNoChangedOneDoes) {
  append_drawn(*store_, 7, 9);  // 102 to 108
  for (const int64_t entry : {1, 34, 101, 105}) {
    const auto proof = audit_proof(*store_, entry, true);
    ASSERT_TRUE(proof) << proof.error().message();
    const auto proven = check_proof(*parse_json(proof->dump(), "proof"));
    ASSERT_TRUE(proven) << proven.error().message();
    EXPECT_EQ(proven->number, entry);
    EXPECT_EQ(proven->key, store_->public_key());
    // Without contents it is a proof still; each other digit and letter is needed.
    const std::string text = proof->dump();
    const size_t name = text.rfind("\"contents\"");
    for (size_t i = 0; i < text.size(); ++i) {
      if (name != text.npos && i > name && i < name + 9) continue;
      if (!std::isalnum(static_cast<unsigned char>(text[i]))) continue;
      std::string changed = text;
      changed[i] = changed[i] == '1' ? '2' : '1';
      const auto json = parse_json(changed, "proof");
      EXPECT_FALSE(json && check_proof(*json)) << i << " of " << text;
    }
  }
  EXPECT_FALSE(audit_proof(*store_, 0, true));
  EXPECT_FALSE(audit_proof(*store_, 109, true));
}

}  // namespace
}  // namespace ruv::audit_query_test
