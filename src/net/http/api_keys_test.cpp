#include "net/http/api_keys.h"

#include "net/http/test_server.h"

namespace ruv {
namespace {

using std::chrono::seconds;

// Of "secret", as `printf secret | sha256sum` gives it.
constexpr const char* kSecretDigest =
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

TEST(ApiKeys, AreReadFromLines) {
  const Result<ApiKeys> keys =
      ApiKeys::parse(std::string("# comment\n\nplain\n") + "alice sha256:" + kSecretDigest +
                     " scopes=infer,observe requests=60 tokens=20000\r\n"
                     "  bob\tother  ");
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(keys->size(), 3U);
  EXPECT_EQ(keys->find("plain"), 0U);
  EXPECT_EQ(keys->find("secret"), 1U);
  EXPECT_EQ(keys->find("other"), 2U);
  for (const char* wrong : {"", "Plain", "plain ", kSecretDigest, "alice", "# comment"}) {
    EXPECT_FALSE(keys->find(wrong)) << wrong;
  }
  const ApiKey& alice = (*keys)[1];
  EXPECT_EQ(alice.name, "alice");
  EXPECT_EQ(alice.max_requests, 60);
  EXPECT_EQ(alice.max_tokens, 20000);
  EXPECT_TRUE(keys->allows(1, KeyScope::infer));
  EXPECT_TRUE(keys->allows(1, KeyScope::any));
  EXPECT_FALSE(keys->allows(1, KeyScope::sessions));
  EXPECT_TRUE(keys->allows(2, KeyScope::sessions));
}

TEST(ApiKeys, ThatAreWrongAreNamedByLine) {
  for (const auto& [text, says] :
       {std::pair("a\nb sha256:12", "line 2: 'sha256:' needs 64"), std::pair("sha256:zz", "line 1"),
        std::pair("a key scopes=all", "'all' is none of"), std::pair("a key tokens=0", "from 1 on"),
        std::pair("a key tokens=x", "from 1 on"), std::pair("a key speed=1", "'speed' is none of"),
        std::pair("a/b key", "no '/'"), std::pair("a x\na y", "line 2: 'a' has a key already"),
        std::pair("\x01", "visible ASCII")}) {
    const Result<ApiKeys> keys = ApiKeys::parse(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_NE(keys.error().message().find(says), std::string::npos) << keys.error().message();
  }
  EXPECT_TRUE(ApiKeys::parse("")->empty());
}

TEST(KeyLimits, LetRequestsPassAtARate) {
  KeyLimits limits;
  const ApiKey key{.name = "a", .max_requests = 60};
  const KeyLimits::Clock::time_point start{};
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(limits.admit(key, start));
  EXPECT_EQ(limits.admit(key, start), 1);
  EXPECT_FALSE(limits.admit(key, start + seconds(1)));
  EXPECT_TRUE(limits.admit(key, start + seconds(1)));
  // Another key has its own, and one without limits none.
  EXPECT_FALSE(limits.admit({.name = "b", .max_requests = 1}, start));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limits.admit({.name = "c"}, start));
}

TEST(KeyLimits, CountTokensWhenAnswersHaveEnded) {
  KeyLimits limits;
  const ApiKey key{.name = "a", .max_tokens = 600};
  const KeyLimits::Clock::time_point start{};
  EXPECT_FALSE(limits.admit(key, start));
  limits.charge(key, 900, start);
  // 300 too many and the next one: half a minute.
  EXPECT_EQ(limits.admit(key, start), 31);
  EXPECT_TRUE(limits.admit(key, start + seconds(29)));
  EXPECT_FALSE(limits.admit(key, start + seconds(31)));
}

class KeysTest : public ServerTest {
 protected:
  TestResponse get(const std::string& path, const std::string& key) {
    return TestClient(port()).ask("GET " + path +
                                  " HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + key + "\r\n\r\n");
  }
};

TEST_F(KeysTest, HaveScopesAndLimits) {
  start({.api_keys = *ApiKeys::parse("all everything\nwatch sees scopes=observe\n"
                                     "slow twice requests=2")});
  EXPECT_EQ(get("/quick", "everything").status, 200);
  EXPECT_EQ(get("/quick", "nothing").status, 401);
  EXPECT_EQ(get("/quick", "sees").status, 403);
  EXPECT_EQ(get("/watch", "sees").status, 200);
  EXPECT_EQ(get("/open", "").status, 200);
  EXPECT_EQ(get("/quick", "twice").status, 200);
  EXPECT_EQ(get("/quick", "twice").status, 200);
  const TestResponse limited = get("/quick", "twice");
  EXPECT_EQ(limited.status, 429);
  EXPECT_NE(limited.headers.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(get("/quick", "everything").status, 200);
}

}  // namespace
}  // namespace ruv
