// Logs for tests: a folder of their own, and batches of drawn entries.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "audit/audit_verify.h"
#include "base/rng.h"

namespace ruv {

// A folder below the system's for temporary files, removed at the end.
class AuditFolder {
 public:
  explicit AuditFolder(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("ruv_audit_" + name + "_" + std::to_string(::getpid())))
                  .string()) {
    std::filesystem::remove_all(path_);
  }
  ~AuditFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An entry that depends on its number alone, every third with contents.
inline AuditEntry drawn_entry(int64_t number, const AuditKey& key) {
  Rng rng(static_cast<uint64_t>(number) + 77);
  AuditEntry entry{.body = Json::object()};
  entry.body["kind"] = "answer";
  entry.body["time_ms"] = 1000 * number;
  entry.body["id"] = "req-" + std::to_string(number);
  entry.body["text"] = std::string(rng.below(60), static_cast<char>('a' + number % 26));
  if (number % 3 != 0) return entry;
  entry.contents = EntryContents{.salt = key.salt_of(static_cast<uint64_t>(number)),
                                 .prompt = std::string(4 * (1 + rng.below(9)), 'p'),
                                 .answer = std::string(4 * rng.below(9), 'q'),
                                 .text = "text"};
  const ContentDigests digests = digests_of(*entry.contents);
  Json json = Json::object();
  json["prompt"] = hex_of(digests.prompt);
  json["answer"] = hex_of(digests.answer);
  json["text"] = hex_of(digests.text);
  entry.body["digests"] = std::move(json);
  return entry;
}

inline AuditHead append_drawn(AuditStore& store, size_t n, int64_t unix_ms) {
  auto head = store.append(
      n, unix_ms, [&](size_t, int64_t number) { return drawn_entry(number, store.key()); });
  EXPECT_TRUE(head) << head.error().message();
  return head.value_or(AuditHead());
}

inline AuditVerdict verdict_of(const std::string& folder,
                               const AuditExpectation& expectation = {}) {
  auto store = AuditStore::read(folder);
  EXPECT_TRUE(store) << store.error().message();
  auto verdict = verify_audit(*store, expectation);
  EXPECT_TRUE(verdict) << verdict.error().message();
  return std::move(*verdict);
}

}  // namespace ruv
