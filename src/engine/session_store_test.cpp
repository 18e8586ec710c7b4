#include "engine/session_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/folder.h"
#include "base/json.h"
#include "base/rng.h"
#include "fault/damage.h"

namespace ruv {
namespace {

class SessionStoreTest : public testing::Test {
 protected:
  SessionStoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-sessions-XXXXXX").string();
    options_.folder = std::string(::mkdtemp(name.data())) + "/sessions";
    options_.note = [this](std::string_view line) { notes_.emplace_back(line); };
  }
  ~SessionStoreTest() override {
    std::filesystem::remove_all(std::filesystem::path(options_.folder).parent_path());
  }

  std::unique_ptr<SessionStore> open() { return *SessionStore::open(options_); }
  static Session session(const std::string& user, const std::string& name,
                         const std::string& text) {
    Session made;
    made.info = {.user = user, .name = name, .model = "nano", .created = 5, .updated = 6};
    const Message message = text_message("user", text);
    set_session_messages(made, {&message, 1});
    return made;
  }
  static Status save(SessionStore& store, const Session& session) {
    const SessionStore::Hold hold = TRY(store.hold(session.info.user, session.info.name));
    return store.save(hold, session);
  }
  static std::string text_in(const SessionStore& store, const std::string& user,
                             const std::string& name) {
    const Result<Session> session = store.load(user, name);
    if (!session) return session.error().message();
    return joined_text(read_session_messages(*session)->at(0));
  }
  std::string only_file() const {
    for (const FolderEntry& entry : files_in(options_.folder))
      if (entry.path.ends_with(".session")) return entry.path;
    return "";
  }

  SessionStore::Options options_;
  std::vector<std::string> notes_;
};

TEST_F(SessionStoreTest, WhatIsSavedOutlivesTheStore) {
  for (const bool sealed : {false, true}) {
    options_.folder += sealed ? "-sealed" : "";
    if (sealed) options_.key.emplace().fill(7);
    EXPECT_TRUE(save(*open(), session("", "a", "one")).ok());
    EXPECT_TRUE(save(*open(), session("", "a", "two")).ok());
    const auto store = open();
    EXPECT_EQ(text_in(*store, "", "a"), "two");
    EXPECT_EQ(store->load("", "a")->info.model, "nano");
    EXPECT_EQ(store->stats().n_sessions, 1U);
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(SessionStoreTest, FilesAreTheirOwnersAlone) {
  using std::filesystem::perms;
  const auto store = open();
  ASSERT_TRUE(save(*store, session("ann", "a", "private")).ok());
  int n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    ++n_files;
    EXPECT_EQ(entry.status().permissions(), perms::owner_read | perms::owner_write) << entry;
  }
  EXPECT_GE(n_files, 1);
  EXPECT_EQ(std::filesystem::status(options_.folder).permissions(), perms::owner_all);
}

TEST_F(SessionStoreTest, UsersDoNotSeeEachOther) {
  const auto store = open();
  ASSERT_TRUE(save(*store, session("ann", "trip", "of ann")).ok());
  EXPECT_EQ(store->load("ben", "trip").error().code(), Code::not_found);
  EXPECT_EQ(store->load("", "trip").error().code(), Code::not_found);
  EXPECT_EQ(store->erase(*store->hold("ben", "trip")).code(), Code::not_found);
  ASSERT_TRUE(save(*store, session("ben", "trip", "of ben")).ok());
  EXPECT_EQ(text_in(*store, "ann", "trip"), "of ann");
  EXPECT_EQ(text_in(*store, "ben", "trip"), "of ben");
  EXPECT_EQ(store->list("ann", {}).size(), 1U);
  EXPECT_EQ(store->list("an", {}).size(), 0U);
  EXPECT_EQ(store->list_all().size(), 2U);
}

TEST_F(SessionStoreTest, ListsGoOnWhereTheyStopped) {
  const auto store = open();
  for (const char* name : {"d", "a", "c", "b"})
    ASSERT_TRUE(save(*store, session("u", name, "")).ok());
  const auto first = store->list("u", {.limit = 3});
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].name, "a");
  EXPECT_EQ(first[2].name, "c");
  const auto rest = store->list("u", {.after = first[2].name, .limit = 3});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].name, "d");
}

