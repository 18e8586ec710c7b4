#include "shown_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace ruv {
namespace {

struct CharacterRange {
  uint32_t first, last;
};
// Controls, marks and overrides of direction, joiners, tags, variation selectors, fillers.
constexpr CharacterRange kUnseen[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},     {0x034F, 0x034F}, {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5},  {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E},
    {0x2060, 0x206F}, {0x3164, 0x3164},  {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0xE0000, 0xE0FFF}};

bool is_unseen(uint32_t character) {
  for (const CharacterRange& range : kUnseen) {
    if (character >= range.first && character <= range.last) return true;
  }
  return false;
}

bool is_blank(uint32_t character) {
  return character == ' ' || (character >= '\t' && character <= '\r') || character == 0xA0;
}

}  // namespace

std::string shown_text(std::string_view text, size_t max_characters) {
  std::string out;
  size_t n = 0;
  bool after_blank = true;  // the line begins with no blank
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    at += point.size;
    const bool blank = is_blank(point.value);
    if (blank && after_blank) continue;
    after_blank = blank;
    if (n++ == max_characters) return out + "…";
    if (blank) {
      out += ' ';
    } else if (is_unseen(point.value)) {
      fmt::format_to(std::back_inserter(out), "<U+{:04X}>", point.value);
    } else {
      append_utf8(out, point.value);
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string shown_lines(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    shown += shown_text(text.substr(at, end - at), kWholeText) + "\n";
    at = end + 1;
  }
  return shown;
}

}  // namespace ruv
