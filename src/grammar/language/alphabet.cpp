#include "grammar/language/alphabet.h"

#include <algorithm>
#include <array>
#include <map>

namespace ruv {
namespace {

const CodePointSet kAscii = CodePointSet::of(0, 0x7F);

// The continuation bytes of the characters of one set that share their first bytes.
class Continuations {
 public:
  Continuations(Languages& languages, const CodePointSet& set) : languages_(languages), set_(set) {}

  // Characters from `base` on that differ in their last n_bytes bytes only.
  Language of(uint32_t base, int n_bytes) {
    const uint32_t size = uint32_t{1} << (6 * n_bytes);
    const auto ranges = set_.ranges();
    const auto at = std::ranges::partition_point(
        ranges, [&](const CodePointRange& range) { return range.last < base; });
    if (at == ranges.end() || at->first >= base + size) return Language::nothing;
    if (at->first <= base && at->last >= base + size - 1) return all(n_bytes);
    return n_bytes == 1 ? last_bytes(base) : grouped(base, n_bytes);
  }

 private:
  Language last_bytes(uint32_t base) {
    ByteSet bytes;
    for (uint32_t i = 0; i < 64; ++i) {
      if (set_.contains(base + i)) bytes.add(static_cast<uint8_t>(0x80 + i));
    }
    return languages_.byte_of(bytes);
  }
  // Bytes after which the same follows are one set.
  Language grouped(uint32_t base, int n_bytes) {
    std::map<Language, ByteSet> firsts;
    for (uint32_t i = 0; i < 64; ++i) {
      const Language rest = of(base + (i << (6 * (n_bytes - 1))), n_bytes - 1);
      if (rest != Language::nothing) firsts[rest].add(static_cast<uint8_t>(0x80 + i));
    }
    std::vector<Language> parts;
    for (const auto& [rest, bytes] : firsts) {
      parts.push_back(languages_.concat(languages_.byte_of(bytes), rest));
    }
    return languages_.any_of(parts);
  }
  Language all(int n_bytes) {
    const Language one = languages_.byte_of(ByteSet::of(0x80, 0xBF));
    Language made = one;
    for (int i = 1; i < n_bytes; ++i) made = languages_.concat(one, made);
    return made;
  }

  Languages& languages_;
  const CodePointSet& set_;
};

}  // namespace

// Characters of one byte are one set; longer ones are grouped by their first byte.
Language Utf8Alphabet::character(Languages& languages, const CodePointSet& wanted) const {
  const CodePointSet set = wanted & ~CodePointSet::of(0xD800, 0xDFFF);
  const CodePointSet in_ascii = set & kAscii;
  ByteSet ascii;
  for (const CodePointRange& range : in_ascii.ranges()) {
    ascii |= ByteSet::of(static_cast<uint8_t>(range.first), static_cast<uint8_t>(range.last));
  }
  // Characters of two bytes have the first bytes 0xC2 to 0xDF, of three 0xE0 to 0xEF, of four 0xF0
  // to 0xF4; shorter forms of the same numbers are not UTF-8.
  struct Length {
    int n_continuations;
    uint8_t first, last;
    CodePointRange range;
  };
  static constexpr std::array<Length, 3> kLengths = {{{1, 0xC2, 0xDF, {0x80, 0x7FF}},
                                                      {2, 0xE0, 0xEF, {0x800, 0xFFFF}},
                                                      {3, 0xF0, 0xF4, {0x10000, kLastCodePoint}}}};
  std::vector<Language> parts = {languages.byte_of(ascii)};
  for (const Length& length : kLengths) {
    const CodePointSet part = set & CodePointSet::of(length.range.first, length.range.last);
    if (part.empty()) continue;
    Continuations continuations(languages, part);
    std::map<Language, ByteSet> firsts;
    const uint8_t zero = length.n_continuations == 1   ? 0xC0
                         : length.n_continuations == 2 ? 0xE0
                                                       : 0xF0;
    for (unsigned byte = length.first; byte <= length.last; ++byte) {
      const uint32_t base = (byte - zero) << (6 * length.n_continuations);
      const Language rest = continuations.of(base, length.n_continuations);
      if (rest != Language::nothing) firsts[rest].add(static_cast<uint8_t>(byte));
    }
    for (const auto& [rest, bytes] : firsts) {
      parts.push_back(languages.concat(languages.byte_of(bytes), rest));
    }
  }
  return languages.any_of(parts);
}

}  // namespace ruv
