// What a character is and its other case, for the string methods of templates. Covers ASCII,
// Latin-1, Latin Extended-A, Greek, Cyrillic and Armenian; letters of other scripts count as
// letters without case.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv::jinja {

bool is_space(uint32_t c);      // Python's str.isspace
bool is_printable(uint32_t c);  // Python's str.isprintable, unassigned code points aside
bool is_letter(uint32_t c);
bool is_digit(uint32_t c);  // ASCII digits
bool is_word(uint32_t c);   // a letter, a digit or _: \w
uint32_t to_upper(uint32_t c);
uint32_t to_lower(uint32_t c);
inline bool is_upper(uint32_t c) { return to_lower(c) != c; }
inline bool is_lower(uint32_t c) { return to_upper(c) != c || c == 0xDF; }

// Bytes of white space at the start and at the end of `text`.
size_t leading_space(std::string_view text);
size_t trailing_space(std::string_view text);
// Bytes of the last character of text[0, end). Requires: end > 0.
size_t last_character_size(std::string_view text, size_t end);
size_t count_characters(std::string_view text);
// The byte reached from byte `from` after passing so many characters; text.size() at the end.
size_t byte_of_character(std::string_view text, size_t characters, size_t from);

}  // namespace ruv::jinja
