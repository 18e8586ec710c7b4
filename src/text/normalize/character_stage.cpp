// Runs of ASCII go through one table of 128 bytes for all steps together. What lies between them
// goes through the steps as characters, together with the ASCII character before it, since a mark
// may combine with it: no normal form lets a character change what follows a kept ASCII character.
#include <utf8proc.h>

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"
#include "text/normalize/char_sets.h"
#include "text/normalize/normal_form.h"
#include "text/normalize/stage.h"
#include "text/read_char.h"

namespace ruv {
namespace {

constexpr uint8_t kDropped = 0xFF;
constexpr uint32_t kDroppedChar = 0x7FFFFFFF;

// Lower case letters added by Unicode 16 and 17: [first, last] moves by `step`.
struct NewCase {
  uint32_t first;
  uint32_t last;
  int32_t step;
};
constexpr NewCase kNewCases[] = {
    {0x1C89, 0x1C89, 1},      {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},      {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},      {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},      {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
    {0x10D50, 0x10D65, 0x20}, {0x16EA0, 0x16EB8, 0x1B},
};

// Lower case of one character, by utf8proc and the table above.
uint32_t lower(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  if (c >= 0x1C89) {
    for (const NewCase& letters : kNewCases) {
      if (c >= letters.first && c <= letters.last) {
        return static_cast<uint32_t>(static_cast<int32_t>(c) + letters.step);
      }
    }
  }
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

// BERT's clean_text for one character.
uint32_t cleaned(uint32_t c) {
  if (is_bert_control(c)) return kDroppedChar;
  return is_white_space(c) ? ' ' : c;
}

// SentencePiece's nmt rules for one character.
uint32_t nmt(uint32_t c) {
  if ((c >= 1 && c <= 8) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F) {
    return kDroppedChar;
  }
  const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  return space ? ' ' : c;
}

// The steps that map a character to at most one.
uint32_t mapped(const NormalizerStep& step, uint32_t c) {
  switch (step.kind) {
    case NormalizerKind::lowercase:
      return lower(c);
    case NormalizerKind::strip_accents:
      return (step.pattern == "M" ? is_mark(c) : is_nonspacing_mark(c)) ? kDroppedChar : c;
    case NormalizerKind::clean_text:
      return cleaned(c);
    case NormalizerKind::nmt:
      return nmt(c);
    default:
      return c;
  }
}

std::optional<NormalForm> form_of(NormalizerKind kind) {
  switch (kind) {
    case NormalizerKind::nfc:
      return NormalForm::c;
    case NormalizerKind::nfd:
      return NormalForm::d;
    case NormalizerKind::nfkc:
      return NormalForm::kc;
    case NormalizerKind::nfkd:
      return NormalForm::kd;
    default:
      return std::nullopt;
  }
}

uint64_t load8(const char* at) {
  uint64_t eight = 0;
  std::memcpy(&eight, at, 8);
  return eight;
}

constexpr uint64_t kOnes = 0x0101010101010101U;
constexpr uint64_t kHighs = 0x8080808080808080U;

// High bits where ASCII bytes are >= `from`. Requires: no high bit in `eight`.
constexpr uint64_t at_least(uint64_t eight, uint8_t from) {
  return (eight + kOnes * (0x80U - from)) & kHighs;
}

class CharacterStage final : public NormalizerStage {
 public:
  explicit CharacterStage(std::span<const NormalizerStep> steps);

  bool may_change(std::string_view text) const override;
  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override;

 private:
  struct Work {
    std::vector<OriginChar> chars;
    std::vector<OriginChar> scratch;
  };

  bool drops(char c) const { return ascii_[static_cast<uint8_t>(c) & 0x7F] == kDropped; }
  bool is_ascii(char c) const { return static_cast<uint8_t>(c) < 0x80; }
  // The end of the ASCII from `at` on that no step changes.
  size_t plain_end(std::string_view text, size_t at) const;
  size_t put_ascii(std::string_view text, size_t at, size_t end, NormalizedText& out) const;
  void run_steps(Work& work) const;
  bool changes(uint32_t c) const;

  std::vector<NormalizerStep> steps_;
  std::array<uint8_t, 128> ascii_{};
  bool plain_graphic_ = true;   // no step changes ' ' to '@' and '[' to '~'
  bool letters_lower_ = false;  // 'A' to 'Z' become small letters
  bool keeps_letters_ = true;   // or stay
  std::optional<NormalForm> only_form_;
};

CharacterStage::CharacterStage(std::span<const NormalizerStep> steps)
    : steps_(steps.begin(), steps.end()) {
  for (uint32_t c = 0; c < 128; ++c) {
    uint32_t now = c;
    for (const NormalizerStep& step : steps_) {
      if (now != kDroppedChar) now = mapped(step, now);
    }
    CHECK(now < 128 || now == kDroppedChar);
    ascii_[c] = now < 128 ? static_cast<uint8_t>(now) : kDropped;
    const bool letter = c >= 'A' && c <= 'Z';
    if (letter) {
      letters_lower_ = now == c + 0x20;
      keeps_letters_ = now == c;
    } else if (c >= ' ' && c < 0x7F) {
      plain_graphic_ = plain_graphic_ && now == c;
    }
  }
  if (steps_.size() == 1) only_form_ = form_of(steps_[0].kind);
}

// Eight bytes at a time when all printable ASCII is unchanged.
size_t CharacterStage::plain_end(std::string_view text, size_t at) const {
  if (plain_graphic_) {
    while (at + 8 <= text.size()) {
      const uint64_t eight = load8(text.data() + at);
      if ((eight & kHighs) != 0) break;
      uint64_t odd = (at_least(eight, ' ') ^ kHighs) | at_least(eight, 0x7F);
      if (!keeps_letters_) odd |= at_least(eight, 'A') & ~at_least(eight, 'Z' + 1);
      if (odd != 0) break;
      at += 8;
    }
  }
  while (at < text.size() && is_ascii(text[at]) &&
         ascii_[static_cast<uint8_t>(text[at])] == static_cast<uint8_t>(text[at])) {
    ++at;
  }
  return at;
}

// Whether any step could change this character.
bool CharacterStage::changes(uint32_t c) const {
  for (const NormalizerStep& step : steps_) {
    if (step.kind == NormalizerKind::space_ideographs) {
      if (is_bert_ideograph(c)) return true;
    } else if (mapped(step, c) != c || c == 0x130) {
      return true;
    }
  }
  return false;
}

// Runs of unchanged ASCII are skipped; other characters are tested one by one.
bool CharacterStage::may_change(std::string_view text) const {
  if (only_form_) return !is_surely_normal(text, *only_form_);
  bool has_form = false;
  for (const NormalizerStep& step : steps_) has_form = has_form || form_of(step.kind);
  for (size_t at = 0; (at = plain_end(text, at)) < text.size();) {
    if (is_ascii(text[at])) return true;
    if (has_form) {
      for (const NormalizerStep& step : steps_) {
        const auto form = form_of(step.kind);
        if (form && !is_surely_normal(text.substr(at), *form)) return true;
      }
      has_form = false;
    }
    const CodePoint c = read_char(text, at);
    if (c.valid && changes(c.value)) return true;
    at += c.size;
  }
  return false;
}

// Bytes that steps drop or move one by one; `end` or the first byte that is not ASCII.
size_t CharacterStage::put_ascii(std::string_view text, size_t at, size_t end,
                                 NormalizedText& out) const {
  const size_t begin = out.text.size();
  out.text.resize(begin + end - at);
  char* to = out.text.data() + begin;
  while (at < end) {
    if (plain_graphic_ && (letters_lower_ || keeps_letters_)) {
      while (at + 8 <= end) {
        uint64_t eight = load8(text.data() + at);
        if ((eight & kHighs) != 0) break;
        if (((at_least(eight, ' ') ^ kHighs) | at_least(eight, 0x7F)) != 0) break;
        if (letters_lower_) {
          eight += (at_least(eight, 'A') & ~at_least(eight, 'Z' + 1)) >> 2;
        }
        std::memcpy(to, &eight, 8);
        to += 8;
        at += 8;
      }
      if (at >= end) break;
    }
    if (!is_ascii(text[at])) break;
    const uint8_t byte = ascii_[static_cast<uint8_t>(text[at++])];
    *to = static_cast<char>(byte);
    to += byte == kDropped ? 0 : 1;
  }
  out.text.resize(static_cast<size_t>(to - out.text.data()));
  return at;
}

// Runs the steps over a stretch of characters, one step after another.
void CharacterStage::run_steps(Work& work) const {
  for (const NormalizerStep& step : steps_) {
    if (const auto form = form_of(step.kind)) {
      normalize(work.chars, *form, work.scratch);
      continue;
    }
    const bool spaces = step.kind == NormalizerKind::space_ideographs;
    const bool lowers = step.kind == NormalizerKind::lowercase;
    work.scratch.clear();
    for (const OriginChar& c : work.chars) {
      if (c.value >= kInvalidByte) {
        work.scratch.push_back(c);
      } else if (spaces && is_bert_ideograph(c.value)) {
        work.scratch.push_back({' ', c.origin});
        work.scratch.push_back(c);
        work.scratch.push_back({' ', c.origin});
      } else if (lowers && c.value == 0x130) {
        work.scratch.push_back({'i', c.origin});
        work.scratch.push_back({0x307, c.origin});
      } else if (const uint32_t value = mapped(step, c.value); value != kDroppedChar) {
        work.scratch.push_back({value, c.origin});
      }
    }
    work.chars.swap(work.scratch);
  }
}

void append_char(std::string& out, uint32_t c) {
  if (c >= kInvalidByte) {
    out.push_back(static_cast<char>(c - kInvalidByte));
  } else {
    append_utf8(out, c);
  }
}

void CharacterStage::apply(std::string_view text, bool with_origin, NormalizedText& out) const {
  TextBuilder builder(out, with_origin);
  out.text.reserve(text.size());
  Work work;
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end + 8 <= text.size() && (load8(text.data() + end) & kHighs) == 0) end += 8;
    while (end < text.size() && is_ascii(text[end])) ++end;
    // The last kept ASCII character goes with what follows.
    if (end < text.size()) {
      while (end > at && drops(text[end - 1])) --end;
      if (end > at) --end;
    }
    if (with_origin) {
      for (; at < end; ++at) {
        const uint8_t byte = ascii_[static_cast<uint8_t>(text[at])];
        const auto c = static_cast<char>(byte);
        if (byte != kDropped) builder.put({&c, 1}, at);
      }
    } else {
      at = put_ascii(text, at, end, out);
    }
    if (at == text.size()) break;
    work.chars.clear();
    const size_t begin = at;
    while (at < text.size()) {
      const CodePoint c = read_char(text, at);
      if (at > begin && c.value < 0x80 && c.valid && !drops(text[at])) break;
      work.chars.push_back({c.valid ? c.value : kInvalidByte + static_cast<uint8_t>(text[at]),
                            static_cast<uint32_t>(at)});
      at += c.size;
    }
    run_steps(work);
    for (const OriginChar& c : work.chars) {
      if (!with_origin) {
        append_char(out.text, c.value);
        continue;
      }
      bytes.clear();
      append_char(bytes, c.value);
      builder.put(bytes, c.origin);
    }
  }
  builder.finish(text.size());
}

}  // namespace

bool is_character_step(NormalizerKind kind) {
  switch (kind) {
    case NormalizerKind::lowercase:
    case NormalizerKind::strip_accents:
    case NormalizerKind::clean_text:
    case NormalizerKind::space_ideographs:
    case NormalizerKind::nmt:
      return true;
    default:
      return form_of(kind).has_value();
  }
}

StagePtr make_character_stage(std::span<const NormalizerStep> steps) {
  return std::make_shared<CharacterStage>(steps);
}

}  // namespace ruv
