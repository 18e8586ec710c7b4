// Any bytes as the body of any route, through the route itself. The first byte picks the route.
// Each request gets one whole answer of a known status, and nothing of it stays behind.
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>

#include "net/body_tables.h"
#include "net/fuzz_service.h"
#include "net/http/exchange.h"
#include "net/openai/fields.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ruv {
namespace {

struct Target {
  const char* method;
  const char* path;
  const char* query;
};
// tests/fuzz/make_corpus.py knows this order.
constexpr Target kTargets[] = {
    {"POST", "/v1/chat/completions", ""},
    {"POST", "/v1/completions", ""},
    {"POST", "/tokenize", ""},
    {"POST", "/detokenize", ""},
    {"POST", "/apply-template", ""},
    {"PUT", "/v1/sessions/s", "user=u"},
    {"GET", "/v1/sessions", nullptr},  // the bytes are the query
    {"GET", "/v1/models/x", ""},
    {"POST", "/v1/embeddings", ""},
    {"POST", "/v1/rerank", ""},
    {"POST", "/v1/score", ""},
    {"POST", "/v1/messages", ""},
    {"POST", "/v1/messages/count_tokens", ""},
    {"POST", "/v1/responses", ""},
    {"POST", "/api/chat", ""},
    {"POST", "/api/generate", ""},
    {"POST", "/api/embed", ""},
    {"POST", "/api/show", ""},
    {"POST", "/infill", ""},
    {"POST", "/v1/responses/x/cancel", ""},
    {"GET", "/v1/responses/x", nullptr},
    {"GET", "/v1/responses/x/input_items", nullptr},
};

// Work in the background ends before the server does.
class LooseWork final : public Detached {
 public:
  void on_stop(std::function<void()>) override {}
  void end(const RequestNotes&) override {}
};

class LooseHost final : public DetachHost {
 public:
  std::unique_ptr<Detached> detach() override { return std::make_unique<LooseWork>(); }
};

// What makes a body of the API: names of fields, words of values, brackets.
std::vector<std::string> words() {
  std::vector<std::string> found = {"{}",
                                    "[]",
                                    "null",
                                    "true",
                                    "false",
                                    "0",
                                    "-1",
                                    "1e999",
                                    "\"m\"",
                                    "\"user\"",
                                    "\"system\"",
                                    "\"assistant\"",
                                    "\"tool\"",
                                    "\"text\"",
                                    "[[1]]",
                                    "\"\"",
                                    "\\u0000",
                                    "\\ud83d",
                                    "[1,2,3]",
                                    "\"s\"",
                                    "18446744073709551616",
                                    ",",
                                    ":",
                                    "{",
                                    "[",
                                    "]",
                                    "}",
                                    "\"role\":",
                                    "\"content\":",
                                    "\"session\":"};
  for (const BodyTable* table : body_tables()) {
    for (const FieldRow& row : table->rows) found.push_back(fmt::format("\"{}\":", row.name));
  }
  for (const FieldRow& row : message_fields()) found.push_back(fmt::format("\"{}\":", row.name));
  return found;
}

void run(const FuzzService& service, const Route& route, HttpRequest request) {
  static const ServerOptions options;
  boost::asio::io_context io;
  ServerBudget budget(options.budget);
  {
    auto exchange = std::make_shared<Exchange>(io, options, budget,
                                               std::make_unique<Http1Frames>(AnswerFraming{}));
    const auto host = std::make_shared<LooseHost>();
    exchange->set_host(host);
    run_route(route, request, exchange);
    std::string bytes;
    // A session is written by a thread of its own.
    for (int i = 0; i < 100'000; ++i) {
      io.restart();
      io.poll();
      service.run_beside();
      for (std::string more; !(more = exchange->take_queued()).empty();) {
        bytes += more;
        exchange->mark_written();
      }
      if (exchange->ended()) break;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    CHECK(exchange->ended());
    // The thread that wrote a session lets go of the exchange some time after the answer's end, and
    // an exchange must not outlive its io_context.
    for (int i = 0; i < 100'000 && exchange.use_count() > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    CHECK(exchange.use_count() == 1);
    CHECK(bytes.starts_with("HTTP/1.1 ") && bytes.find("Unknown\r\n") == std::string::npos);
  }
  io.restart();
  io.poll();
  CHECK(budget.taken(BudgetUse::answers) == 0);
}

}  // namespace
}  // namespace ruv

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::string> kWords = ruv::words();
  std::minstd_rand random(seed);
  if (random() % 2 == 0 || size == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::string& word = kWords[random() % kWords.size()];
  const size_t at = 1 + random() % text.size();
  const size_t n_replaced = random() % 2 == 0 ? 0 : random() % 16;
  text.replace(at, n_replaced, word);
  const size_t n = std::min(text.size(), max_size);
  std::copy_n(text.begin(), n, reinterpret_cast<char*>(data));
  return n;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static ruv::FuzzService service;
  static const std::vector<ruv::Route> routes = service.routes();
  static const ruv::Router router(routes);
  if (size == 0) return 0;
  const ruv::Target& target = ruv::kTargets[bytes[0] % std::size(ruv::kTargets)];
  ruv::HttpRequest request;
  request.method = target.method;
  request.path = target.path;
  request.body.assign(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  request.query = target.query != nullptr ? target.query : request.body;
  const ruv::RouteChoice choice = router.choose(request);
  CHECK(choice.route != nullptr);
  ruv::run(service, *choice.route, std::move(request));
  return 0;
}
