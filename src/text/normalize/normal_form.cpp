// One table, made once from utf8proc's properties: the combining class of each character and which
// forms change it. Text whose characters no form changes and whose marks are in order is normal
// already; the rest is decomposed, ordered and composed.
#include "text/normalize/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"
#include "text/normalize/char_sets.h"
#include "text/read_char.h"

namespace ruv {
namespace {

constexpr uint32_t kTableEnd = 0x2FA20;  // characters from here on are inert
constexpr uint32_t kHangulBegin = 0xAC00;
constexpr uint32_t kHangulEnd = 0xD7A4;
constexpr uint32_t kLeadBegin = 0x1100;
constexpr uint32_t kVowelBegin = 0x1161;
constexpr uint32_t kTailBegin = 0x11A7;  // one before the first tail
constexpr uint32_t kLeads = 19;
constexpr uint32_t kVowels = 21;
constexpr uint32_t kTails = 28;

// Bit n: the form with the value n may change the character.
struct CharForm {
  uint8_t combining_class = 0;
  uint8_t changed_by = 0;
};

constexpr uint8_t bit_of(NormalForm form) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(form));
}
constexpr bool composes(NormalForm form) { return form == NormalForm::c || form == NormalForm::kc; }
constexpr bool compatible(NormalForm form) {
  return form == NormalForm::kc || form == NormalForm::kd;
}

// The full decomposition of c; the longest has 18 characters.
size_t decompose(uint32_t c, bool compatibility, utf8proc_int32_t (&buffer)[32]) {
  int boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
                                                      (compatibility ? UTF8PROC_COMPAT : 0));
  const utf8proc_ssize_t n =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer, 32, options, &boundary);
  CHECK(n >= 1 && n <= 32);
  return static_cast<size_t>(n);
}

// The composed forms change what may be the second half of a pair.
constexpr uint8_t kMayBeSecond = 0b0101;
static_assert(kMayBeSecond == (bit_of(NormalForm::c) | bit_of(NormalForm::kc)));

void add(CharForm& form, uint8_t bits) {
  form.changed_by = static_cast<uint8_t>(form.changed_by | bits);
}

bool equal_decompositions(uint32_t c) {
  utf8proc_int32_t canonical[32];
  utf8proc_int32_t any[32];
  const size_t n = decompose(c, false, canonical);
  return decompose(c, true, any) == n && std::equal(any, any + n, canonical);
}

// Which pairs compose to what (no Hangul), and the CharForm of each character.
class FormTable {
 public:
  static const FormTable& get() {
    static const FormTable kTable;
    return kTable;
  }

  CharForm of(uint32_t c) const { return c < kTableEnd ? forms_[c] : CharForm{}; }

  // The character that `first` and `second` compose to, or 0.
  uint32_t compose(uint32_t first, uint32_t second) const {
    const uint64_t key = uint64_t{first} << 32 | second;
    for (size_t i = slot_of(key); slots_[i].key != 0; i = (i + 1) % kSlots) {
      if (slots_[i].key == key) return slots_[i].composed;
    }
    return 0;
  }

 private:
  static constexpr size_t kSlots = 4096;  // for about 940 pairs
  struct Slot {
    uint64_t key = 0;
    uint32_t composed = 0;
  };

  static size_t slot_of(uint64_t key) { return (key * 0x9E3779B97F4A7C15U) >> 52; }

  FormTable() : forms_(kTableEnd), slots_(kSlots) {
    for (uint32_t c = 0xA0; c < kTableEnd; ++c) read(c);
    for (uint32_t c = kVowelBegin; c < kVowelBegin + kVowels; ++c)
      forms_[c].changed_by = kMayBeSecond;
    for (uint32_t c = kTailBegin; c < kTailBegin + kTails; ++c) forms_[c].changed_by = kMayBeSecond;
  }

