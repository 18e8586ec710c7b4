// HTTP/2 as the server speaks it, and what no client of it can do to the server.
#include "net/http/test_http2_client.h"
#include "net/http/test_server.h"

namespace ruv::http2_test {
namespace {

class Http2Test : public ServerTest {
 protected:
  // The code of the GOAWAY that ends a connection which sends these frames after its preface.
  int64_t code_of(std::string_view frames) {
    Http2TestClient client(port());
    client.send(frames);
    return client.read_end();
  }
  // The server answers others as before.
  bool answers() {
    Http2TestClient client(port());
    return client.ask(1, http2_head("GET", "/quick")).body == "quick";
  }
};

std::string repeated(std::string_view frame, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += frame;
  return out;
}

TEST_F(Http2Test, AnswersComeInAnyOrder) {
  start({});
  Http2TestClient client(port());
  client.send_head(1, http2_head("GET", "/wait"));
  EXPECT_EQ(client.ask(3, http2_head("GET", "/quick")).body, "quick");
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  waiting_->post([reply = waiting_] { reply->send({.body = "late"}); });
  const Http2Answer& late = client.read(1);
  EXPECT_EQ(late.status(), 200);
  EXPECT_EQ(late.body, "late");
  EXPECT_EQ(late.head.at("content-length"), "4");
  EXPECT_EQ(late.head.at("x-content-type-options"), "nosniff");
  EXPECT_TRUE(late.head.at("x-request-id").starts_with("req-"));
  EXPECT_EQ(n_disconnects_, 0);
}

TEST_F(Http2Test, BodiesOfAllSizes) {
  start({});
  Http2TestClient client(port());
  client.open_window(0, 1 << 30);
  int32_t id = 1;
  for (const size_t n : {0U, 1U, 16'384U, 60'000U}) {
    client.send_head(id, http2_head("POST", "/echo"), false);
    client.send_body(id, std::string(n, 'b'));
    EXPECT_EQ(client.read(id).body, std::string(n, 'b'));
    id += 2;
  }
  EXPECT_EQ(client.ask(id, http2_head("HEAD", "/quick")).head.at("content-length"), "5");
  EXPECT_EQ(client.answer(id).body, "");
}

TEST_F(Http2Test, ChecksAreThoseOfOtherRequests) {
  start({.api_keys = ApiKeys("secret"), .max_body_bytes = 1000});
  Http2TestClient client(port());
  int32_t id = -1;
  const auto status = [&](const Http2Fields& head) { return client.ask(id += 2, head).status(); };
  const std::pair<std::string, std::string> key{"authorization", "Bearer secret"};
  EXPECT_EQ(status(http2_head("GET", "/quick")), 401);
  EXPECT_EQ(status(http2_head("GET", "/quick", {key})), 200);
  EXPECT_EQ(status(http2_head("GET", "/nothing", {key})), 404);
  EXPECT_EQ(status(http2_head("GET", "/echo", {key})), 405);
  EXPECT_EQ(status(http2_head("POST", "/echo", {key, {"origin", "http://evil.example"}})), 403);
  EXPECT_EQ(status(http2_head("GET", "/open", {{"host", "other"}})), 400);
  EXPECT_EQ(status({{":method", "GET"},
                    {":scheme", "http"},
                    {":authority", "evil.example"},
                    {":path", "/open"}}),
            403);
  EXPECT_EQ(status({{":method", "GET"},
                    {":scheme", "ftp"},
                    {":authority", "localhost"},
                    {":path", "/open"}}),
            400);
  client.send_head(101, http2_head("POST", "/echo", {key}), false);
  client.send_body(101, std::string(2000, 'x'), false);
  EXPECT_EQ(client.read(101).status(), 413);
}

TEST_F(Http2Test, LongHeadsAreRefused) {
  start({.max_header_bytes = 2000});
  Http2TestClient client(port());
  EXPECT_EQ(client.ask(1, http2_head("GET", "/quick", {{"x", std::string(3000, 'x')}})).status(),
            431);
  EXPECT_EQ(client.ask(3, http2_head("GET", "/quick")).status(), 200);
}

TEST_F(Http2Test, AResetIsADisconnect) {
  start({});
  Http2TestClient client(port());
  client.send_head(1, http2_head("GET", "/wait"));
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  client.send_reset(1);
  EXPECT_TRUE(eventually([&] { return n_disconnects_ == 1; }));
  EXPECT_EQ(client.ask(3, http2_head("GET", "/quick")).body, "quick");
  client.send_head(5, http2_head("GET", "/wait"));
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 2; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return n_disconnects_ == 2; }));
}

