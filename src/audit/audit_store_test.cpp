// Logs that were changed by someone with the file, with and without the knowledge of how it works,
// but without the key.
#include "audit/audit_store.h"

#include <fstream>

#include "audit/merkle.h"
#include "audit/test_audit.h"
#include "base/test_share.h"

namespace ruv::audit_store_test {
namespace {

namespace fs = std::filesystem;

// Ten batches, 1 to 9 entries each.
void make_log(const std::string& folder) {
  auto store = AuditStore::open({.folder = folder});
  ASSERT_TRUE(store) << store.error().message();
  for (int64_t i = 0; i < 10; ++i) append_drawn(*store, static_cast<size_t>(1 + i * 5 % 9), i);
}

// What someone with the file writes.
void tamper(const std::string& folder, const std::string& statements) {
  auto database = Database::open(folder + "/audit.db", false);
  ASSERT_TRUE(database);
  const Status status = database->run(statements);
  ASSERT_TRUE(status.ok()) << status.message();
}

class AuditStoreTest : public testing::Test {
 protected:
  AuditStoreTest() : folder_("store") { make_log(folder_.path()); }
  // A log that a statement has changed; entries begin at 1.
  AuditVerdict after(const std::string& statements, const AuditExpectation& expectation = {}) {
    tamper(folder_.path(), statements);
    return verdict_of(folder_.path(), expectation);
  }
  AuditFolder folder_;
};

TEST_F(AuditStoreTest, AnUntouchedLogVerifies) {
  const AuditVerdict verdict = verdict_of(folder_.path());
  EXPECT_TRUE(verdict.faults.empty());
  EXPECT_EQ(verdict.n_heads, 10);
  EXPECT_EQ(verdict.n_entries, 46);
  EXPECT_EQ(verdict.n_with_contents, 15);
  EXPECT_EQ(verdict.last->last, 46);
}

TEST_F(AuditStoreTest, ItsFilesAreForTheirOwnerAlone) {
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    const auto others =
        entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all);
    EXPECT_EQ(others, fs::perms::none) << entry.path();
  }
}

TEST_F(AuditStoreTest, AChangedEntryIsNamed) {
  for (const int64_t entry : {1, 2, 17, 30, 46}) {
    const std::string at = " WHERE number = " + std::to_string(entry);
    const AuditVerdict verdict = after("UPDATE entries SET body = body || ' '" + at);
    ASSERT_EQ(verdict.faults.size(), 1U);
    EXPECT_EQ(verdict.faults[0].entry, entry);
    EXPECT_TRUE(after("UPDATE entries SET body = rtrim(body)" + at).faults.empty());
  }
}

TEST_F(AuditStoreTest, AChangedColumnIsNamed) {
  for (const char* column : {"kind", "request_id", "tenant", "model", "finish", "time_ms"}) {
    const AuditVerdict verdict =
        after(std::string("UPDATE entries SET ") + column + " = 7 WHERE number = 9");
    ASSERT_EQ(verdict.faults.size(), 1U) << column;
    EXPECT_EQ(verdict.faults[0].entry, 9);
  }
}

TEST_F(AuditStoreTest, EntriesThatGoComeOrChangePlacesAreNamed) {
  AuditVerdict verdict = after("DELETE FROM entries WHERE number = 23");
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].entry, 23);
  verdict = after("UPDATE entries SET number = 23 WHERE number = 24");
  ASSERT_EQ(verdict.faults.size(), 3U) << "24 left its contents";
  EXPECT_EQ(verdict.faults[0].entry, 23);
  EXPECT_EQ(verdict.faults[1].entry, 24);
  EXPECT_EQ(verdict.faults[2].entry, 24);
  verdict = after(
      "INSERT INTO entries SELECT number + 46, body, kind, request_id, tenant, model, finish, "
      "time_ms, "
      "total_us FROM entries WHERE number = 1;"
      "UPDATE entries SET number = -3 WHERE number = 1");
  EXPECT_EQ(verdict.faults.size(), 6U);
  EXPECT_EQ(verdict.faults[0].entry, -3);
}

