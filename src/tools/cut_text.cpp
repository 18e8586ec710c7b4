#include "tools/cut_text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace ruv {
namespace {

// The first byte at or after `at` that may begin a character.
size_t character_at(std::string_view text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

}  // namespace

std::string cut_text(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return to_valid_utf8(text);
  const size_t n_tail = max_bytes / 4;
  const std::string_view head =
      text.substr(0, whole_utf8_prefix(text.substr(0, max_bytes - n_tail)));
  const std::string_view tail = text.substr(character_at(text, text.size() - n_tail));
  return fmt::format("{}\n[… {} bytes left out …]\n{}", to_valid_utf8(head),
                     text.size() - head.size() - tail.size(), to_valid_utf8(tail));
}

}  // namespace ruv