TEST_F(SessionStoreTest, ListsChoose) {
  const auto store = open();
  for (const auto& [name, model, adapter, updated] :
       {std::tuple("a", "nano", "", 10), {"b", "law", "", 20}, {"c", "nano", "law", 30}}) {
    Session one = session("u", name, "");
    one.info.model = model;
    one.info.updated = updated;
    if (adapter[0] != '\0') one.info.adapters = {{adapter, 0.5F}};
    ASSERT_TRUE(save(*store, one).ok());
  }
  const auto names = [&](const SessionStore::Which& which) {
    std::string all;
    for (const SessionInfo& info : store->list("u", which)) all += info.name;
    return all;
  };
  EXPECT_EQ(names({}), "abc");
  EXPECT_EQ(names({.model = "nano"}), "ac");
  EXPECT_EQ(names({.adapter = "law"}), "bc");
  EXPECT_EQ(names({.since_s = 20}), "bc");
  EXPECT_EQ(names({.until_s = 20}), "a");
  EXPECT_EQ(names({.limit = 1, .adapter = "law"}), "b");
  EXPECT_EQ(store->find("u", "c")->adapters.at(0).scale, 0.5F);
  EXPECT_FALSE(store->find("u", "d"));
}

TEST_F(SessionStoreTest, OldOnesAreRemoved) {
  const auto store = open();
  for (const auto& [name, updated] : {std::pair("a", 10), {"b", 20}, {"held", 10}}) {
    Session one = session("u", name, "");
    one.info.updated = updated;
    ASSERT_TRUE(save(*store, one).ok());
  }
  const auto held = store->hold("u", "held");
  std::string removed;
  store->erase_before(20, [&](const SessionInfo& info) { removed += info.name; });
  EXPECT_EQ(removed, "a");
  EXPECT_EQ(store->load("u", "a").error().code(), Code::not_found);
  EXPECT_TRUE(store->load("u", "b"));
  EXPECT_TRUE(store->load("u", "held"));
}

TEST_F(SessionStoreTest, OneAtATimeHoldsASession) {
  const auto store = open();
  {
    const SessionStore::Hold held = *store->hold("u", "a");
    EXPECT_EQ(store->hold("u", "a").error().code(), Code::unavailable);
    EXPECT_TRUE(store->hold("u", "b"));
    EXPECT_TRUE(store->hold("v", "a"));
  }
  EXPECT_TRUE(store->hold("u", "a"));
  EXPECT_EQ(store->hold("u", "../a").error().code(), Code::invalid);
  EXPECT_EQ(store->load("u", "../a").error().code(), Code::invalid);
}

TEST_F(SessionStoreTest, AFolderHasOneWriterAndManyReaders) {
  const auto store = open();
  ASSERT_TRUE(save(*store, session("", "a", "text")).ok());
  EXPECT_EQ(SessionStore::open(options_).error().code(), Code::unavailable);
  options_.read_only = true;
  const auto reader = open();
  EXPECT_EQ(text_in(*reader, "", "a"), "text");
  EXPECT_EQ(reader->list_all().size(), 1U);
  EXPECT_EQ(reader->hold("", "a").error().code(), Code::unsupported);
}

TEST_F(SessionStoreTest, ErasedIsGone) {
  const auto store = open();
  ASSERT_TRUE(save(*store, session("", "a", "text")).ok());
  ASSERT_TRUE(store->erase(*store->hold("", "a")).ok());
  EXPECT_EQ(store->load("", "a").error().code(), Code::not_found);
  EXPECT_EQ(store->list_all().size(), 0U);
  EXPECT_EQ(only_file(), "");
}

TEST_F(SessionStoreTest, ADamagedFileIsReportedAndStays) {
  for (const uint64_t at : {50U, 90U}) {
    ASSERT_TRUE(save(*open(), session("", "a", "text")).ok());
    flip_bits(only_file(), at, 1);
    notes_.clear();
    const auto store = open();
    ASSERT_EQ(notes_.size(), 1U) << at;
    EXPECT_NE(notes_[0].find(only_file()), std::string::npos);
    EXPECT_EQ(store->stats().n_ignored, 1U);
    EXPECT_EQ(store->stats().n_sessions, 0U);
    EXPECT_EQ(store->load("", "a").error().code(), Code::corrupt);
    EXPECT_EQ(save(*store, session("", "a", "over it")).code(), Code::corrupt);
    EXPECT_NE(only_file(), "");
    EXPECT_TRUE(store->erase(*store->hold("", "a")).ok());
    EXPECT_TRUE(save(*store, session("", "a", "anew")).ok());
    EXPECT_TRUE(store->erase(*store->hold("", "a")).ok());
  }
}

