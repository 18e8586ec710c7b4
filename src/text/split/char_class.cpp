// Categories come from utf8proc; ASCII has its own table because most text is ASCII.
#include "text/split/char_class.h"

#include <utf8proc.h>

#include <array>

namespace ruv {
namespace {

constexpr bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

constexpr int ascii_category(char c) {
  constexpr std::string_view kOther = "!\"#%&'*,./:;?@\\";
  constexpr std::string_view kMath = "+<=>|~";
  const auto one_of = [&](std::string_view set) { return set.find(c) != std::string_view::npos; };
  if (c >= 'A' && c <= 'Z') return UTF8PROC_CATEGORY_LU;
  if (c >= 'a' && c <= 'z') return UTF8PROC_CATEGORY_LL;
  if (c >= '0' && c <= '9') return UTF8PROC_CATEGORY_ND;
  if (c < 0x20 || c == 0x7F) return UTF8PROC_CATEGORY_CC;
  if (c == ' ') return UTF8PROC_CATEGORY_ZS;
  if (c == '_') return UTF8PROC_CATEGORY_PC;
  if (c == '-') return UTF8PROC_CATEGORY_PD;
  if (c == '$') return UTF8PROC_CATEGORY_SC;
  if (one_of("([{")) return UTF8PROC_CATEGORY_PS;
  if (one_of(")]}")) return UTF8PROC_CATEGORY_PE;
  if (one_of(kMath)) return UTF8PROC_CATEGORY_SM;
  if (one_of(kOther)) return UTF8PROC_CATEGORY_PO;
  return UTF8PROC_CATEGORY_SK;
}

constexpr CharSet with_extras(uint32_t c, int category) {
  CharSet set = 1U << category;
  if (is_space(c)) set |= chars::kSpace;
  if (c == '\n' || c == '\r') set |= chars::kNewline;
  return set;
}

constexpr std::array<CharSet, 128> kAscii = [] {
  std::array<CharSet, 128> table{};
  for (uint32_t c = 0; c < 128; ++c) {
    table[c] = with_extras(c, ascii_category(static_cast<char>(c)));
  }
  return table;
}();

static_assert(UTF8PROC_CATEGORY_LU == 1 && UTF8PROC_CATEGORY_ME == 8 &&
              UTF8PROC_CATEGORY_NO == 11 && UTF8PROC_CATEGORY_PO == 18 &&
              UTF8PROC_CATEGORY_SO == 22);

}  // namespace

CharSet char_set(uint32_t c) {
  if (c < 128) return kAscii[c];
  return with_extras(c, utf8proc_category(static_cast<utf8proc_int32_t>(c)));
}

Char char_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < 128) return {kAscii[byte], byte, 1};
  const CodePoint c = decode_utf8(text, at);
  return {char_set(c.value), c.value, c.size};
}

}  // namespace ruv
