// A server's audit log over HTTP: entries, filters, proofs, figures, and what is refused.
#include "net/audit/audit_routes.h"

#include <gtest/gtest.h>

#include "audit/audit_log.h"
#include "audit/audit_proof.h"
#include "audit/audit_query.h"
#include "audit/test_audit.h"
#include "net/openai/test_case_server.h"

namespace ruv::audit_routes_test {
namespace {

FinishedRequest answered(int64_t i) {
  FinishedRequest made;
  made.unix_ms = 1000 * i;
  made.engine = std::make_shared<AnsweringEngine>(AnsweringEngine{
      .model = i % 2 == 0 ? "a" : "b", .model_digest = "00", .kv_type = "f16", .n_ctx = 9});
  made.request.prompt = {1, 2};
  made.request.terms.request_id = "req-" + std::to_string(i);
  made.ids = {3};
  made.text = "answer " + std::to_string(i);
  made.finish = i == 4 ? FinishReason::error : FinishReason::stop;
  if (i == 4) made.status = Status(Code::deadline, "not done after 50 ms");
  made.timings.decode_ms = static_cast<double>(i);
  return made;
}

class AuditRoutesTest : public testing::Test {
 protected:
  AuditRoutesTest() : folder_("routes") {
    log_ = std::move(*AuditLog::start(std::move(*AuditStore::open({.folder = folder_.path()})),
                                      {.contents = AuditContents::kept}));
    for (int64_t i = 1; i <= 5; ++i) log_->add(answered(i));
    EXPECT_TRUE(log_->flush().ok());
    server_.keep_audit(*log_);
  }
  Json get(const std::string& path, int status = 200) {
    const Json answer =
        server_.answer({{"request", {{"method", "GET"}, {"path", "/v1/audit" + path}}}});
    EXPECT_EQ(answer.at("status"), status) << answer.dump();
    return answer.at("body");
  }
  std::vector<int64_t> numbers(const std::string& query) {
    std::vector<int64_t> found;
    const Json list = get("/entries?" + query);
    for (const Json& entry : list.at("data")) found.push_back(entry.at("number").get<int64_t>());
    return found;
  }

