// Texts of models, tools and servers as a person may see them on a terminal: nothing in them moves
// the cursor, changes colours, hides itself or turns what is beside it around.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv {

constexpr size_t kWholeText = SIZE_MAX;

// The text on one line. Breaks and blanks are one space; other control characters, and characters
// that are not seen or change directions, are written as <U+202E>. Beyond `max_characters` it is
// cut, and says so with "…".
std::string shown_text(std::string_view text, size_t max_characters);
// All of it, line by line, each with a line break at its end.
std::string shown_lines(std::string_view text);

}  // namespace ruv
