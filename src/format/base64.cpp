// Four digits at a time through a table.
#include "format/base64.h"

#include <array>
#include <cstdint>

namespace ruv {
namespace {

constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> kDigits = [] {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}();

}  // namespace

bool append_base64(std::string_view text, std::string& out) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return false;
  const size_t before = out.size();
  uint32_t bits = 0;
  uint8_t wrong = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t digit = kDigits[static_cast<uint8_t>(text[i])];
    wrong |= digit;
    bits = (bits << 6) | (digit & 63U);
    // After digit 1, 2 and 3 of four a byte is whole: 12 - 8, 18 - 16, 24 - 24 bits are left.
    if (i % 4 != 0) out.push_back(static_cast<char>(bits >> (6 - 2 * (i % 4))));
  }
  if ((wrong & 0xC0) == 0) return true;
  out.resize(before);
  return false;
}

}  // namespace ruv
