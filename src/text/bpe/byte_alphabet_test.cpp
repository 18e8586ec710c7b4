#include "text/bpe/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace ruv {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  std::string out(text.size(), '\0');
  const std::optional<size_t> n = decode_byte_alphabet(text, out.data());
  if (!n) return std::nullopt;
  out.resize(*n);
  return out;
}

TEST(ByteAlphabet, EveryByteHasItsOwnPrintableCharacter) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    const std::string text = to_byte_alphabet(bytes);
    EXPECT_TRUE(characters.insert(text).second);
    EXPECT_EQ(decoded(text), bytes);
  }
}

TEST(ByteAlphabet, PublishedExamples) {
  EXPECT_EQ(to_byte_alphabet(" a\n"), "ĠaĊ");
  EXPECT_EQ(to_byte_alphabet("\u00E9"), "Ã©");
  EXPECT_EQ(to_byte_alphabet("\xAD\x7F"), "Ńġ");
}

TEST(ByteAlphabet, CharactersOutsideAreNoBytes) {
  EXPECT_EQ(decoded(" "), std::nullopt);
  EXPECT_EQ(decoded("a\u0144"), std::nullopt);
  EXPECT_EQ(decoded("\xFF"), std::nullopt);
  EXPECT_EQ(decoded(""), "");
}

}  // namespace
}  // namespace ruv
