// Reads hostile patterns and runs texts through their automata: input is a byte with the options, a
// pattern, a zero byte, a text. Nothing may take long or fail other than with a Status, and a
// language and its complement must disagree about every text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/regex/pattern_language.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruv;
  if (size < 1) return 0;
  const uint8_t flags = data[0];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  const PatternOptions options = {
      .syntax = (flags & 1) != 0 ? PatternSyntax::re2 : PatternSyntax::ecma,
      .operators = (flags & 2) != 0,
      .any_case = (flags & 4) != 0,
      .dot_all = (flags & 8) != 0};
  const Result<Pattern> pattern = read_pattern(input.substr(0, end), options);
  if (!pattern) return 0;
  Languages languages(20000);
  const Result<Language> made =
      language_of(languages, *pattern, Utf8Alphabet(),
                  (flags & 16) != 0 ? PatternMatch::whole : PatternMatch::anywhere);
  if (!made) return 0;
  const Language other = languages.complement(*made);
  const bool in = languages.has_empty(languages.after(*made, text));
  const bool in_other = languages.has_empty(languages.after(other, text));
  if (languages.overflowed()) return 0;
  CHECK(in != in_other);
  if (in) CHECK(!languages.is_nothing(*made) || languages.overflowed());
  return 0;
}
