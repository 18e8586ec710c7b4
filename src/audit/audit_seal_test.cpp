// Logs whose contents are sealed: read by the owner of the secret half alone, and checked by all.
#include "audit/audit_seal.h"

#include <fstream>

#include "audit/test_audit.h"

namespace ruv::audit_seal_test {
namespace {

namespace fs = std::filesystem;

class AuditSealTest : public testing::Test {
 protected:
  AuditSealTest() : folder_("seal") { fs::create_directories(folder_.path()); }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  // A log with one batch; every third entry has sealed contents.
  void write_log(const AuditSeal& seal) {
    auto store = AuditStore::open({.folder = folder_.path()});
    ASSERT_TRUE(store) << store.error().message();
    const auto head = store->append(9, 1, [&](size_t, int64_t number) {
      AuditEntry entry = drawn_entry(number, store->key());
      if (entry.contents) {
        entry.sealed = seal.close(*entry.contents);
        entry.body["sealed"] = hex_of(sealed_digest(entry.sealed));
        entry.contents.reset();
      }
      return entry;
    });
    ASSERT_TRUE(head) << head.error().message();
  }
  AuditVerdict verdict(const std::string& key_file = "") {
    auto store = AuditStore::read(folder_.path());
    EXPECT_TRUE(store);
    if (!key_file.empty()) {
      auto key = AuditSealKey::read(file(key_file));
      EXPECT_TRUE(key);
      store->open_contents_with(std::move(*key));
    }
    auto found = verify_audit(*store);
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }
  void change(const std::string& statement) {
    auto database = Database::open(file("audit.db"), false);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->run(statement).ok());
  }

  AuditFolder folder_;
};

TEST_F(AuditSealTest, TheOwnerAloneOpensWhatIsSealed) {
  ASSERT_TRUE(AuditSealKey::draw(file("mine")));
  ASSERT_TRUE(AuditSealKey::draw(file("other")));
  const auto seal = AuditSeal::read(file("mine.pub"));
  ASSERT_TRUE(seal) << seal.error().message();
  const EntryContents contents{
      .salt = {std::byte{1}, std::byte{2}}, .prompt = "ppp", .answer = "", .text = "said"};
  const std::string once = seal->close(contents);
  EXPECT_NE(once, seal->close(contents));
  EXPECT_EQ(once.find("said"), once.npos);

  const auto key = AuditSealKey::read(file("mine"));
  ASSERT_TRUE(key) << key.error().message();
  const auto opened = key->open(once);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(bytes_of_contents(*opened), bytes_of_contents(contents));

  EXPECT_EQ(AuditSealKey::read(file("other"))->open(once).error().code(), Code::invalid);
  for (size_t i = 0; i < once.size(); ++i) {
    std::string changed = once;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(key->open(changed)) << i;
  }
  EXPECT_FALSE(key->open(std::string_view(once).substr(0, 20)));
}

TEST_F(AuditSealTest, FilesOfKeysAreNotMistakenForEachOther) {
  ASSERT_TRUE(AuditSealKey::draw(file("mine")));
  EXPECT_FALSE(AuditSealKey::draw(file("mine")));
  EXPECT_FALSE(AuditSeal::read(file("mine")));
  EXPECT_FALSE(AuditSealKey::read(file("mine.pub")));
  EXPECT_FALSE(AuditSeal::read(file("none")));
  EXPECT_EQ(fs::status(file("mine")).permissions() & (fs::perms::group_all | fs::perms::others_all),
            fs::perms::none);
  std::ofstream(file("zero.pub")) << "ruvllm audit seal 1\n" << std::string(64, '0') << "\n";
  EXPECT_FALSE(AuditSeal::read(file("zero.pub")));
}

TEST_F(AuditSealTest, SealedContentsAreCheckedWithAndWithoutTheKey) {
  ASSERT_TRUE(AuditSealKey::draw(file("mine")));
  ASSERT_TRUE(AuditSealKey::draw(file("other")));
  write_log(*AuditSeal::read(file("mine.pub")));
  AuditVerdict found = verdict();
  EXPECT_TRUE(found.faults.empty());
  EXPECT_EQ(found.n_sealed, 3);
  EXPECT_EQ(found.n_with_contents, 0);
  found = verdict("mine");
  EXPECT_TRUE(found.faults.empty());
  EXPECT_EQ(found.n_sealed, 0);
  EXPECT_EQ(found.n_with_contents, 3);
  EXPECT_EQ(verdict("other").faults.size(), 3U);

  change("UPDATE sealed SET bytes = (SELECT bytes FROM sealed WHERE number = 3) WHERE number = 6");
  found = verdict();
  ASSERT_EQ(found.faults.size(), 1U);
  EXPECT_EQ(found.faults[0].entry, 6);
  change("DELETE FROM sealed WHERE number = 6");
  found = verdict();
  EXPECT_TRUE(found.faults.empty());
  EXPECT_EQ(found.n_without_contents, 1);
  change("INSERT INTO sealed VALUES (1, x'00')");
  EXPECT_EQ(verdict().faults.size(), 1U);
  change("UPDATE sealed SET number = 70 WHERE number = 1");
  EXPECT_EQ(verdict().faults.size(), 1U);
}

// With the key of the log, but not the server's seal: sealed anew they do not have the digests.
TEST_F(AuditSealTest, ContentsSealedByAnotherHaveOtherDigests) {
  ASSERT_TRUE(AuditSealKey::draw(file("mine")));
  const auto seal = AuditSeal::read(file("mine.pub"));
  {
    auto store = AuditStore::open({.folder = folder_.path()});
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->append(1, 1, [&](size_t, int64_t) {
      AuditEntry entry = drawn_entry(3, store->key());
      entry.contents->text = "another";
      entry.sealed = seal->close(*entry.contents);
      entry.body["sealed"] = hex_of(sealed_digest(entry.sealed));
      entry.contents.reset();
      return entry;
    }));
  }
  EXPECT_TRUE(verdict().faults.empty());
  const AuditVerdict found = verdict("mine");
  ASSERT_EQ(found.faults.size(), 1U);
  EXPECT_NE(found.faults[0].what.find("its text was changed"), std::string::npos);
}

TEST_F(AuditSealTest, SealedContentsGoWithTheirAge) {
  ASSERT_TRUE(AuditSealKey::draw(file("mine")));
  write_log(*AuditSeal::read(file("mine.pub")));
  auto store = AuditStore::open({.folder = folder_.path()});
  ASSERT_TRUE(store);
  EXPECT_EQ(store->remove_contents_before(3001).value_or(-1), 1);  // of entry 3
  EXPECT_EQ(verdict().n_sealed, 2);
  EXPECT_EQ(store->remove_before(2, 3).value_or(-1), 9);
  EXPECT_TRUE(verdict().faults.empty());
  EXPECT_EQ(store->database().number("SELECT count(*) FROM sealed").value_or(-1), 0);
}

}  // namespace
}  // namespace ruv::audit_seal_test
