#include "grammar/json/json_alphabet.h"

#include <algorithm>
#include <array>
#include <map>

namespace ruv {
namespace {

const CodePointSet kControl = CodePointSet::of(0, 0x1F);
const CodePointSet kMustEscape =
    kControl | CodePointSet::of('"', '"') | CodePointSet::of('\\', '\\');
constexpr uint32_t kFirstHigh = 0xD800;
constexpr uint32_t kFirstLow = 0xDC00;
constexpr uint32_t kSurrogates = 0x400;  // of each kind

struct ShortEscape {
  uint32_t character;
  uint8_t letter;
};
constexpr std::array<ShortEscape, 7> kShort = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

// \u and four digits, for UTF-16 code units of a set. Digits after which the same may follow are
// one set.
class HexUnits {
 public:
  HexUnits(Languages& languages, bool upper_case) : l_(languages), upper_case_(upper_case) {}

  Language of(const CodePointSet& set) { return l_.concat(l_.text("\\u"), digits(set, 0, 4)); }

 private:
  // The last n digits of the units that share the digits before, which are those of `base`.
  Language digits(const CodePointSet& set, uint32_t base, int n) {
    const uint32_t size = uint32_t{1} << (4 * n);
    const auto ranges = set.ranges();
    const auto at = std::ranges::partition_point(
        ranges, [&](const CodePointRange& range) { return range.last < base; });
    if (at == ranges.end() || at->first >= base + size) return Language::nothing;
    if (at->first <= base && at->last >= base + size - 1) {
      const auto count = static_cast<uint32_t>(n);
      ByteSet any;
      for (uint32_t digit = 0; digit < 16; ++digit) any |= spelled(digit);
      return l_.repeat(l_.byte_of(any), count, count);
    }
    std::map<Language, ByteSet> firsts;
    for (uint32_t digit = 0; digit < 16; ++digit) {
      const Language rest = digits(set, base + (digit << (4 * (n - 1))), n - 1);
      if (rest != Language::nothing) firsts[rest] |= spelled(digit);
    }
    std::vector<Language> parts;
    for (const auto& [rest, bytes] : firsts) parts.push_back(l_.concat(l_.byte_of(bytes), rest));
    return l_.any_of(parts);
  }
  ByteSet spelled(uint32_t digit) const {
    if (digit < 10) return ByteSet::of(static_cast<uint8_t>('0' + digit));
    const ByteSet small = ByteSet::of(static_cast<uint8_t>('a' + digit - 10));
    return upper_case_ ? small | ByteSet::of(static_cast<uint8_t>('A' + digit - 10)) : small;
  }

  Languages& l_;
  bool upper_case_;
};

// Characters above U+FFFF as two units. High ones after which the same low ones may follow are one
// set.
Language pairs(Languages& l, HexUnits& units, const CodePointSet& set) {
  std::map<Language, std::vector<CodePointRange>> highs;
  for (uint32_t i = 0; i < kSurrogates; ++i) {
    const uint32_t base = 0x10000 + i * kSurrogates;
    const CodePointSet here = set & CodePointSet::of(base, base + kSurrogates - 1);
    if (here.empty()) continue;
    std::vector<CodePointRange> lows;
    for (const CodePointRange& range : here.ranges()) {
      lows.push_back({range.first - base + kFirstLow, range.last - base + kFirstLow});
    }
    highs[units.of(CodePointSet(std::move(lows)))].push_back({kFirstHigh + i, kFirstHigh + i});
  }
  std::vector<Language> parts;
  for (auto& [low, high] : highs) {
    parts.push_back(l.concat(units.of(CodePointSet(std::move(high))), low));
  }
  return l.any_of(parts);
}

}  // namespace

Language JsonAlphabet::character(Languages& l, const CodePointSet& wanted) const {
  const CodePointSet set = wanted & ~CodePointSet::of(kFirstHigh, kFirstLow + kSurrogates - 1);
  std::vector<Language> parts = {Utf8Alphabet().character(l, set & ~kMustEscape)};
  ByteSet letters;
  CodePointSet escaped = set & kControl;
  for (const auto [character, letter] : kShort) {
    if (!set.contains(character)) continue;
    letters.add(letter);
    escaped = escaped & ~CodePointSet::of(character, character);
  }
  const bool all = escapes_ == JsonEscapes::all;
  if (all && set.contains('/')) letters.add('/');
  if (!letters.empty()) parts.push_back(l.concat(l.text("\\"), l.byte_of(letters)));
  HexUnits units(l, all);
  const CodePointSet in_one_unit = all ? set & CodePointSet::of(0, 0xFFFF) : escaped;
  if (!in_one_unit.empty()) parts.push_back(units.of(in_one_unit));
  if (all) parts.push_back(pairs(l, units, set & CodePointSet::of(0x10000, kLastCodePoint)));
  return l.any_of(parts);
}

}  // namespace ruv