  void read(uint32_t c) {
    const utf8proc_property_t* property = utf8proc_get_property(static_cast<int32_t>(c));
    const bool hangul = c >= kHangulBegin && c < kHangulEnd;
    if (property->combining_class == 0 && property->decomp_seqindex == UINT16_MAX && !hangul) {
      return;
    }
    if (is_newer_than_forms(c)) return;
    CharForm& form = forms_[c];
    form.combining_class = static_cast<uint8_t>(property->combining_class);
    utf8proc_int32_t buffer[32];
    const bool canonical = decompose(c, false, buffer) > 1 || buffer[0] != static_cast<int32_t>(c);
    const bool same = equal_decompositions(c);
    const bool any = !same || canonical;
    const bool composed = hangul || (canonical && add_pair(c));
    if (canonical) add(form, bit_of(NormalForm::d));
    if (any) add(form, bit_of(NormalForm::kd));
    if (canonical && !composed) add(form, bit_of(NormalForm::c));
    if (!same || (canonical && !composed)) add(form, bit_of(NormalForm::kc));
  }

  // False: c is not a composed character. Its full decomposition is that of its first half and one
  // mark.
  bool add_pair(uint32_t c) {
    utf8proc_int32_t buffer[32];
    const size_t n = decompose(c, false, buffer);
    if (n < 2) return false;
    std::vector<utf8proc_int32_t> whole(buffer, buffer + n);
    const utf8proc_ssize_t composed = utf8proc_normalize_utf32(
        whole.data(), static_cast<utf8proc_ssize_t>(n),
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    if (composed != 1 || whole[0] != static_cast<int32_t>(c)) return false;
    const auto second = static_cast<uint32_t>(buffer[n - 1]);
    std::vector<utf8proc_int32_t> half(buffer, buffer + n - 1);
    const utf8proc_ssize_t n_half = utf8proc_normalize_utf32(
        half.data(), static_cast<utf8proc_ssize_t>(n - 1),
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    CHECK(n_half == 1);
    const uint64_t key = uint64_t{static_cast<uint32_t>(half[0])} << 32 | second;
    size_t i = slot_of(key);
    while (slots_[i].key != 0) i = (i + 1) % kSlots;
    slots_[i] = {key, c};
    add(forms_[second], kMayBeSecond);
    return true;
  }

  std::vector<CharForm> forms_;
  std::vector<Slot> slots_;
};

// The state of a quick check: marks must be in order and no character may change.
class QuickCheck {
 public:
  explicit QuickCheck(NormalForm form) : bit_(bit_of(form)) {}
  bool accepts(uint32_t c) {
    const CharForm form = table_.of(c);
    const bool in_order = form.combining_class == 0 || form.combining_class >= last_class_;
    last_class_ = form.combining_class;
    return in_order && (form.changed_by & bit_) == 0;
  }
  void restart() { last_class_ = 0; }

 private:
  const FormTable& table_ = FormTable::get();
  uint8_t bit_;
  uint8_t last_class_ = 0;
};

// Bytes from `at` on that are surely ASCII, in steps of 8.
size_t ascii_end(std::string_view text, size_t at) {
  while (at + 8 <= text.size()) {
    uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    if ((eight & 0x8080808080808080U) != 0) break;
    at += 8;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

void decompose_all(const std::vector<OriginChar>& text, bool compatibility,
                   std::vector<OriginChar>& out) {
  const FormTable& table = FormTable::get();
  const uint8_t bit = bit_of(compatibility ? NormalForm::kd : NormalForm::d);
  utf8proc_int32_t buffer[32];
  out.clear();
  for (const OriginChar& c : text) {
    if ((table.of(c.value).changed_by & bit) == 0) {
      out.push_back(c);
      continue;
    }
    const size_t n = decompose(c.value, compatibility, buffer);
    for (size_t i = 0; i < n; ++i) out.push_back({static_cast<uint32_t>(buffer[i]), c.origin});
  }
}

void order_marks(std::vector<OriginChar>& text) {
  const FormTable& table = FormTable::get();
  const auto class_of = [&](const OriginChar& c) { return table.of(c.value).combining_class; };
  const auto by_class = [&](const OriginChar& a, const OriginChar& b) {
    return class_of(a) < class_of(b);
  };
  for (size_t i = 0; i < text.size();) {
    if (class_of(text[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && class_of(text[end]) != 0) ++end;
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = text.begin() + static_cast<std::ptrdiff_t>(end);
    if (!std::is_sorted(first, last, by_class)) {
      std::stable_sort(first, last, by_class);
      // Origins ascend; a mark that moved counts to where the run begins.
      uint32_t origin = UINT32_MAX;
      for (auto mark = last; mark != first;) {
        --mark;
        mark->origin = origin = std::min(origin, mark->origin);
      }
    }
    i = end;
  }
}

uint32_t compose_pair(const FormTable& table, uint32_t first, uint32_t second) {
  if (first - kLeadBegin < kLeads && second - kVowelBegin < kVowels) {
    return kHangulBegin + ((first - kLeadBegin) * kVowels + second - kVowelBegin) * kTails;
  }
  if (first >= kHangulBegin && first < kHangulEnd && (first - kHangulBegin) % kTails == 0 &&
      second > kTailBegin && second < kTailBegin + kTails) {
    return first + second - kTailBegin;
  }
  return table.compose(first, second);
}

void compose_all(std::vector<OriginChar>& text) {
  const FormTable& table = FormTable::get();
  size_t kept = 0;
  size_t starter = SIZE_MAX;
  int last_class = -1;  // of the character kept before; -1 directly after the starter
  for (size_t i = 0; i < text.size(); ++i) {
    const OriginChar c = text[i];
    const CharForm form = table.of(c.value);
    const int combining = form.combining_class;
    if (starter != SIZE_MAX && last_class < combining && (form.changed_by & kMayBeSecond) != 0) {
      const uint32_t composed = compose_pair(table, text[starter].value, c.value);
      if (composed != 0) {
        text[starter].value = composed;
        continue;
      }
    }
    if (combining == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = combining;
    }
    text[kept++] = c;
  }
  text.resize(kept);
}

}  // namespace

bool is_surely_normal(std::string_view text, NormalForm form) {
  size_t at = ascii_end(text, 0);
  if (at == text.size()) return true;
  QuickCheck check(form);
  while (at < text.size()) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < 0x80) {
      check.restart();
      at = ascii_end(text, at);
      continue;
    }
    // U+4000 to U+9FFF are ideographs, which no form changes.
    if (byte >= 0xE4 && byte <= 0xE9) {
      check.restart();
      ++at;
      for (int i = 0; i < 2 && at < text.size() && (text[at] & 0xC0) == 0x80; ++i) ++at;
      continue;
    }
    const CodePoint c = read_char(text, at);
    if (!c.valid) {
      check.restart();
    } else if (!check.accepts(c.value)) {
      return false;
    }
    at += c.size;
  }
  return true;
}

bool is_surely_normal(const std::vector<OriginChar>& text, NormalForm form) {
  QuickCheck check(form);
  return std::all_of(text.begin(), text.end(),
                     [&](const OriginChar& c) { return check.accepts(c.value); });
}

void normalize(std::vector<OriginChar>& text, NormalForm form, std::vector<OriginChar>& scratch) {
  if (is_surely_normal(text, form)) return;
  decompose_all(text, compatible(form), scratch);
  text.swap(scratch);
  order_marks(text);
  if (composes(form)) compose_all(text);
}

std::string nfc(std::string_view text) {
  std::vector<OriginChar> chars;
  std::vector<OriginChar> scratch;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = read_char(text, i);
    chars.push_back({c.valid ? c.value : kInvalidByte + static_cast<uint8_t>(text[i]), 0});
    i += c.size;
  }
  normalize(chars, NormalForm::c, scratch);
  std::string out;
  out.reserve(text.size());
  for (const OriginChar& c : chars) {
    if (c.value >= kInvalidByte) {
      out.push_back(static_cast<char>(c.value - kInvalidByte));
    } else {
      append_utf8(out, c.value);
    }
  }
  return out;
}

}  // namespace ruv
