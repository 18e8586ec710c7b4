// ASCII is decided before any table is consulted, since most of the text of prompts is ASCII.
#include "chat/jinja/letters.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "chat/jinja/letter_expansions.h"

namespace ruv::jinja {

namespace {

bool within(uint32_t c, uint32_t first, uint32_t last) { return c >= first && c <= last; }

uint32_t category_bit(uint32_t c) {
  return 1U << utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

constexpr uint32_t bit(utf8proc_category_t category) { return 1U << category; }

constexpr uint32_t kLetters = bit(UTF8PROC_CATEGORY_LU) | bit(UTF8PROC_CATEGORY_LL) |
                              bit(UTF8PROC_CATEGORY_LT) | bit(UTF8PROC_CATEGORY_LM) |
                              bit(UTF8PROC_CATEGORY_LO);
constexpr uint32_t kNumbers =
    bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_NL) | bit(UTF8PROC_CATEGORY_NO);

// Binary search in the table of mappings to several characters.
const LetterExpansion* expansion_of(uint32_t c) {
  const auto* found = std::lower_bound(
      std::begin(kLetterExpansions), std::end(kLetterExpansions), c,
      [](const LetterExpansion& row, uint32_t wanted) { return row.letter < wanted; });
  return found != std::end(kLetterExpansions) && found->letter == c ? found : nullptr;
}

// Letters with a numeric value, all of them CJK ideographs (Unicode 14, as Python 3.11), rising.
constexpr uint32_t kNumeralLetters[] = {
    0x3405,  0x3483,  0x382A,  0x3B4D,  0x4E00,  0x4E03,  0x4E07,  0x4E09,  0x4E5D,
    0x4E8C,  0x4E94,  0x4E96,  0x4EBF,  0x4EC0,  0x4EDF,  0x4EE8,  0x4F0D,  0x4F70,
    0x5104,  0x5146,  0x5169,  0x516B,  0x516D,  0x5341,  0x5343,  0x5344,  0x5345,
    0x534C,  0x53C1,  0x53C2,  0x53C3,  0x53C4,  0x56DB,  0x58F1,  0x58F9,  0x5E7A,
    0x5EFE,  0x5EFF,  0x5F0C,  0x5F0D,  0x5F0E,  0x5F10,  0x62FE,  0x634C,  0x67D2,
    0x6F06,  0x7396,  0x767E,  0x8086,  0x842C,  0x8CAE,  0x8CB3,  0x8D30,  0x9621,
    0x9646,  0x964C,  0x9678,  0x96F6,  0xF96B,  0xF973,  0xF978,  0xF9B2,  0xF9D1,
    0xF9D3,  0xF9FD,  0x20001, 0x20064, 0x200E2, 0x20121, 0x2092A, 0x20983, 0x2098C,
    0x2099C, 0x20AEA, 0x20AFD, 0x20B19, 0x22390, 0x22998, 0x23B1B, 0x2626D, 0x2F890};

bool is_ascii_letter(uint32_t c) { return within(c | 32, 'a', 'z'); }

}  // namespace

bool is_space(uint32_t c) {
  return within(c, 0x09, 0x0D) || within(c, 0x1C, 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         within(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// As str.isprintable: not a control, separator or unassigned character, except the space.
bool is_printable(uint32_t c) {
  if (c < 0x80) return within(c, 0x20, 0x7E);
  constexpr uint32_t kHidden = bit(UTF8PROC_CATEGORY_CN) | bit(UTF8PROC_CATEGORY_CC) |
                               bit(UTF8PROC_CATEGORY_CF) | bit(UTF8PROC_CATEGORY_CS) |
                               bit(UTF8PROC_CATEGORY_CO) | bit(UTF8PROC_CATEGORY_ZS) |
                               bit(UTF8PROC_CATEGORY_ZL) | bit(UTF8PROC_CATEGORY_ZP);
  return (category_bit(c) & kHidden) == 0;
}

bool is_letter(uint32_t c) {
  if (c < 0x80) return is_ascii_letter(c);
  return (category_bit(c) & kLetters) != 0;
}

bool is_decimal(uint32_t c) {
  if (c < 0x80) return within(c, '0', '9');
  return category_bit(c) == bit(UTF8PROC_CATEGORY_ND);
}

bool is_digit(uint32_t c) {
  if (is_decimal(c)) return true;
  static constexpr uint32_t kRanges[][2] = {
      {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
      {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
      {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
      {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
      {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return c >= 0x80 && std::any_of(std::begin(kRanges), std::end(kRanges),
                                  [c](const auto& range) { return within(c, range[0], range[1]); });
}

bool is_numeric(uint32_t c) {
  if (c < 0x80) return within(c, '0', '9');
  return (category_bit(c) & kNumbers) != 0 ||
         std::binary_search(std::begin(kNumeralLetters), std::end(kNumeralLetters), c);
}

bool is_alphanumeric(uint32_t c) {
  if (c < 0x80) return is_ascii_letter(c) || within(c, '0', '9');
  return (category_bit(c) & (kLetters | kNumbers)) != 0;
}

bool is_word(uint32_t c) { return is_alphanumeric(c) || c == '_'; }

bool is_upper(uint32_t c) {
  if (c < 0x80) return within(c, 'A', 'Z');
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0;
}

bool is_lower(uint32_t c) {
  if (c < 0x80) return within(c, 'a', 'z');
  return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0;
}

bool is_title(uint32_t c) { return c >= 0x80 && category_bit(c) == bit(UTF8PROC_CATEGORY_LT); }
bool is_cased(uint32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

// As in the Unicode standard's rule for the final sigma.
bool is_case_ignorable(uint32_t c) {
  static constexpr uint32_t kSigns[] = {'\'',   '.',    ':',    '^',    '`',    0xB7,   0x387,
                                        0x55F,  0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                        0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  if (std::find(std::begin(kSigns), std::end(kSigns), c) != std::end(kSigns)) return true;
  constexpr uint32_t kIgnored = bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_ME) |
                                bit(UTF8PROC_CATEGORY_CF) | bit(UTF8PROC_CATEGORY_LM) |
                                bit(UTF8PROC_CATEGORY_SK);
  return c >= 0x80 && (category_bit(c) & kIgnored) != 0;
}

bool starts_identifier(uint32_t c) {
  if (c < 0x80) return is_ascii_letter(c) || c == '_';
  return (category_bit(c) & (kLetters | bit(UTF8PROC_CATEGORY_NL))) != 0;
}

bool continues_identifier(uint32_t c) {
  constexpr uint32_t kInside = bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_MC) |
                               bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_PC);
  return starts_identifier(c) || is_decimal(c) || (c >= 0x80 && (category_bit(c) & kInside) != 0) ||
         c == 0xB7 || c == 0x387;
}

void append_upper(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(within(c, 'a', 'z') ? c - 32 : c);
  } else if (const LetterExpansion* expansion = expansion_of(c)) {
    out += expansion->upper;
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(within(c, 'A', 'Z') ? c + 32 : c);
  } else if (c == 0x130) {
    out += "i\u0307";
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& out, uint32_t c) {
  if (c < 0x80) return append_upper(out, c);
  if (const LetterExpansion* expansion = expansion_of(c)) {
    out += expansion->title.empty() ? expansion->upper : expansion->title;
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_folded(std::string& out, uint32_t c) {
  if (c < 0x80) return append_lower(out, c);
  utf8proc_int32_t folded[8];
  const utf8proc_ssize_t n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8,
                                                     UTF8PROC_CASEFOLD, nullptr);
  if (n < 1 || n > 8) return append_utf8(out, c);
  for (utf8proc_ssize_t i = 0; i < n; ++i) append_utf8(out, static_cast<uint32_t>(folded[i]));
}

// Counts back to the script's zero.
int decimal_value(uint32_t c) {
  if (!is_decimal(c)) return -1;
  // The digits 0 to 9 of a script are neighbours; only the mathematical sets touch each other.
  if (within(c, 0x1D7CE, 0x1D7FF)) return static_cast<int>((c - 0x1D7CE) % 10);
  uint32_t zero = c;
  while (c - zero < 9 && is_decimal(zero - 1)) --zero;
  return static_cast<int>(c - zero);
}

// Steps back over continuation bytes.
size_t last_character_size(std::string_view text, size_t end) {
  for (size_t size = 1; size <= 4 && size <= end; ++size) {
    const CodePoint c = decode_utf8(text, end - size);
    if (c.valid) return c.size == size ? size : 1;
  }
  return 1;
}

size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = decode_utf8(text, at);
    if (!c.valid || !is_space(c.value)) break;
    at += c.size;
  }
  return at;
}

size_t trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t size = last_character_size(text, end);
    const CodePoint c = decode_utf8(text, end - size);
    if (!c.valid || !is_space(c.value)) break;
    end -= size;
  }
  return text.size() - end;
}

size_t ascii_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if (word & kHighBits) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t plain = ascii_prefix(text.substr(at));
    at += plain;
    count += plain;
    for (; at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80; ++count)
      at += decode_utf8(text, at).size;
  }
  return count;
}

size_t byte_of_character(std::string_view text, size_t characters, size_t from) {
  size_t at = from;
  while (characters > 0 && at < text.size()) {
    const size_t plain = ascii_prefix(text.substr(at, characters));
    at += plain;
    characters -= plain;
    for (; characters > 0 && at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80;
         --characters)
      at += decode_utf8(text, at).size;
  }
  return at;
}

}  // namespace ruv::jinja