  AuditFolder folder_;
  std::unique_ptr<AuditLog> log_;
  CaseServer server_;
};

TEST(AuditRoutes, AreRefusedWithoutALog) {
  CaseServer server;
  for (const char* path : {"", "/entries", "/entries/1", "/proofs/1", "/stats"}) {
    const Json answer = server.answer(
        {{"request", {{"method", "GET"}, {"path", std::string("/v1/audit") + path}}}});
    EXPECT_EQ(answer.at("status"), 400);
    EXPECT_NE(answer.dump().find("--audit FOLDER"), std::string::npos);
  }
}

// The newest rating counts, and only that of the answer's own user.
TEST_F(AuditRoutesTest, RatingsFindAnswers) {
  const auto rate = [&](const Json& body, int status = 200) {
    const Json answer =
        server_.answer({{"request", {{"path", "/v1/audit/ratings"}, {"body", body}}}});
    EXPECT_EQ(answer.at("status"), status) << answer.dump();
  };
  rate({{"request_id", "req-2"}, {"quality", 0.25}});
  rate({{"request_id", "req-3"}, {"quality", 0.1}});
  rate({{"request_id", "req-3"}, {"quality", 0.9}});
  rate({{"request_id", "req-5"}, {"quality", 0.1}, {"user", "another"}});
  rate({{"request_id", "unknown"}, {"quality", 0}});
  EXPECT_TRUE(log_->flush().ok());
  EXPECT_EQ(numbers("rated_below=0.5"), (std::vector<int64_t>{2}));
  EXPECT_EQ(numbers("rated_below=1"), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(numbers("rated_below=1&limit=1"), (std::vector<int64_t>{3}));
  EXPECT_EQ(numbers("rated_below=1&model=a"), (std::vector<int64_t>{2}));
  EXPECT_EQ(numbers("rated_below=0.2"), (std::vector<int64_t>{}));
  EXPECT_EQ(get("/entries?rated_below=0.5").at("data")[0].at("quality"), Json(0.25));
  EXPECT_EQ(numbers(""), (std::vector<int64_t>{5, 4, 3, 2, 1}));
  EXPECT_EQ(get("/stats?rated_below=0.5").at("models").at("a").at("answers"), Json(1));
  for (const char* wrong : {"x", "", "-1", "0.5x", "nan"}) {
    get(std::string("/entries?rated_below=") + wrong, 400);
  }
  rate({{"request_id", "req-1"}}, 400);
  rate({{"quality", 1}}, 400);
  rate({{"request_id", ""}, {"quality", 1}}, 400);
  rate({{"request_id", std::string(257, 'x')}, {"quality", 1}}, 400);
  rate({{"request_id", "req-1"}, {"quality", 1.5}}, 400);
  rate({{"request_id", "req-1"}, {"quality", "1"}}, 400);
  EXPECT_TRUE(verdict_of(folder_.path()).faults.empty());
}

TEST_F(AuditRoutesTest, SearchesOfAMemoryAreNoted) {
  CaseMemory memory;
  CaseServer server(nullptr, nullptr, "", memory.get());
  server.keep_audit(*log_);
  const auto ask = [&](const std::string& path, const Json& body) {
    return server.answer({{"request", {{"path", path}, {"body", body}}}});
  };
  ask("/v1/memory/documents", {{"name", "ship.md"}, {"text", "The cook is called Quillfeather."}});
  EXPECT_EQ(ask("/v1/memory/search", {{"query", "cook"}}).at("status"), 200);
  EXPECT_TRUE(log_->flush().ok());
  Json found;
  const AuditStore store = *AuditStore::read(folder_.path());
  const Status status =
      for_each_entry(store, {.with_notes = true}, [&](const AuditRow& row) -> Status {
        if (row.columns.kind == "retrieval") found = *parse_json(row.body, "entry");
        return {};
      });
  ASSERT_TRUE(status.ok());
  ASSERT_TRUE(found.is_object());
  EXPECT_EQ(found.at("store"), "memory");
  EXPECT_EQ(found.at("chunks")[0].at("document"), "ship.md");
  EXPECT_EQ(found.at("chunks").size(), 1U);
}

TEST_F(AuditRoutesTest, ShowTheLogAndItsEntries) {
  const Json state = get("");
  EXPECT_EQ(state.at("head").at("entries"), Json(5));
  EXPECT_EQ(state.at("written"), Json(5));
  EXPECT_EQ(state.at("lost"), Json(0));
  EXPECT_EQ(numbers(""), (std::vector<int64_t>{5, 4, 3, 2, 1}));
  EXPECT_EQ(numbers("limit=2"), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(get("/entries?limit=2").at("has_more"), Json(true));
  EXPECT_EQ(get("/entries?limit=5").at("has_more"), Json(false));
  EXPECT_EQ(numbers("limit=2&before=4"), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(numbers("model=a"), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(numbers("finish=error"), std::vector<int64_t>{4});
  EXPECT_EQ(numbers("request_id=req-2"), std::vector<int64_t>{2});
  EXPECT_EQ(numbers("since_ms=2000&until_ms=4000"), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(numbers("slower_than_ms=3"), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(get("/entries/3").at("text"), Json("answer 3"));
  EXPECT_EQ(get("/entries/4").at("error").at("message"), Json("not done after 50 ms"));
}

TEST_F(AuditRoutesTest, GiveProofsAndFigures) {
  const auto proven = check_proof(get("/proofs/2"));
  ASSERT_TRUE(proven) << proven.error().message();
  EXPECT_EQ(proven->body.at("id"), Json("req-2"));
  const Json figures = get("/stats");
  EXPECT_EQ(figures.at("models").at("a").at("answers"), Json(2));
  EXPECT_EQ(figures.at("errors").size(), 1U);
  EXPECT_EQ(get("/stats?model=b").at("errors").size(), 0U);
}

TEST_F(AuditRoutesTest, NameWhatIsWrong) {
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "before=0", "since_ms=-1",
                            "slower_than_ms=1e3", "number=1"})
    get(std::string("/entries?") + query, 400);
  get("?x=1", 400);
  get("/entries/3?x=1", 400);
  for (const char* number : {"0", "6", "-1", "x", "99999999999999999999", "3/4"}) {
    get(std::string("/entries/") + number, 404);
    get(std::string("/proofs/") + number, 404);
  }
}

}  // namespace
}  // namespace ruv::audit_routes_test
