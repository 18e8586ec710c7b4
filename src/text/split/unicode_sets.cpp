// One walk over the assigned code points fills all categories.
#include "text/split/unicode_sets.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace ruv {
namespace {

constexpr int kCategories = 30;

// In the order of utf8proc_category_t.
constexpr std::string_view kShortNames[kCategories] = {
    "cn", "lu", "ll", "lt", "lm", "lo", "mn", "mc", "me", "nd", "nl", "no", "pc", "pd", "ps",
    "pe", "pi", "pf", "po", "sm", "sc", "sk", "so", "zs", "zl", "zp", "cc", "cf", "cs", "co"};
constexpr std::string_view kLongNames[kCategories] = {"unassigned",
                                                      "uppercaseletter",
                                                      "lowercaseletter",
                                                      "titlecaseletter",
                                                      "modifierletter",
                                                      "otherletter",
                                                      "nonspacingmark",
                                                      "spacingmark",
                                                      "enclosingmark",
                                                      "decimalnumber",
                                                      "letternumber",
                                                      "othernumber",
                                                      "connectorpunctuation",
                                                      "dashpunctuation",
                                                      "openpunctuation",
                                                      "closepunctuation",
                                                      "initialpunctuation",
                                                      "finalpunctuation",
                                                      "otherpunctuation",
                                                      "mathsymbol",
                                                      "currencysymbol",
                                                      "modifiersymbol",
                                                      "othersymbol",
                                                      "spaceseparator",
                                                      "lineseparator",
                                                      "paragraphseparator",
                                                      "control",
                                                      "format",
                                                      "surrogate",
                                                      "privateuse"};

struct Group {
  std::string_view short_name;
  std::string_view long_name;
  uint32_t categories;  // bit n is category n
};
constexpr Group kGroups[] = {
    {"l", "letter", 0x3EU},
    {"m", "mark", 0x7U << 6},
    {"n", "number", 0x7U << 9},
    {"p", "punctuation", 0x7FU << 12},
    {"s", "symbol", 0xFU << 19},
    {"z", "separator", 0x7U << 23},
    {"c", "other", (0xFU << 26) | 1U},
    {"lc", "casedletter", 0xEU},
    {"p", "punct", 0x7FU << 12},
};

// One set per general category, in the order of utf8proc_category_t.
using Categories = std::array<CodePointSet, kCategories>;

// All other code points are unassigned or for private use: Unicode has filled planes 0 to 3 and 14,
// and planes 15 and 16 are private.
constexpr CodePointRange kAssigned[] = {{0, 0x323FF}, {0xE0000, 0xE01FF}};
constexpr CodePointRange kPrivate[] = {{0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD}};

Categories collect_categories() {
  std::array<std::vector<CodePointRange>, kCategories> ranges;
  const auto add = [&](int category, uint32_t first, uint32_t last) {
    auto& of = ranges[static_cast<size_t>(category)];
    if (!of.empty() && of.back().last + 1 == first) {
      of.back().last = last;
    } else {
      of.push_back({first, last});
    }
  };
  for (const CodePointRange& part : kAssigned) {
    for (uint32_t c = part.first; c <= part.last;) {
      const utf8proc_property_t* property = utf8proc_get_property(static_cast<int32_t>(c));
      const uint32_t first = c;
      while (++c <= part.last && utf8proc_get_property(static_cast<int32_t>(c)) == property) {
      }
      add(property->category, first, c - 1);
    }
  }
  for (const CodePointRange& part : kPrivate) add(UTF8PROC_CATEGORY_CO, part.first, part.last);
  Categories sets;
  CodePointSet assigned;
  for (size_t i = 1; i < kCategories; ++i) {
    sets[i] = CodePointSet(std::move(ranges[i]));
    assigned = assigned | sets[i];
  }
  sets[UTF8PROC_CATEGORY_CN] = ~assigned;
  return sets;
}

const Categories& categories() {
  static const Categories kSets = collect_categories();
  return kSets;
}

CodePointSet union_of(uint32_t wanted) {
  std::vector<CodePointRange> all;
  for (size_t i = 0; i < kCategories; ++i) {
    if (((wanted >> i) & 1U) == 0) continue;
    const auto ranges = categories()[i].ranges();
    all.insert(all.end(), ranges.begin(), ranges.end());
  }
  return CodePointSet(std::move(all));
}

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

}  // namespace

std::optional<CodePointSet> find_unicode_set(std::string_view given) {
  const std::string name = folded(given);
  for (const Group& group : kGroups) {
    if (name == group.short_name || name == group.long_name) return union_of(group.categories);
  }
  for (size_t i = 0; i < kCategories; ++i) {
    if (name == kShortNames[i] || name == kLongNames[i]) return categories()[i];
  }
  if (name == "any") return CodePointSet::of(0, kLastCodePoint);
  if (name == "ascii") return CodePointSet::of(0, 0x7F);
  if (name == "whitespace" || name == "space") return white_space();
  if (name == "word") return word_characters();
  const std::span<const CodePointRange> script = script_ranges(name);
  if (script.empty()) return std::nullopt;
  return CodePointSet({script.begin(), script.end()});
}

const CodePointSet& white_space() {
  static const CodePointSet kSet({{9, 13},
                                  {0x20, 0x20},
                                  {0x85, 0x85},
                                  {0xA0, 0xA0},
                                  {0x1680, 0x1680},
                                  {0x2000, 0x200A},
                                  {0x2028, 0x2029},
                                  {0x202F, 0x202F},
                                  {0x205F, 0x205F},
                                  {0x3000, 0x3000}});
  return kSet;
}

CodePointSet word_characters() {
  constexpr uint32_t kWanted = 0x3EU | (0x7U << 6) | (1U << UTF8PROC_CATEGORY_ND) |
                               (1U << UTF8PROC_CATEGORY_NL) | (1U << UTF8PROC_CATEGORY_PC);
  // Alphabetic beyond letters, letter numbers and marks: letters in circles and squares.
  const CodePointSet enclosed(
      {{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}});
  return union_of(kWanted) | enclosed;
}

}  // namespace ruv
