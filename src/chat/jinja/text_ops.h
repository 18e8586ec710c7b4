// String operations that filters and methods share. All keep the marks of the bytes they copy.
#pragma once

#include <optional>
#include <vector>

#include "chat/jinja/datum.h"

namespace ruv::jinja {

enum class StripSide : uint8_t { left = 1, right = 2, both = 3 };

// `characters`: the set to remove; null means white space.
MarkedText stripped(const MarkedText& text, const MarkedText* characters, StripSide side);
// At most `limit` replacements, all when negative. Fails: invalid, when the result is too long.
Result<MarkedText> replaced(const MarkedText& text, const MarkedText& from, const MarkedText& to,
                            int64_t limit, RenderMeter& meter);
// Python's str.split and rsplit with a separator that is not empty, or by white space when null.
// A negative limit means all. Fails: invalid, when the meter is spent.
Result<std::vector<Datum>> split(const MarkedText& text, const std::string* separator,
                                 int64_t limit, bool from_right, RenderMeter& meter);
Result<std::vector<Datum>> split_lines(const MarkedText& text, bool keep_ends, RenderMeter& meter);
// A character and its position.
struct LetterAt {
  uint32_t c = 0;
  uint32_t before = 0;  // the character before it, or 0
  std::string_view text;
  size_t offset = 0;
};
// Each character replaced by what change() appends.
MarkedText mapped(const MarkedText& text, void (*change)(std::string& out, const LetterAt& at));

MarkedText uppercased(const MarkedText& text);
MarkedText lowercased(const MarkedText& text);
MarkedText capitalized(const MarkedText& text);
MarkedText case_folded(const MarkedText& text);
MarkedText case_swapped(const MarkedText& text);
// Python's str.title: a letter after one without case begins a word.
MarkedText titled(const MarkedText& text);
// Jinja's filter title: only space - ( { [ < begin a word.
MarkedText word_titled(const MarkedText& text);
// `left` and `right` spaces or other fill characters around the text.
MarkedText padded(const MarkedText& text, size_t left, size_t right, const MarkedText& fill);

}  // namespace ruv::jinja
