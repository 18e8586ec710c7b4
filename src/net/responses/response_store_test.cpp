#include "net/responses/response_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "base/json.h"
#include "net/openai/sessions.h"

namespace ruv {
namespace {

// A store over files in a folder, as one process after another has it.
class KeptResponsesTest : public testing::Test {
 protected:
  KeptResponsesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-kept-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    start();
  }
  ~KeptResponsesTest() override {
    stop();
    std::filesystem::remove_all(folder_);
  }
  void start(size_t max_responses = 100) {
    files_ = *SessionStore::open({.folder = folder_});
    keeper_ = std::make_unique<SessionKeeper>(*files_);
    store_ = std::make_unique<ResponseStore>(4 << 20, max_responses);
    store_->keep_in(*keeper_, [this](std::string_view note) { notes_.emplace_back(note); });
  }
  void stop() {
    keeper_.reset();
    store_.reset();
    files_.reset();
  }
  void put(const std::string& id, int64_t created, const std::string& text = "x") {
    std::promise<void> kept;
    store_->put(id, {"{\"text\":\"" + text + "\"}", "[{}]", "[2]", created},
                [&] { kept.set_value(); });
    kept.get_future().wait();
  }
  void start_response(const std::string& id, const std::string& status) {
    std::promise<void> kept;
    StoredResponse response{.response = "{\"status\":\"" + status + "\"}",
                            .input = "[]",
                            .messages = "[]",
                            .is_unfinished = true};
    store_->put(id, std::move(response), [&] { kept.set_value(); });
    kept.get_future().wait();
  }
  std::string status_of(const std::string& id) const {
    return parse_json(store_->find(id)->response, "kept")->value("status", "");
  }
  Code erase(const std::string& id) {
    std::promise<Code> code;
    store_->erase(id, [&](const Status& status) { code.set_value(status.code()); });
    return code.get_future().get();
  }
  size_t n_files() const {
    size_t n = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      n += file.path().extension() == ".session" ? 1 : 0;
    }
    return n;
  }

  std::string folder_;
  std::vector<std::string> notes_;
  std::unique_ptr<SessionStore> files_;
  std::unique_ptr<ResponseStore> store_;
  std::unique_ptr<SessionKeeper> keeper_;
};

TEST_F(KeptResponsesTest, TheirOwnerIsKeptToo) {
  std::promise<void> kept;
  const StoredResponse response{.response = "{}", .input = "[]", .messages = "[]", .owner = "ann"};
  store_->put("resp_a", response, [&] { kept.set_value(); });
  kept.get_future().wait();
  stop();
  start();
  ASSERT_TRUE(store_->find("resp_a"));
  EXPECT_EQ(store_->find("resp_a")->owner, "ann");
  EXPECT_EQ(erase("resp_a"), Code::ok);
  EXPECT_EQ(n_files(), 0U);
}

TEST_F(KeptResponsesTest, WhatWasKeptIsThereInTheNextProcess) {
  put("resp_a", 1);
  put("resp_b", 2);
  EXPECT_EQ(n_files(), 2U);
  stop();
  start();
  const auto found = store_->find("resp_a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->response, R"({"text":"x"})");
  EXPECT_EQ(found->input, "[{}]");
  EXPECT_EQ(found->messages, "[2]");
  EXPECT_EQ(found->created, 1);
  EXPECT_TRUE(store_->find("resp_b"));
}

TEST_F(KeptResponsesTest, WhatWasDeletedIsGoneWhenTheCallerHearsOfIt) {
  put("resp_a", 1);
  EXPECT_EQ(erase("resp_a"), Code::ok);
  EXPECT_EQ(n_files(), 0U);
  EXPECT_EQ(erase("resp_a"), Code::not_found);
  stop();
  start();
  EXPECT_FALSE(store_->find("resp_a"));
}

TEST_F(KeptResponsesTest, TheOldestFilesGoFirstAlsoOverARestart) {
  stop();
  start(3);
  for (const int64_t i : {1, 2, 3, 4}) put("resp_" + std::to_string(i), i);
  EXPECT_EQ(n_files(), 3U);
  stop();
  start(2);
  EXPECT_EQ(n_files(), 2U);
  EXPECT_FALSE(store_->find("resp_2"));
  put("resp_5", 5);
  EXPECT_EQ(n_files(), 2U);
  EXPECT_FALSE(store_->find("resp_3"));
  EXPECT_TRUE(store_->find("resp_4") && store_->find("resp_5"));
}

TEST_F(KeptResponsesTest, ADamagedFileLosesNothingElse) {
  put("resp_a", 1);
  std::filesystem::path damaged;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    if (file.path().extension() == ".session") damaged = file.path();
  }
  put("resp_b", 2);
  stop();
  std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << '!';
  start();
  EXPECT_FALSE(store_->find("resp_a"));
  EXPECT_TRUE(store_->find("resp_b"));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("resp_a"), std::string::npos) << notes_[0];
  EXPECT_EQ(n_files(), 2U);
}

