// By which names the server answers, and to which web pages.
#include "net/http/access.h"

#include "net/http/test_server.h"

namespace ruv {
namespace {

HttpRequest request_to(std::string host, std::string origin = "") {
  HttpRequest request;
  request.has_host = true;
  request.host = std::move(host);
  request.from_web_page = !origin.empty();
  request.origin = std::move(origin);
  return request;
}

bool answers(const HostAccess& access, const HttpRequest& request) {
  const auto allowed = access.check(request);
  EXPECT_TRUE(allowed || allowed.error().status == 403);
  return allowed.has_value();
}

TEST(HostName, IsTakenFromTheHeader) {
  EXPECT_EQ(host_name("localhost"), "localhost");
  EXPECT_EQ(host_name("LocalHost:80"), "localhost");
  EXPECT_EQ(host_name("a.example.:8080"), "a.example");
  EXPECT_EQ(host_name("[::1]:8080"), "::1");
  EXPECT_EQ(host_name("[::1]"), "::1");
  for (const char* wrong : {"", ":80", "[::1", "[::1]x", "a:b", "a:123456", "a b", "u@localhost",
                            "localhost/x", "::1", "caf\xC3\xA9", "a\x7F"}) {
    EXPECT_EQ(host_name(wrong), "") << wrong;
  }
}

TEST(HostAccess, OnLoopbackOnlyTheMachinesOwnNamesCount) {
  for (const char* address : {"127.0.0.1", "::1", "127.0.0.5"}) {
    for (const bool has_key : {false, true}) {
      const HostAccess access(address, has_key, {"chat.example"});
      for (const char* host : {"localhost", "localhost:8080", "127.0.0.1:1", "127.255.0.9",
                               "[::1]:8080", "chat.example", "Chat.Example:443"}) {
        EXPECT_TRUE(answers(access, request_to(host))) << host;
      }
      for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
                               "192.168.0.7", "host", "127.1", "[::2]", "localhost@evil.example"}) {
        EXPECT_FALSE(answers(access, request_to(host))) << host;
      }
    }
  }
  EXPECT_TRUE(answers(HostAccess("127.0.0.1", false, {"*"}), request_to("evil.example")));
}

TEST(HostAccess, ElsewhereAddressesAndPlainNamesCountToo) {
  const HostAccess open("0.0.0.0", false, {"chat.example"});
  for (const char* host :
       {"localhost", "192.168.0.7:8080", "[fe80::1]", "server", "chat.example"}) {
    EXPECT_TRUE(answers(open, request_to(host))) << host;
  }
  EXPECT_FALSE(answers(open, request_to("evil.example")));
  // A foreign page does not know the key.
  EXPECT_TRUE(answers(HostAccess("0.0.0.0", true, {}), request_to("server.example")));
}

TEST(HostAccess, OtherSitesPagesAreRefused) {
  const HostAccess access("127.0.0.1", false, {"chat.example"});
  const auto page = [&](const char* origin, const char* host = "127.0.0.1:8080") {
    return answers(access, request_to(host, origin));
  };
  EXPECT_TRUE(page("http://127.0.0.1:8080"));
  EXPECT_TRUE(page("http://localhost:3000"));
  EXPECT_TRUE(page("https://chat.example"));
  EXPECT_FALSE(page("http://evil.example"));
  EXPECT_FALSE(page("http://evil.example", "localhost"));
  EXPECT_FALSE(page("null"));
  EXPECT_FALSE(page("localhost"));
  EXPECT_FALSE(page("http://localhost@evil.example"));
  // The key frees the name by which the server is called, not who may call it.
  const HostAccess open("0.0.0.0", true, {});
  EXPECT_TRUE(answers(open, request_to("server.example", "https://server.example")));
  EXPECT_FALSE(answers(open, request_to("server.example", "https://evil.example")));
}

TEST_F(ServerTest, AForeignHostOrPageIsRefusedBeforeTheBody) {
  start({});
  const std::string rest = "Content-Length: 1000000\r\n\r\n";
  const std::string head = "POST /echo HTTP/1.1\r\n";
  EXPECT_EQ(TestClient(port()).ask(head + "Host: evil.example\r\n" + rest).status, 403);
  const TestResponse response =
      TestClient(port()).ask(head + "Host: localhost\r\nOrigin: http://evil.example\r\n" + rest);
  EXPECT_EQ(response.status, 403);
  EXPECT_NE(response.body.find("--allow-host"), std::string::npos);
}

}  // namespace
}  // namespace ruv
