// Properties and case mappings of characters, as Python's str methods see them. Categories and
// simple mappings are utf8proc's; mappings to several characters (ß to SS) have a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv::jinja {

// Python's predicates of one character: str.isspace and so on.
bool is_space(uint32_t c);
bool is_printable(uint32_t c);
bool is_letter(uint32_t c);   // isalpha
bool is_decimal(uint32_t c);  // digits of any script
bool is_digit(uint32_t c);    // decimals, superscripts, circled digits
bool is_numeric(uint32_t c);  // digits, fractions, Roman and CJK numerals
bool is_alphanumeric(uint32_t c);
bool is_word(uint32_t c);  // \w: alphanumeric or _
bool is_upper(uint32_t c);
bool is_lower(uint32_t c);
bool is_title(uint32_t c);  // ǅ and its like
bool is_cased(uint32_t c);
// Characters that are ignored when deciding whether a letter ends a word: marks, quotes, dots.
bool is_case_ignorable(uint32_t c);
bool starts_identifier(uint32_t c);
bool continues_identifier(uint32_t c);

// The case mappings of one character, which may give up to three.
void append_upper(std::string& out, uint32_t c);
void append_lower(std::string& out, uint32_t c);
void append_title(std::string& out, uint32_t c);
void append_folded(std::string& out, uint32_t c);

// The value of a decimal digit of any script, or -1.
int decimal_value(uint32_t c);

// Bytes of white space at the start and at the end of `text`.
size_t leading_space(std::string_view text);
size_t trailing_space(std::string_view text);
// Bytes of the last character of text[0, end). Requires: end > 0.
size_t last_character_size(std::string_view text, size_t end);
// Bytes of ASCII at the start.
size_t ascii_prefix(std::string_view text);
size_t count_characters(std::string_view text);
// The byte offset that is `characters` characters after byte `from`; text.size() at the end.
size_t byte_of_character(std::string_view text, size_t characters, size_t from);

}  // namespace ruv::jinja
