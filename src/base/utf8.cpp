#include "base/utf8.h"

#include <algorithm>

namespace ruv {
namespace {

// Bytes that a sequence starting with `lead` has, 0 when no sequence starts so.
uint32_t sequence_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
bool second_byte_fits(uint8_t lead, uint8_t second) {
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

}  // namespace

CodePoint decode_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  const uint32_t size = sequence_size(lead);
  if (size == 1) return {lead, 1, true};
  if (size == 0 || at + size > text.size() || !second_byte_fits(lead, byte(1))) {
    return {kReplacement, 1, false};
  }
  uint32_t value = lead & (0xFFU >> (size + 1));
  for (uint32_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1, false};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  return {value, size, true};
}

void append_utf8(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (!c.valid) return false;
    i += c.size;
  }
  return true;
}

// Looks at the last bytes only.
size_t whole_utf8_prefix(std::string_view text) {
  const size_t first = text.size() > 3 ? text.size() - 3 : 0;
  for (size_t start = text.size(); start-- > first;) {
    const auto lead = static_cast<uint8_t>(text[start]);
    if ((lead & 0xC0) == 0x80) continue;
    const size_t have = text.size() - start;
    if (sequence_size(lead) <= have) return text.size();
    const bool promising =
        have < 2 || second_byte_fits(lead, static_cast<uint8_t>(text[start + 1]));
    return promising ? start : text.size();
  }
  return text.size();
}

size_t invalid_utf8_size(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint32_t whole = sequence_size(byte(0));
  const size_t end = std::min<size_t>(whole, text.size() - at);
  if (end < 2 || !second_byte_fits(byte(0), byte(1))) return 1;
  size_t size = 2;
  while (size < end && (byte(size) & 0xC0) == 0x80) ++size;
  return size;
}

namespace {

// Copies valid stretches and replaces the rest.
std::string valid_utf8(std::string_view text, bool bytewise) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    append_utf8(out, c.value);
    i += c.valid || bytewise ? c.size : invalid_utf8_size(text, i);
  }
  return out;
}

}  // namespace

std::string to_valid_utf8(std::string_view text) { return valid_utf8(text, false); }
std::string to_valid_utf8_bytewise(std::string_view text) { return valid_utf8(text, true); }

}  // namespace ruv
