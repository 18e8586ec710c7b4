#include "grammar/form/long_strings.h"

#include <algorithm>

namespace ruv {

// One more than the reach, so that the first character that a token does not reach is still there.
LongStrings::LongStrings(Languages& languages, const JsonText& text, size_t reach)
    : languages_(languages),
      character_(text.character()),
      quote_(languages.text("\"")),
      reach_(static_cast<uint32_t>(reach) + 1) {}

bool LongStrings::is_long(const Length& length) const {
  return length.min > reach_ || (length.max != Languages::kUnlimited && length.max > reach_);
}

Language LongStrings::characters(const Length& length) {
  const bool is_far = length.max > reach_;
  return languages_.repeat(character_, std::min(length.min, reach_),
                           is_far ? Languages::kUnlimited : length.max);
}

Language LongStrings::whole(const Length& length) {
  return languages_.concat(std::array{quote_, characters(length), quote_});
}

Language LongStrings::rest(const Length& length) {
  return languages_.concat(characters(length), quote_);
}

bool LongStrings::is_between(Language rest) const {
  const auto run = languages_.repetition_of(rest);
  return run && run->part == character_ && run->rest == quote_;
}

}  // namespace ruv
