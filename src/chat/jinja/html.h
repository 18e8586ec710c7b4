// Escaping for HTML, as used by the filters escape and safe and by sums of safe texts.
#pragma once

#include "chat/jinja/marked_text.h"

namespace ruv::jinja {

// Replaces & < > " ' by their entities; the result is marked safe. Entities keep the mark of the
// character that they replace.
MarkedText html_escaped(const MarkedText& text);

}  // namespace ruv::jinja