TEST_F(AuditStoreTest, ChangedContentsAreNamed) {
  AuditVerdict verdict = after("UPDATE contents SET answer = x'00000000' WHERE number = 33");
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].entry, 33);
  EXPECT_NE(verdict.faults[0].what.find("answer"), std::string::npos);
  // What was removed for privacy leaves the log whole.
  verdict = after("DELETE FROM contents WHERE number = 33");
  EXPECT_TRUE(verdict.faults.empty());
  EXPECT_EQ(verdict.n_without_contents, 1);
  verdict = after("UPDATE contents SET salt = x'00' WHERE number = 3");
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].entry, 3);
  verdict = after("INSERT INTO contents VALUES (90, x'00', x'', x'', x'')");
  EXPECT_EQ(verdict.faults.size(), 2U);
}

TEST_F(AuditStoreTest, HeadsThatAreChangedOrMissingAreNamed) {
  AuditVerdict verdict = after("UPDATE heads SET unix_ms = unix_ms + 1 WHERE number = 4");
  ASSERT_EQ(verdict.faults.size(), 2U) << "the next head no longer continues it";
  EXPECT_EQ(verdict.faults[0].head, 4);
  EXPECT_EQ(verdict.faults[1].head, 5);
  verdict = after(
      "UPDATE heads SET unix_ms = unix_ms - 1 WHERE number = 4; "
      "UPDATE heads SET leaves = zeroblob(length(leaves)) WHERE number = 7");
  ASSERT_GE(verdict.faults.size(), 2U);
  EXPECT_EQ(verdict.faults[0].head, 7);
  verdict = after("DELETE FROM heads WHERE number = 7");
  EXPECT_GE(verdict.faults.size(), 2U);
}

// Who knows the format makes the digests fit, but cannot sign them.
TEST_F(AuditStoreTest, AForgeryWithoutTheKeyIsNamed) {
  auto database = Database::open(folder_.path() + "/audit.db", false);
  auto store = AuditStore::read(folder_.path());
  ASSERT_TRUE(database && store);
  AuditHead head = *store->head_of(20);
  std::vector<Digest> leaves = *store->leaves(head);
  const std::string forged = R"({"kind":"answer","time_ms":1})";
  leaves[static_cast<size_t>(20 - head.first)] = entry_digest(20, forged);
  head.root = merkle_root(leaves);
  {
    auto row = database->prepare(
        "UPDATE entries SET body = ?1, time_ms = 1, request_id = '' WHERE number = 20");
    row->bind(1, forged);
    ASSERT_TRUE(row->run().ok());
    auto changed = database->prepare("UPDATE heads SET root = ?1, leaves = ?2 WHERE number = ?3");
    changed->bind(1, Bytes(head.root));
    changed->bind(2, std::as_bytes(std::span(leaves)));
    changed->bind(3, head.number);
    ASSERT_TRUE(changed->run().ok());
  }
  const AuditVerdict verdict = verdict_of(folder_.path());
  ASSERT_EQ(verdict.faults.size(), 2U);
  EXPECT_EQ(verdict.faults[0].head, head.number);
  EXPECT_EQ(verdict.faults[1].head, head.number + 1);
}

TEST_F(AuditStoreTest, AWholeLogOfAnotherKeyAndACutEndAreFoundByWhatWasNotedElsewhere) {
  const PublicKey key = AuditStore::read(folder_.path())->public_key();
  const AuditHead seen = *verdict_of(folder_.path()).last;
  const AuditExpectation expectation{.key = key, .head = seen.digest()};
  EXPECT_TRUE(verdict_of(folder_.path(), expectation).faults.empty());
  const AuditVerdict cut = after(
      "DELETE FROM heads WHERE number = 10; DELETE FROM contents WHERE number > 45;"
      "DELETE FROM entries WHERE number > 45",
      expectation);
  ASSERT_EQ(cut.faults.size(), 1U);
  EXPECT_EQ(cut.faults[0].entry, 0);
  EXPECT_TRUE(verdict_of(folder_.path()).faults.empty()) << "nothing in the file shows it";
  const AuditFolder other("other");
  make_log(other.path());
  EXPECT_GE(verdict_of(other.path(), {.key = key, .head = {}}).faults.size(), 10U);
}

