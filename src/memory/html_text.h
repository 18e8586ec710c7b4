// The text of a page of HTML that its reader sees, and which of its lines are headings.
#pragma once

#include <string_view>

#include "memory/chunks.h"

namespace ruv {

// Paragraphs have an empty line between them, blanks are one space, entities are characters, and a
// mark has each heading. Without scripts, styles, comments, attributes, what is shown in the place
// of what cannot be shown (noscript, video), and elements with the attribute `hidden` or the style
// "display: none"; style sheets are not read. Any bytes give some text, as with browsers: linear
// time, no recursion, and at most three bytes for each of the page's. Fails: invalid (a page that
// is not UTF-8, unless it says that it is Windows-1252 or ISO 8859-1; UTF-16).
Result<ReadText> read_html(std::string_view html);

}  // namespace ruv
