#include "cache/session_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cache/test_session.h"
#include "fault/damage.h"

namespace ruv {
namespace {

constexpr SealKey kKey = {1, 2, 3};
constexpr std::string_view kText = R"([{"role":"user","content":"The secret word is heron."}])";

class SessionFile : public testing::TestWithParam<bool> {
 protected:
  SessionCodec codec_ =
      *SessionCodec::create(GetParam() ? std::optional<SealKey>(kKey) : std::nullopt);
  std::vector<std::byte> file_ = *codec_.close(an_info(), kText);
};

TEST_P(SessionFile, GivesBackWhatWasWritten) {
  const SessionInfo info = *codec_.open_label(file_, "file");
  EXPECT_EQ(info.user, "ann");
  EXPECT_EQ(info.name, "trip-2.notes");
  EXPECT_EQ(info.model, "nano");
  EXPECT_EQ(info.created, 1'700'000'000);
  EXPECT_EQ(info.updated, 1'700'000'500);
  EXPECT_EQ(info.n_messages, 1);
  EXPECT_EQ(info.n_tokens, 42);
  EXPECT_EQ(*codec_.open_text(file_, "file"), kText);
}

TEST_P(SessionFile, AdaptersComeBack) {
  SessionInfo info = an_info();
  EXPECT_EQ(as_text(file_).substr(0, 8), "RUVSESS1");
  info.adapters = {{"law", 0.5F}, {"style"}};
  std::vector<std::byte> file = *codec_.close(info, kText);
  EXPECT_EQ(as_text(file).substr(0, 8), "RUVSESS2");
  EXPECT_EQ(codec_.open_label(file, "file")->adapters, info.adapters);
  EXPECT_EQ(*codec_.open_text(file, "file"), kText);
  // Under the other version's name it is damage.
  file[7] = std::byte{'1'};
  EXPECT_FALSE(codec_.open_label(file, "file"));
  for (const std::vector<SessionAdapter>& wrong :
       {std::vector<SessionAdapter>(kMaxSessionAdapters + 1),
        std::vector<SessionAdapter>{{std::string(257, 'a')}},
        std::vector<SessionAdapter>{{"law", INFINITY}}}) {
    info.adapters = wrong;
    EXPECT_FALSE(codec_.close(info, kText));
  }
}

TEST_P(SessionFile, EveryChangedBitOfAdaptersIsNoticed) {
  SessionInfo info = an_info();
  info.adapters = {{"law", 0.5F}};
  const std::vector<std::byte> file = *codec_.close(info, kText);
  for_each_flip(as_text(file), {1, 128}, [this](const std::string& changed) {
    EXPECT_FALSE(codec_.open_text(as_bytes(changed), "file"));
  });
}

TEST_P(SessionFile, AnEmptyConversationIsOne) {
  EXPECT_EQ(*codec_.open_text(*codec_.close(an_info(), ""), "file"), "");
}

TEST_P(SessionFile, EveryChangedBitIsNoticed) {
  const std::initializer_list<int> bits = {1, 2, 4, 8, 16, 32, 64, 128};
  for_each_flip(as_text(file_), bits, [this](const std::string& changed) {
    const auto text = codec_.open_text(as_bytes(changed), "file");
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message().find("file"), std::string::npos);
  });
}

TEST_P(SessionFile, EveryLengthButItsOwnIsRefused) {
  for_each_cut(as_text(file_), [this](const std::string& cut) {
    EXPECT_FALSE(codec_.open_label(as_bytes(cut), "file"));
  });
  file_.push_back({});
  EXPECT_FALSE(codec_.open_label(file_, "file"));
}

TEST_P(SessionFile, LimitsAreNamed) {
  const std::string longest(kMaxSessionTextBytes, 'x');
  EXPECT_EQ(codec_.open_text(*codec_.close(an_info(), longest), "file")->size(), longest.size());
  const auto too_long = codec_.close(an_info(), longest + "x");
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message().find("1048577"), std::string::npos);
  SessionInfo info = an_info();
  info.user = std::string("a\0b", 3);
  EXPECT_FALSE(codec_.close(info, kText));
  info = an_info();
  info.model = std::string(257, 'm');
  EXPECT_FALSE(codec_.close(info, kText));
}

INSTANTIATE_TEST_SUITE_P(PlainAndSealed, SessionFile, testing::Bool(),
                         [](const auto& info) { return info.param ? "sealed" : "plain"; });

TEST(SealedSessionFile, SaysNothingToOthers) {
  const SessionCodec codec = *SessionCodec::create(kKey);
  const std::vector<std::byte> file = *codec.close(an_info(), kText);
  for (const char* secret : {"heron", "ann", "trip-2", "nano"})
    EXPECT_EQ(as_text(file).find(secret), std::string::npos) << secret;
  const SessionCodec other = *SessionCodec::create(SealKey{9});
  EXPECT_FALSE(other.open_label(file, "file"));
  EXPECT_NE(other.file_name("ann", "trip"), codec.file_name("ann", "trip"));
  const SessionCodec plain = *SessionCodec::create(std::nullopt);
  EXPECT_EQ(plain.open_label(file, "file").error().code(), Code::unsupported);
  EXPECT_EQ(codec.open_label(*plain.close(an_info(), kText), "file").error().code(),
            Code::unsupported);
  EXPECT_NE(*codec.close(an_info(), kText), file);  // another nonce
}

TEST(SessionFileName, TellsUsersAndNamesApart) {
  const SessionCodec codec = *SessionCodec::create(std::nullopt);
  EXPECT_EQ(codec.file_name("u", "n"), codec.file_name("u", "n"));
  EXPECT_NE(codec.file_name("u", "n"), codec.file_name("", "n"));
  EXPECT_NE(codec.file_name("ab", "c"), codec.file_name("a", "bc"));
  EXPECT_TRUE(SessionCodec::is_file_name(codec.file_name("u", "n")));
  for (const char* other : {"", "lock", "00.session", "../0123456789abcdef0123456789abc.session"})
    EXPECT_FALSE(SessionCodec::is_file_name(other)) << other;
}

TEST(SessionName, IsPlainText) {
  for (const char* good : {"a", "0", "Trip-2.notes_x", "a..b"})
    EXPECT_TRUE(check_session_name(good).ok()) << good;
  EXPECT_TRUE(check_session_name(std::string(64, 'a')).ok());
  EXPECT_FALSE(check_session_name(std::string(65, 'a')).ok());
  for (const char* bad :
       {"", ".", "..", ".a", "-a", "_a", "a/b", "../a", "a b", "a\n", "ä", "a\\b"})
    EXPECT_FALSE(check_session_name(bad).ok()) << bad;
}

}  // namespace
}  // namespace ruv
