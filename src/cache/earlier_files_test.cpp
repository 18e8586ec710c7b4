// Files that an earlier build wrote are read still, and what is not random is written the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "cache/page_store_record.h"
#include "cache/test_session.h"

namespace ruv {
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
    "27c86b7b092eda25d5fbae7b348630719a345d8893a411d717e7cc460429e1327e3cd72950dcda4d";
constexpr std::string_view kSealedRecord =
    "52555650414745310b07d2426f85dda45c2715d922313e4cccaa8a5f37b703bed7b860a4dce92c9e"
    "f516f4ec6788eaa9d9a67243471f92f38405774b5644349aabf9c93124ae40698ce89276257830c4"
    "6640f2a191e5d316e55997922aaa2bd0f8f00065566558e536f0451dad4a01bb4ae91cc57cba2349"
    "9599fcfdd4012dbd87993ec2bbbe972e3f1e730fbd79f5cfdbf9b95614708e759af1c962f0db50f7"
    "e361901fe3fddc2db49acd35c6d929b4b22b4f4f1eb07012c0767cfe646cb5fb4362b1ad457fffad"
    "c9287bbfbf0bad50a31d463746d2e5998caa11b59bc667a5f29991de5553de3c26e6c0dae96f2935"
    "52d30db1079a88f00751dd37a9c20f26baaacf4c307485645b2cd9e8087f0e7aa0fac24abfb89be0"
    "b1cada2b0b08622677a751c9b975496c66606a0e118343d3990af9de0e406f78b67f35efc6040b20"
    "5ea7202aafb04cf04be0ee8ef55115802bb385dae4d6612dac83395e3d5fbf21b59fedb64b161664"
    "9735c550d0c3a598098e781be01c1176669f16bb256a401bb724339d4fad3098226d6dfcf7ab6b41"
    "2dc08790c190561f08c6c06434aa88ce30f088bcea803d8f49af2622d4d390c06b501728dcf3ef5d"
    "f269a398bc56e8aa74b8dedda5b845919cbd330ebe4063ddfdcc4e5c42183e4eb4eba8a49d5dbbbe"
    "e390786cb3535a4fcb1a73260db416a99fd1543a65df6d931ae92d2065442009";
constexpr std::string_view kSealedPayload =
    "21caa53af80280c41a64e066b0977d8d781f19fb596f275fb12ab1674524b737";

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
  for (size_t i = 0; i < label.tokens.size(); ++i) label.tokens[i] = static_cast<Token>(100 + i);
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
  EXPECT_EQ(hash_bytes(codec.segment_header(3)), 0xa808d9e738965902U);
  EXPECT_EQ(hash_bytes(codec.close(a_label(), payload)), 0x1ed95bcf16c27115U);
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
  EXPECT_EQ(label->tokens, a_label().tokens);
  EXPECT_EQ(label->scope, "ann");
  std::vector<std::byte> payload = bytes_of(kSealedPayload);
  EXPECT_TRUE(codec.open_payload(header, payload));
  EXPECT_EQ(payload, a_payload());
}

}  // namespace
}  // namespace ruv
