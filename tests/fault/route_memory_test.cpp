// A request gets an answer whichever of the server's allocations for it fails.
#include <gtest/gtest.h>

#include "fault/allocations.h"
#include "net/body_tables.h"
#include "net/one_model.h"
#include "net/openai/api_route.h"

namespace ruv {
namespace {

// Runs everything at once and keeps the answer's status.
class CaughtAnswer final : public Reply {
 public:
  void post(std::function<void()> work) override { work(); }
  void send(HttpResponse response) override { status = response.status; }
  void begin_stream(std::string_view) override {}
  bool write(std::string) override { return true; }
  void write_last(std::string) override {}
  void send_pieces(uint64_t, std::function<std::string()>) override {}
  bool hold(uint64_t) override { return true; }
  void on_disconnect(std::function<void()>) override {}
  std::unique_ptr<Detached> detach() override { return nullptr; }

  int status = 0;
};

// The statuses of the answers while the 1st, 2nd, … allocation fails, until none is left to fail.
std::vector<int> answers(const Route& route, const std::string& body) {
  std::vector<int> statuses;
  for (int64_t n = 1;; ++n) {
    const auto reply = std::make_shared<CaughtAnswer>();
    HttpRequest http;
    http.body = body;
    fail_allocations(n);
    run_route(route, http, reply);
    const bool failed = let_allocations_succeed();
    statuses.push_back(reply->status);
    if (!failed) return statuses;
  }
}

void expect_answers(bool lenient, const char* body, int at_last) {
  OpenAiService service;
  static_cast<ServerParts&>(service) = make_server_parts();
  service.lenient = lenient;
  OneModel models(service);
  const auto answer = [](const ServerCall&, const std::shared_ptr<Reply>& reply) {
    send_response(reply, {.status = 200});
    return ApiResult<void>();
  };
  const Route route = server_route(models, "POST", "/x", *body_tables().front(), answer);
  std::vector<int> statuses = answers(route, body);
  EXPECT_TRUE(!allocations_can_fail || statuses.size() > 3);
  EXPECT_EQ(statuses.back(), at_last);
  statuses.pop_back();
  for (const int status : statuses) EXPECT_EQ(status, 503);
}

constexpr char kUnknownField[] = R"({"a_field_whose_name_takes_memory_of_its_own": 1})";

TEST(RouteMemory, ARefusedFieldIsAnswered) { expect_answers(false, kUnknownField, 400); }

TEST(RouteMemory, ADroppedFieldIsAnswered) { expect_answers(true, kUnknownField, 200); }

}  // namespace
}  // namespace ruv
