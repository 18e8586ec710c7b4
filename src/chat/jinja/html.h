// Escaping for HTML, as the filters escape and safe and sums of safe texts need it.
#pragma once

#include "chat/jinja/marked_text.h"

namespace ruv::jinja {

// & < > " ' replaced by their entities; the result is marked safe.
MarkedText html_escaped(const MarkedText& text);

}  // namespace ruv::jinja