TEST_F(SessionStoreTest, ADamagedConversationIsFoundWhenItIsUsed) {
  ASSERT_TRUE(save(*open(), session("", "a", "text")).ok());
  flip_bits(only_file(), std::filesystem::file_size(only_file()) - 1, 1);
  const auto store = open();
  EXPECT_EQ(store->stats().n_sessions, 1U);
  EXPECT_EQ(store->load("", "a").error().code(), Code::corrupt);
}

TEST_F(SessionStoreTest, ARenamedFileIsNobodysSession) {
  ASSERT_TRUE(save(*open(), session("", "a", "text")).ok());
  const std::string other =
      options_.folder + "/" + SessionCodec::create(std::nullopt)->file_name("eve", "a");
  std::filesystem::rename(only_file(), other);
  const auto store = open();
  EXPECT_EQ(notes_.size(), 1U);
  EXPECT_EQ(store->load("eve", "a").error().code(), Code::corrupt);
}

TEST_F(SessionStoreTest, ManyIgnoredFilesAreCounted) {
  std::filesystem::create_directories(options_.folder);
  for (int i = 0; i < 30; ++i)
    std::ofstream(fmt::format("{}/{:032x}.session", options_.folder, i)) << "junk";
  EXPECT_EQ(open()->stats().n_ignored, 30U);
  ASSERT_EQ(notes_.size(), 21U);
  EXPECT_NE(notes_.back().find("10 more"), std::string::npos);
}

TEST_F(SessionStoreTest, TheNumberOfSessionsHasAnEnd) {
  options_.max_sessions = 2;
  const auto store = open();
  ASSERT_TRUE(save(*store, session("", "a", "")).ok());
  ASSERT_TRUE(save(*store, session("", "b", "")).ok());
  EXPECT_EQ(save(*store, session("", "c", "")).code(), Code::out_of_memory);
  EXPECT_TRUE(save(*store, session("", "a", "again")).ok());
}

TEST_F(SessionStoreTest, MessagesOfAnotherShapeAreRefused) {
  Session made = session("", "a", "text");
  for (const char* bad : {"", "{}", "[1]", "[{}]", R"([{"role":"user"}])",
                          R"([{"role":1,"content":"x"}])", "[[[[[[[[[[]]]]]]]]]]"}) {
    made.messages = bad;
    EXPECT_FALSE(read_session_messages(made)) << bad;
  }
}

TEST_F(SessionStoreTest, MessagesMayOnlyCallTools) {
  Session made;
  made.messages = R"([{"role":"assistant","tool_calls":[{"id":"1","type":"function",)"
                  R"("function":{"name":"f","arguments":"{}"}}]}])";
  const auto messages = read_session_messages(made);
  ASSERT_TRUE(messages) << messages.error().message();
  EXPECT_EQ(messages->at(0).members.json()->at("tool_calls").size(), 1U);
  for (const char* silent :
       {R"([{"role":"assistant","tool_calls":[]}])", R"([{"role":"assistant","tool_calls":1}])",
        R"([{"role":"assistant","name":"a"}])"}) {
    made.messages = silent;
    EXPECT_FALSE(read_session_messages(made)) << silent;
  }
}

// A child saves one text after the other and says so, until it is killed.
TEST_F(SessionStoreTest, WhatWasAcknowledgedSurvivesAKill) {
  Rng rng(11);
  int said = -1;
  for (int round = 0; round < 10; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = SessionStore::open(options_);
      if (!store) ::_exit(1);
      for (int i = said + 1;; ++i) {
        const std::string text = std::to_string(i) + std::string(50'000, 'x');
        if (!save(**store, session("", "a", text)).ok()) ::_exit(2);
        if (::write(pipe[1], &i, sizeof i) != sizeof i) ::_exit(3);
      }
    }
    ::close(pipe[1]);
    ASSERT_EQ(::read(pipe[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
    ::usleep(static_cast<useconds_t>(rng.below(20'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
    while (::read(pipe[0], &said, sizeof said) == static_cast<ssize_t>(sizeof said)) {
    }
    ::close(pipe[0]);
    const auto store = open();
    EXPECT_TRUE(notes_.empty()) << notes_[0];
    const int kept = std::atoi(text_in(*store, "", "a").c_str());
    EXPECT_GE(kept, said);
    EXPECT_LE(kept, said + 1);
    said = kept;
    for (const FolderEntry& entry : files_in(options_.folder))
      EXPECT_EQ(entry.path.find(".partial"), std::string::npos) << entry.path;
  }
}

}  // namespace
}  // namespace ruv
