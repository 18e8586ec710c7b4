// What is sealed opens with its key, in its place and unchanged, and keys are read from digits.
#include "base/sealing.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Sealing, OpensWhatWasSealedAndNothingElse) {
  ASSERT_TRUE(start_sealing().ok());
  const SealKey key = {1, 2, 3};
  const std::string text = "the cook is called Quillfeather";
  std::string sealed = "before";
  append_sealed(sealed, key, as_bytes(text), as_bytes("page 3"));
  const Bytes one = as_bytes(sealed).subspan(6);
  ASSERT_EQ(one.size(), text.size() + kSealedExtraBytes);
  EXPECT_EQ(sealed.find("Quill"), sealed.npos);
  std::string opened(text.size(), ' ');
  const auto room = std::as_writable_bytes(std::span(opened));
  ASSERT_TRUE(open_sealed(key, one, as_bytes("page 3"), room));
  EXPECT_EQ(opened, text);
  EXPECT_FALSE(open_sealed(key, one, as_bytes("page 4"), room));
  EXPECT_FALSE(open_sealed({1, 2, 4}, one, as_bytes("page 3"), room));
  for (size_t i = 6; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(open_sealed(key, as_bytes(damaged).subspan(6), as_bytes("page 3"), room)) << i;
  }
  std::string again = "before";
  append_sealed(again, key, as_bytes(text), as_bytes("page 3"));
  EXPECT_NE(again, sealed);
}

TEST(Sealing, ReadsKeysOfHexadecimalDigits) {
  const std::string digits = "00ff" + std::string(60, 'A');
  const auto key = seal_key_of_hex(digits + "\r\n", "key");
  ASSERT_TRUE(key);
  EXPECT_EQ((*key)[0], 0x00);
  EXPECT_EQ((*key)[1], 0xFF);
  EXPECT_EQ((*key)[31], 0xAA);
  EXPECT_EQ(seal_key_of_hex(digits + "0", "key").error().code(), Code::invalid);
  EXPECT_EQ(seal_key_of_hex("", "key").error().code(), Code::invalid);
  const auto wrong = seal_key_of_hex(std::string(63, '7') + "g", "my.key");
  EXPECT_EQ(wrong.error().message(), "my.key: 64 hexadecimal digits are needed");
}

}  // namespace
}  // namespace ruv
