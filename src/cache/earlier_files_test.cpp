// Files that an earlier build wrote are still read, or refused by the name of their version; what
// is not random is written the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "cache/page_store_record.h"
#include "cache/test_page_store.h"
#include "cache/test_session.h"

namespace ruv::earlier_files_test {
namespace {

constexpr SealKey kKey = {1, 2, 3};
constexpr std::string_view kConversation =
    R"([{"role":"user","content":"The secret word is heron."}])";
constexpr std::string_view kSealedSession =
    "5255565345535331010000003f000000a5cddde26eb8a66ad4da74e7c23a10ecb5cf5349e2e1e122"
    "0e29b984994481a38e2d4814d4de72e8987e7c6ae9716d4a4c4e06811f57dbc53700000000000000"
    "ffd901283aa9115e1bef2d3206a79013ee4f14777abbd7f5337ba2cc11dc90e28bc41ba745a082cf"
    "93e83c3be134af9cd94d94b02010c97c06ca568c50a1d52d43ac8eb3b51da17b69b12f378724e8a1"
    "b8088788b3c34f5a4da802994f42360a55655b95a2995a4a44744fcff6fb1a4bcafe8d0c0451";
constexpr std::string_view kSealedSegmentNonceAndTag =
    "3b4abd5c5b1a7afab2092bdd0f084de45cc9a1b1b5b9efdf6bdd395fdb224db2ff546f6d99ea3638";
constexpr std::string_view kSealedRecord =
    "5255565041474532cab34e396938036aa92bcf820ad2f277e2ee2da72f668064b8ca04457f5c5b08"
    "f1e80f4b8884a6a5bfc42cf1192588a6b41021dbf7f5f1c137919d22e2af29f7a68e0fdf1df4d8f3"
    "a38130ace213c7077af12c24521e6578a7a87d6fc0f62f00597f892d6570d98a07cb63d999a3f174"
    "647fa44ecab78f89202bcbdc7d2588c132675f6902ba62c7981e43f6d690c7855531e2af88cec428"
    "e7b5ebd5da18e8c84d6628826782a03e83d6896ce1ffee7f477d5c389c38e0a91d2a0678bad81e56"
    "904ac9b7c4c3c090ea94ede98a5b37609450e2a1fb4b088cda16d44c9cab47a1f557168c8c251d2f"
    "3f883f923eb460189444b0fdcc47c606176fbee162ef9b5ba8766f3fa453a51b7317f1178e486156"
    "2dae5b5456029db92a578d65977f24db78ae63f7ddd040a2215c4645c0e62f669dcfc7f21c8ec895"
    "5f7f87148f0f0cb7da48c57b39a92c15890a0d8b5b25f50fcac4e8d246ac0f97ed42f53f2378c6f8"
    "256ff2fd827e714365c1d77627f5c427130b23b9e7904e8110d23321e9ad48146854af919ddf224b"
    "1e9106f7936039c0bc38ff44591788817d3b101539b4da005154ed462c1e09a97c5a28e5ed2d1985"
    "95d96fcec130b27b3583579175870fce579148c88338133cedf14c8bef58389b6d08e00d53e73253"
    "1e055814f68cac2ce7ee0c61b8dfb489c6e460679b302d5318c55b9a13f5ca3242c4fe631a68a2ed"
    "fff876ee155f2decc79fa873b7c10a58c9e6d6c4d4808ebc2b2abcb7e542922b8f33e8df7a8d17fb"
    "6c0ddbbe30e2c21f944b880a084aff2a";
constexpr std::string_view kSealedPayload =
    "f806007e870e14073c69d3878e538f4b226632aaa5b072e796444deef5bc9c37";
// A segment of version 1 with one record; what is not given of 512 bytes is zero.
constexpr std::string_view kVersion1Header =
    "52555650414745530100000000000000030000000000000020000000000000000700000000000000"
    "08000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000900000000000000663136207061676573";
constexpr std::string_view kVersion1HeaderHash = "4a7b6ad8e2557017";
constexpr std::string_view kVersion1Record =
    "525556504147453171a77b99f68bd630000000000000000000000000000000000000000000000000"
    "0000000000000000d8245d5e4cfcbbd500000000000000000500000003000000ffffffffffffffff"
    "95408934c670dbd96a76c29ea10950a4640000006500000066000000670000006800000069000000"
    "6a0000006b0000006c0000006d0000006e0000006f00000070000000710000007200000073000000"
    "0300000000000000616e6e";

std::vector<std::byte> bytes_of(std::string_view digits) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(std::byte(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

RecordLabel a_label() {
  RecordLabel label;
  label.id = (int64_t{3} << 32) | 5;
  label.before = prefix_of_scope("ann");
  label.scope = "ann";
  for (size_t i = 0; i < label.cells.size(); ++i) {
    label.cells[i] = PrefixCell(static_cast<Token>(100 + i));
  }
  label.cells[3] = PrefixCell::of_hash(3);
  return label;
}

std::vector<std::byte> a_payload() {
  std::vector<std::byte> payload(32);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i);
  return payload;
}

RecordCodec a_codec(const std::optional<SealKey>& key) {
  return *RecordCodec::create({.model_hash = {7, 8}, .layout = "f16 pages", .payload_bytes = 32},
                              key);
}

TEST(EarlierFiles, PlainSessionsHaveTheSameBytes) {
  const SessionCodec codec = *SessionCodec::create(std::nullopt);
  EXPECT_EQ(hash_bytes(*codec.close(an_info(), kConversation)), 0xf1e63902fbe8cfd2U);
  EXPECT_EQ(codec.file_name("ann", "trip"), "8668310685585221124304f819f050c9.session");
}

TEST(EarlierFiles, SealedSessionsAreRead) {
  const SessionCodec codec = *SessionCodec::create(kKey);
  const std::vector<std::byte> file = bytes_of(kSealedSession);
  EXPECT_EQ(codec.open_label(file, "file")->n_tokens, 42);
  EXPECT_EQ(*codec.open_text(file, "file"), kConversation);
  EXPECT_EQ(codec.file_name("ann", "trip"), "b3ab10ef032ed556b96079ae2902ed0e.session");
}

TEST(EarlierFiles, PlainPagesHaveTheSameBytes) {
  const RecordCodec codec = a_codec(std::nullopt);
  std::vector<std::byte> payload = a_payload();
  EXPECT_EQ(hash_bytes(codec.segment_header(3)), 0x97c334ef99dc2102U);
  EXPECT_EQ(hash_bytes(codec.close(a_label(), payload)), 0x2343b771b22003b6U);
  EXPECT_EQ(payload, a_payload());
}

TEST(EarlierFiles, SealedPagesAreRead) {
  const RecordCodec codec = a_codec(kKey);
  SegmentHeader segment = codec.segment_header(3);
  std::ranges::copy(bytes_of(kSealedSegmentNonceAndTag), segment.begin() + 48);
  const size_t kHash = segment.size() - sizeof(uint64_t);
  put(segment, kHash, hash_bytes(Bytes(segment).first(kHash)));
  EXPECT_EQ(codec.refusal(segment, 3), "");
  RecordHeader header;
  std::ranges::copy(bytes_of(kSealedRecord), header.begin());
  const std::optional<RecordLabel> label = codec.open_label(header);
  ASSERT_TRUE(label);
  EXPECT_EQ(label->id, a_label().id);
  EXPECT_EQ(label->cells, a_label().cells);
  EXPECT_EQ(label->scope, "ann");
  std::vector<std::byte> payload = bytes_of(kSealedPayload);
  EXPECT_TRUE(codec.open_payload(header, payload));
  EXPECT_EQ(payload, a_payload());
}

// Version 1 had tokens of 4 bytes in place of cells.
TEST(EarlierFiles, PagesOfVersion1AreIgnoredByNameAndRemovedFirst) {
  std::vector<std::byte> file = bytes_of(kVersion1Header);
  const auto add = [&](const std::vector<std::byte>& bytes, size_t at) {
    file.resize(at);
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  add(bytes_of(kVersion1HeaderHash), 504);
  add(bytes_of(kVersion1Record), 512);
  add(a_payload(), 1024);
  file.resize(1088);
  StoreFolder folder;
  const std::string path = folder.path() + "/" + PageSegment::file_name(3);
  write_file(path, std::string(as_text(file)));
  std::vector<std::string> notes;
  PageStoreConfig config;
  config.folder = folder.path();
  config.model_hash[0] = 7;
  config.model_hash[1] = 8;
  config.layout = "f16 pages";
  config.payload_bytes = 32;
  config.max_bytes = PageStore::min_bytes(config.payload_bytes);
  config.note = [&](std::string_view line) { notes.emplace_back(line); };
  const auto store = PageStore::open(config).value();
  EXPECT_EQ(notes,
            std::vector{path + ": of format version 1, pages of this model have 2; ignored"});
  EXPECT_TRUE(store->records().empty());
  EXPECT_EQ(store->stats().n_bytes, 1088);
  for (int i = 0; std::filesystem::exists(path); ++i) {
    ASSERT_LT(i, 100);
    ASSERT_TRUE(store->append(-1, "", cells_of(i), a_payload()).has_value());
  }
  EXPECT_EQ(store->stats().n_written, store->stats().n_records);
}

}  // namespace
}  // namespace ruv::earlier_files_test
