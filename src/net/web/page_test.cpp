#include <gtest/gtest.h>
#include <sodium.h>

#include <thread>

#include "net/http/server.h"
#include "net/http/test_client.h"
#include "net/one_model.h"
#include "net/openai/routes.h"

namespace ruv {
namespace {

// A server that has nothing but the page.
class PageTest : public testing::Test {
 protected:
  ~PageTest() override {
    if (server_ == nullptr) return;
    server_->stop();
    thread_.join();
  }
  void start(bool has_page = true, std::string_view key = "") {
    service_.has_page = has_page;
    ServerOptions options{.port = 0};
    if (!key.empty()) options.api_keys = ApiKeys(key);
    server_ = *HttpServer::create(options, page_routes(models_));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  TestResponse get(const std::string& path, const std::string& lines) {
    TestClient client(server_->port());
    return client.ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n");
  }

  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

constexpr const char* kBrowser = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n";

bool has(const TestResponse& response, std::string_view text) {
  return response.headers.find(text) != std::string::npos;
}

std::string digest_of(const std::string& text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size());
  std::string base64(64, '\0');
  return sodium_bin2base64(base64.data(), base64.size(), digest.data(), digest.size(),
                           sodium_base64_VARIANT_ORIGINAL);
}

TEST_F(PageTest, BrowsersGetIt) {
  start();
  const TestResponse page = get("/", kBrowser);
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(has(page, "Content-Type: text/html; charset=utf-8"));
  EXPECT_TRUE(has(page, "Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_TRUE(has(page, "frame-ancestors 'none'"));
  EXPECT_TRUE(has(page, "Referrer-Policy: no-referrer"));
  EXPECT_TRUE(has(page, "X-Content-Type-Options: nosniff"));
  EXPECT_TRUE(page.body.starts_with("<!doctype html>"));
  EXPECT_NE(page.body.find("src=\"/page.js\""), std::string::npos);
  // Nothing in it that the policy does not allow.
  EXPECT_EQ(page.body.find("<script>"), std::string::npos);
  EXPECT_EQ(page.body.find(" style="), std::string::npos);
  const size_t begin = page.body.find("<style>") + 7;
  const size_t end = page.body.find("</style>");
  ASSERT_LT(begin, end);
  EXPECT_EQ(page.body.find("<style", begin), std::string::npos);
  EXPECT_TRUE(
      has(page, "style-src 'sha256-" + digest_of(page.body.substr(begin, end - begin)) + "';"));
}

TEST_F(PageTest, AScriptAllowsNoStyle) {
  start();
  EXPECT_TRUE(has(get("/page.js", kBrowser), "style-src 'none';"));
}

TEST_F(PageTest, OtherClientsGetALine) {
  start();
  for (const char* lines : {"", "Accept: */*\r\n", "Accept: text/html;q=0\r\n"}) {
    const TestResponse line = get("/", lines);
    EXPECT_EQ(line.status, 200);
    EXPECT_EQ(line.body, "RuvLLM is running\n") << lines;
  }
}

TEST_F(PageTest, IsCompressedForClientsThatSaySo) {
  start();
  for (const char* path : {"/", "/page.js", "/page-prose.js", "/page-temml.js", "/page-views.js"}) {
    const TestResponse plain = get(path, kBrowser);
    const TestResponse packed = get(path, std::string(kBrowser) + "Accept-Encoding: gzip, br\r\n");
    EXPECT_FALSE(has(plain, "Content-Encoding"));
    EXPECT_TRUE(has(packed, "Content-Encoding: gzip"));
    EXPECT_TRUE(has(packed, "Vary: Accept, Accept-Encoding"));
    EXPECT_TRUE(packed.body.starts_with("\x1f\x8b"));
    EXPECT_LT(packed.body.size(), plain.body.size());
    const TestResponse no = get(path, std::string(kBrowser) + "Accept-Encoding: gzip;q=0\r\n");
    EXPECT_EQ(no.body, plain.body);
  }
}

TEST_F(PageTest, IsNotSentToClientsThatHaveIt) {
  start();
  const TestResponse first = get("/page.js", "");
  const size_t at = first.headers.find("ETag: ") + 6;
  const std::string tag = first.headers.substr(at, first.headers.find('\r', at) - at);
  // One connection, so that a body or length of the first answer would spoil the second.
  TestClient client(server_->port());
  const std::string again =
      "GET /page.js HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " + tag + "\r\n\r\n";
  ASSERT_TRUE(client.send(again));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_TRUE(client.received().starts_with("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_EQ(client.received().find("Content-Length"), std::string::npos);
  EXPECT_EQ(client.received().find("Transfer-Encoding"), std::string::npos);
  EXPECT_TRUE(client.received().ends_with("\r\n\r\n"));
  EXPECT_EQ(get("/page.js", "If-None-Match: \"another\"\r\n").status, 200);
}

TEST_F(PageTest, AsksForNoKey) {
  start(true, "secret");
  for (const char* path : {"/", "/page.js", "/page-prose.js", "/page-temml.js", "/page-views.js"}) {
    EXPECT_EQ(get(path, kBrowser).status, 200) << path;
  }
}

TEST_F(PageTest, MayBeLeftOut) {
  start(false);
  EXPECT_EQ(get("/", kBrowser).body, "RuvLLM is running\n");
  EXPECT_EQ(get("/page.js", kBrowser).status, 404);
  EXPECT_NE(get("/page-prose.js", kBrowser).body.find("--no-page"), std::string::npos);
}

}  // namespace
}  // namespace ruv
