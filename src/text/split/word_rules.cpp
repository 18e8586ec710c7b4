// The matchers. White space is where the patterns look back: of a run of spaces the last one is
// left to the word that follows, and a run with a line end is cut after the last line end.
#include "text/split/word_rules.h"

namespace ruv::word_rules {

using namespace chars;

namespace {

size_t run_outside(std::string_view text, size_t at, CharSet none) {
  for (Char c = char_at(text, at); c.outside(none); c = char_at(text, at)) at += c.size;
  return at;
}

// Where a contraction that begins with the apostrophe at `at` ends, or `at`. Without case, the
// long s (U+017F) folds to s.
size_t contraction(std::string_view text, size_t at, bool any_case) {
  const auto folded = [&](size_t i) -> char {
    if (i >= text.size()) return '\0';
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  if (folded(at) != '\'') return at;
  const char first = folded(at + 1);
  const char second = folded(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  if (any_case && char_at(text, at + 1).value == 0x17F) return at + 3;
  return at;
}

// \s+(?!\S)|\s+ from a white-space character: all of a run at the end of the text, else all but
// its last character, else that one.
size_t spaces(std::string_view text, size_t at) {
  size_t end = at;
  size_t last = at;
  for (Char c = char_at(text, end); c.in(kSpace); c = char_at(text, end)) {
    last = end;
    end += c.size;
  }
  return end == text.size() || last == at ? end : last;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ : a run up to and with its last line end, else as spaces().
size_t lines_or_spaces(std::string_view text, size_t at) {
  size_t end = at;
  size_t after_line = at;
  for (Char c = char_at(text, end); c.in(kSpace); c = char_at(text, end)) {
    end += c.size;
    if (c.in(kNewline)) after_line = end;
  }
  return after_line > at ? after_line : spaces(text, at);
}

// ' ?' then one or more characters outside `none`, then line ends (and slashes); or `at`.
size_t marks_and_lines(std::string_view text, size_t at, CharSet none, bool slashes) {
  const size_t from = text[at] == ' ' ? at + 1 : at;
  size_t end = run_outside(text, from, none);
  if (end == from) return at;
  while (end < text.size() &&
         (text[end] == '\r' || text[end] == '\n' || (slashes && text[end] == '/'))) {
    ++end;
  }
  return end;
}

}  // namespace

size_t run_of(std::string_view text, size_t at, CharSet any, size_t max_length) {
  size_t n = 0;
  for (Char c = char_at(text, at); c.in(any) && n < max_length; c = char_at(text, at)) {
    at += c.size;
    ++n;
  }
  return at;
}

size_t gpt2(std::string_view text, size_t at) {
  if (text[at] == '\'') {
    const size_t end = contraction(text, at, false);
    if (end > at) return end;
  }
  const size_t from = text[at] == ' ' ? at + 1 : at;
  const Char c = char_at(text, from);
  if (c.in(kLetter)) return run_of(text, from, kLetter);
  if (c.in(kNumber)) return run_of(text, from, kNumber);
  if (c.outside(kSpace)) return run_outside(text, from, kSpace | kLetter | kNumber);
  return spaces(text, at);
}

size_t cl100k(std::string_view text, size_t at, CharSet letters, int max_digits) {
  const Char c = char_at(text, at);
  if (c.value == '\'') {
    const size_t end = contraction(text, at, true);
    if (end > at) return end;
  }
  if (c.in(letters)) return run_of(text, at, letters);
  if (c.in(kNumber)) return run_of(text, at, kNumber, static_cast<size_t>(max_digits));
  if (!c.in(kNewline)) {
    const size_t end = run_of(text, at + c.size, letters);
    if (end > at + c.size) return end;
  }
  const size_t end = marks_and_lines(text, at, kSpace | kNumber | letters, false);
  return end > at ? end : lines_or_spaces(text, at);
}

namespace {

constexpr CharSet kUpperLike = kUpper | kTitle | kModifier | kOtherLetter | kMark;
constexpr CharSet kLowerLike = kLower | kModifier | kOtherLetter | kMark;

// U*L+ from `at`, or `at`. When no small letter follows the run of U, the run is cut after its last
// character that is in both classes, as a backtracking engine would find.
size_t upper_then_lower(std::string_view text, size_t at) {
  size_t end = at;
  size_t after_both = at;
  for (Char c = char_at(text, end); c.in(kUpperLike); c = char_at(text, end)) {
    end += c.size;
    if (c.in(kLowerLike)) after_both = end;
  }
  const size_t lower_end = run_of(text, end, kLowerLike);
  return lower_end > end ? lower_end : after_both;
}

// U+L* from `at`, or `at`.
size_t upper_maybe_lower(std::string_view text, size_t at) {
  const size_t end = run_of(text, at, kUpperLike);
  return end == at ? at : run_of(text, end, kLowerLike);
}

// A word by its case, with one lead character where the pattern allows it; or `at`.
size_t cased_word(std::string_view text, size_t at) {
  const Char c = char_at(text, at);
  const bool may_lead = c.outside(kNewline | kLetter | kNumber);
  const size_t after_lead = at + c.size;
  for (const auto rule : {upper_then_lower, upper_maybe_lower}) {
    if (may_lead) {
      const size_t end = rule(text, after_lead);
      if (end > after_lead) return end;
    }
    const size_t end = rule(text, at);
    if (end > at) return end;
  }
  return at;
}

}  // namespace

size_t o200k(std::string_view text, size_t at, bool contractions, int max_digits) {
  const size_t word_end = cased_word(text, at);
  if (word_end > at) return contractions ? contraction(text, word_end, true) : word_end;
  if (char_at(text, at).in(kNumber)) {
    return run_of(text, at, kNumber, static_cast<size_t>(max_digits));
  }
  const size_t end = marks_and_lines(text, at, kSpace | kNumber | kLetter, true);
  return end > at ? end : lines_or_spaces(text, at);
}

size_t deepseek_v3(std::string_view text, size_t at) {
  constexpr CharSet kWord = kLetter | kMark;
  constexpr CharSet kSigns = kPunctuation | kSymbol;
  const Char c = char_at(text, at);
  if (c.value < 128 && c.in(kSigns)) {
    size_t end = at + 1;
    while (end < text.size() && static_cast<uint8_t>(text[end]) < 128 &&
           char_at(text, end).in(kLetter)) {
      ++end;
    }
    if (end > at + 1) return end;
  }
  if (c.in(kLetter)) return run_of(text, at, kWord);
  if (c.outside(kNewline | kSigns)) {
    const size_t end = run_of(text, at + c.size, kWord);
    if (end > at + c.size) return end;
  }
  if (c.in(kMark)) return run_of(text, at, kWord);
  const size_t from = c.value == ' ' ? at + 1 : at;
  const size_t end = run_of(text, from, kSigns);
  if (end > from) return run_of(text, end, kNewline);
  return c.in(kSpace) ? lines_or_spaces(text, at) : at;
}

}  // namespace ruv::word_rules