TEST_F(AuditStoreTest, OldEntriesAreRemovedWithANoteAndOthersAreMissed) {
  {
    auto store = AuditStore::open({.folder = folder_.path()});
    ASSERT_TRUE(store);
    EXPECT_EQ(*store->remove_before(4, 50), 1 + 6 + 2 + 7) << "four batches";
    EXPECT_EQ(*store->remove_before(4, 50), 0);
    EXPECT_EQ(*store->remove_contents_before(1000 * 30), 4) << "18, 21, 24, 27";
  }
  AuditVerdict verdict = verdict_of(folder_.path());
  for (const AuditFault& fault : verdict.faults) ADD_FAILURE() << fault.entry << fault.what;
  EXPECT_EQ(verdict.n_removed, 16);
  EXPECT_EQ(verdict.n_entries, 46 - 16 + 1);
  verdict = after("DELETE FROM entries WHERE number = 17");
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].entry, 17);
}

// A changed head must not make the log's owner remove or confirm what it should not.
TEST_F(AuditStoreTest, NothingIsBuiltOnAChangedHead) {
  tamper(folder_.path(), "UPDATE heads SET last = 1000000 WHERE number = 2");
  auto store = AuditStore::open({.folder = folder_.path()});
  ASSERT_TRUE(store);
  EXPECT_EQ(store->remove_before(4, 50).error().code(), Code::corrupt);
  append_drawn(*store, 1, 50);
  tamper(folder_.path(), "UPDATE heads SET last = 1000000 WHERE number = 11");
  const auto added = store->append(
      1, 51, [&](size_t, int64_t number) { return drawn_entry(number, store->key()); });
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), Code::corrupt);
  EXPECT_EQ(verdict_of(folder_.path()).n_entries, 47);
}

TEST_F(AuditStoreTest, OpensWithItsOwnKeyAlone) {
  const AuditFolder other("key");
  make_log(other.path());
  auto wrong =
      AuditStore::open({.folder = folder_.path(), .key_file = other.path() + "/audit.key"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::invalid);
  fs::remove(folder_.path() + "/audit.key");
  EXPECT_EQ(AuditStore::open({.folder = folder_.path()}).error().code(), Code::not_found);
  std::ofstream(folder_.path() + "/audit.key") << "ruvllm audit key 1\nabc\n";
  EXPECT_EQ(AuditStore::open({.folder = folder_.path()}).error().code(), Code::invalid);
}

// All bodies as they are in a log; nothing where it cannot be read.
std::optional<std::vector<std::string>> bodies_of(const AuditStore& store) {
  std::vector<std::string> bodies;
  for (int64_t number = 1; number <= 46; ++number) {
    auto body = store.body(number);
    if (!body) return std::nullopt;
    bodies.push_back(std::move(*body));
  }
  return bodies;
}

TEST_F(AuditStoreTest, AFlippedBitIsFoundOrChangesNoEntry) {
  const fs::path file = folder_.path() + "/audit.db";
  tamper(folder_.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
  const auto bodies = bodies_of(*AuditStore::read(folder_.path()));
  ASSERT_TRUE(bodies);
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  size_t n_found = 0;
  const AuditFolder copy("flipped");
  fs::create_directories(copy.path());
  for (size_t i = 0; i < bytes.size(); i += 131 * kTestShare) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    for (const char* tail : {"-wal", "-shm"}) fs::remove(copy.path() + "/audit.db" + tail);
    std::ofstream(copy.path() + "/audit.db", std::ios::binary) << flipped;
    auto store = AuditStore::read(copy.path());
    const auto verdict = store ? verify_audit(*store) : tl::unexpected(store.error());
    if (!verdict || !verdict->faults.empty() || verdict->n_entries != 46) {
      ++n_found;
    } else {
      EXPECT_EQ(bodies_of(*store), bodies) << "byte " << i;
    }
  }
  EXPECT_GE(n_found, bytes.size() / (131 * kTestShare) / 20);
}

}  // namespace
}  // namespace ruv::audit_store_test