TEST_F(Http2Test, ASlowStreamHoldsUpNoOther) {
  start({.write_timeout = milliseconds(60'000)});
  Http2TestClient client(port());
  client.open_window(0, 1 << 30);
  client.send_head(1, http2_head("GET", "/bytes/1000000"));
  client.read_until([&] { return client.answer(1).body.size() == 65'535; });
  EXPECT_EQ(client.ask(3, http2_head("GET", "/bytes/60000")).body.size(), 60'000U);
  EXPECT_EQ(client.answer(1).body.size(), 65'535U);
  client.open_window(1, 1 << 30);
  EXPECT_EQ(client.read(1).body.size(), 1'000'000U);
}

TEST_F(Http2Test, AWindowThatNeverOpensEndsItsStream) {
  start({.write_timeout = milliseconds(100)});
  Http2TestClient client(port(),
                         big_endian(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) + big_endian(0, 4));
  EXPECT_EQ(client.ask(1, http2_head("GET", "/bytes/1000")).reset_code, NGHTTP2_CANCEL);
  EXPECT_EQ(client.answer(1).status(), 200);
  EXPECT_EQ(client.ask(3, http2_head("HEAD", "/quick")).status(), 200);
}

TEST_F(Http2Test, AnswersThatWaitCountInTheBudget) {
  start({.budget = {.answers = 1 << 20}, .write_timeout = milliseconds(60'000)});
  Http2TestClient client(port());
  client.send_head(1, http2_head("GET", "/bytes/1000000"));
  client.read_until([&] { return client.answer(1).status() == 200; });
  Http2TestClient other(port());
  EXPECT_EQ(other.ask(1, http2_head("GET", "/bytes/1000000")).status(), 503);
  client.send_reset(1);
  EXPECT_TRUE(eventually([&] {
    Http2TestClient third(port());
    third.send_head(1, http2_head("GET", "/bytes/1000000"));
    third.read_until([&] { return third.answer(1).status() != 0; });
    return third.answer(1).status() == 200;
  }));
}

TEST_F(Http2Test, RapidResetsEndTheConnection) {
  start({.n_workers = 1});
  std::string frames;
  for (int i = 0; i < 300; ++i) {
    frames += http2_frame(NGHTTP2_HEADERS, 5, 2 * i + 1, hpack(http2_head("GET", "/wait")));
    frames += http2_frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, big_endian(8, 4));
  }
  EXPECT_EQ(code_of(frames), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(answers());
}

TEST_F(Http2Test, FloodsEndTheConnection) {
  start({});
  const std::string open = http2_frame(NGHTTP2_HEADERS, 4, 1, hpack(http2_head("POST", "/echo")));
  for (const std::string& frame :
       {http2_frame(NGHTTP2_PING, 0, 0, "12345678"), http2_frame(NGHTTP2_SETTINGS, 0, 0, {}),
        http2_frame(NGHTTP2_DATA, 0, 1, {}),
        http2_frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1, 4)),
        http2_frame(NGHTTP2_PRIORITY, 0, 5, std::string(5, '\1')),
        http2_frame(0x77, 0, 0, "unknown")}) {
    EXPECT_EQ(code_of(open + repeated(frame, 20'000)), NGHTTP2_ENHANCE_YOUR_CALM)
        << static_cast<int>(frame[3]);
  }
  EXPECT_TRUE(answers());
}

TEST_F(Http2Test, HeadsThatDoNotEndEndTheConnection) {
  start({});
  const std::string begin = http2_frame(NGHTTP2_HEADERS, 1, 1, hpack(http2_head("GET", "/quick")));
  EXPECT_EQ(code_of(begin + repeated(http2_frame(NGHTTP2_CONTINUATION, 0, 1, {}), 1000)),
            NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(answers());
}

// A field of 3,900 bytes is put into HPACK's table, and each byte after stands for it.
TEST_F(Http2Test, HeadsOfFewBytesThatStandForManyEndTheConnection) {
  start({});
  std::string block = hpack(http2_head("GET", "/quick"));
  block += '\x40' + hpack_text("x") + hpack_text(std::string(3900, 'x'));
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_HEADERS, 5, 1, block + std::string(10'000, '\xBE'))),
            NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(answers());
}

TEST_F(Http2Test, MalformedRequestsAreReset) {
  start({});
  Http2TestClient client(port());
  int32_t id = -1;
  const auto code = [&](const Http2Fields& head) { return client.ask(id += 2, head).reset_code; };
  for (const std::pair<std::string, std::string>& field :
       std::vector<std::pair<std::string, std::string>>{{"X-Upper", "a"},
                                                        {"connection", "close"},
                                                        {"transfer-encoding", "chunked"},
                                                        {"upgrade", "h2c"},
                                                        {"keep-alive", "1"},
                                                        {"te", "gzip"},
                                                        {":path", "/open"},
                                                        {":unknown", "a"},
                                                        {"x y", "a"},
                                                        {"x", "a\r\nhost: evil"},
                                                        {"content-length", "-1"},
                                                        {"content-length", "5"}}) {
    EXPECT_EQ(code(http2_head("GET", "/quick", {field})), NGHTTP2_PROTOCOL_ERROR) << field.first;
  }
  EXPECT_EQ(code({{":method", "GET"}, {":path", "/quick"}}), NGHTTP2_PROTOCOL_ERROR);
  for (const std::string body : {"abc", "abcdefg"}) {
    client.send_head(id += 2, http2_head("POST", "/echo", {{"content-length", "5"}}), false);
    client.send_body(id, body);
    EXPECT_EQ(client.read(id).reset_code, NGHTTP2_PROTOCOL_ERROR) << body;
  }
  EXPECT_EQ(client.ask(id + 2, http2_head("GET", "/quick")).body, "quick");
}

TEST_F(Http2Test, WrongFramesEndTheConnection) {
  start({});
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_DATA, 0, 0, "x")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_HEADERS, 5, 2, hpack(http2_head("GET", "/quick")))),
            NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_PING, 0, 0, "short")), NGHTTP2_FRAME_SIZE_ERROR);
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_DATA, 0, 1, std::string(20'000, 'x'))),
            NGHTTP2_FRAME_SIZE_ERROR);
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_HEADERS, 5, 1, "\xFF\xFF\xFF\xFF\xFF\xFF")),
            NGHTTP2_COMPRESSION_ERROR);
  EXPECT_EQ(code_of(http2_frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(0, 4))),
            NGHTTP2_PROTOCOL_ERROR);
  EXPECT_TRUE(answers());
}

TEST_F(Http2Test, StreamsAreLimited) {
  start({.n_workers = 1});
  Http2TestClient client(port());
  ASSERT_TRUE(client.read_until([&] { return client.has_settings(); }));
  for (int i = 0; i < 101; ++i) client.send_head(2 * i + 1, http2_head("GET", "/wait"));
  EXPECT_EQ(client.read_end(), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_TRUE(answers());
}

TEST_F(Http2Test, SlowAndIdleClientsAreEnded) {
  start({.idle_timeout = milliseconds(100),
         .header_timeout = milliseconds(100),
         .body_timeout = milliseconds(100)});
  EXPECT_EQ(code_of({}), NGHTTP2_NO_ERROR);
  const std::string begun = hpack(http2_head("GET", "/quick"));
  Http2TestClient head(port());
  head.acknowledges = false;  // nothing may come before the rest of the head
  head.send(http2_frame(NGHTTP2_HEADERS, 1, 1, begun));
  EXPECT_EQ(head.read_end(), NGHTTP2_ENHANCE_YOUR_CALM);
  Http2TestClient body(port());
  body.send_head(1, http2_head("POST", "/echo"), false);
  EXPECT_EQ(body.read(1).status(), 408);
}

TEST_F(Http2Test, StopLetsAnswersFinish) {
  start({.drain_timeout = milliseconds(20'000)});
  Http2TestClient idle(port());
  EXPECT_EQ(idle.ask(1, http2_head("GET", "/quick")).status(), 200);
  Http2TestClient client(port());
  client.send_head(1, http2_head("GET", "/wait"));
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  server_->stop();
  EXPECT_EQ(idle.read_end(), NGHTTP2_NO_ERROR);
  waiting_->post([reply = waiting_] { reply->send({.body = "finished"}); });
  EXPECT_EQ(client.read(1).body, "finished");
  EXPECT_EQ(client.read_end(), NGHTTP2_NO_ERROR);
  EXPECT_EQ(n_disconnects_, 0);
}

}  // namespace
}  // namespace ruv::http2_test