TEST_F(KeptResponsesTest, OneThatDidNotEndBeforeItsProcessHasFailed) {
  for (const char* status : {"queued", "in_progress"}) {
    start_response("resp_a", status);
    EXPECT_EQ(status_of("resp_a"), status);
    stop();
    start();
    EXPECT_EQ(status_of("resp_a"), "failed");
  }
  start_response("resp_b", "queued");
  put("resp_b", 2, "the end");
  EXPECT_EQ(n_files(), 2U);
  stop();
  start();
  EXPECT_EQ(store_->find("resp_b")->response, R"({"text":"the end"})");
}

TEST_F(KeptResponsesTest, AFileThatSaysWhatWasBeforeIsWorseThanNone) {
  start_response("resp_a", "queued");
  EXPECT_EQ(n_files(), 1U);
  put("resp_a", 1, std::string(kMaxSessionTextBytes, 'x'));
  EXPECT_TRUE(store_->find("resp_a"));
  EXPECT_EQ(n_files(), 0U);
}

TEST_F(KeptResponsesTest, AFileThatIsNoResponseIsIgnored) {
  {
    Session session;
    session.info.name = "resp_a";
    for (const char* text :
         {"[]", "{}\n[]", "{}\n[]\n{}", "{}\n[]\n[]\n[]", "{}\n[\n[]", "{}\n[1]\n[]"}) {
      session.messages = text;
      ASSERT_TRUE(files_->save(*files_->hold("", "resp_a"), session).ok());
      stop();
      start();
      EXPECT_FALSE(store_->find("resp_a")) << text;
    }
  }
  EXPECT_EQ(notes_.size(), 6U);
}

TEST_F(KeptResponsesTest, WhatIsTooLongForAFileIsKeptInMemoryAndNamed) {
  put("resp_a", 1, std::string(kMaxSessionTextBytes, 'x'));
  EXPECT_TRUE(store_->find("resp_a"));
  EXPECT_EQ(n_files(), 0U);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("resp_a"), std::string::npos) << notes_[0];
  EXPECT_EQ(erase("resp_a"), Code::ok);
}

TEST(ResponseStore, KeepsAndForgets) {
  ResponseStore store;
  store.put("a", {"1", "2", "3", 0});
  ASSERT_TRUE(store.find("a"));
  EXPECT_EQ(store.find("a")->messages, "3");
  store.put("a", {"4", "", "", 0});
  EXPECT_EQ(store.find("a")->response, "4");
  std::vector<Code> codes;
  const auto add_code = [&](const Status& status) { codes.push_back(status.code()); };
  store.erase("a", add_code);
  store.erase("a", add_code);
  EXPECT_EQ(codes, (std::vector{Code::ok, Code::not_found}));
  EXPECT_FALSE(store.find("a"));
  EXPECT_EQ(store.n_bytes(), 0U);
}

TEST(ResponseStore, DropsTheOldestWhereThereIsNoRoom) {
  ResponseStore by_number(1 << 20, 3);
  for (const char* id : {"a", "b", "c", "d"}) by_number.put(id, {"x", "", "", 0});
  EXPECT_FALSE(by_number.find("a"));
  EXPECT_TRUE(by_number.find("b") && by_number.find("d"));

  ResponseStore by_size(10'000);
  for (int i = 0; i < 100; ++i) {
    by_size.put(std::to_string(i), {std::string(1000, 'x'), "", "", 0});
    EXPECT_LE(by_size.n_bytes(), 10'000U);
  }
  EXPECT_TRUE(by_size.find("99") && by_size.find("95"));
  EXPECT_FALSE(by_size.find("80"));
  // What is larger than all room takes none of it.
  by_size.put("large", {std::string(20'000, 'x'), "", "", 0});
  EXPECT_FALSE(by_size.find("large"));
  EXPECT_TRUE(by_size.find("99"));
}

}  // namespace
}  // namespace ruv
