// NFC in three steps (Unicode annex 15): decompose each character, order marks by their combining
// class, compose. utf8proc does the first and the last; its own ordering is quadratic.
#include "text/normalize/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace ruv {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

void append_decomposed(CodePoints& out, uint32_t c) {
  // The longest canonical decomposition has 4 code points; room is left for later versions.
  utf8proc_int32_t buffer[32];
  int boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t n =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer, 32, options, &boundary);
  CHECK(n >= 0 && n <= 32);
  out.insert(out.end(), buffer, buffer + n);
}

void order_marks(CodePoints& text) {
  for (size_t i = 0; i < text.size();) {
    if (combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](utf8proc_int32_t a, utf8proc_int32_t b) {
                       return combining_class(a) < combining_class(b);
                     });
    i = end;
  }
}

void flush(CodePoints& pending, std::string& out) {
  if (pending.empty()) return;
  order_marks(pending);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t n = utf8proc_normalize_utf32(
      pending.data(), static_cast<utf8proc_ssize_t>(pending.size()), options);
  CHECK(n >= 0);
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    append_utf8(out, static_cast<uint32_t>(pending[static_cast<size_t>(i)]));
  }
  pending.clear();
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  // U+0300 begins with the byte 0xCC; every lead byte below it belongs to a smaller character.
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0xCC; });
}

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  CodePoints pending;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (c.valid) {
      append_decomposed(pending, c.value);
    } else {
      flush(pending, out);
      out.push_back(text[i]);
    }
    i += c.size;
  }
  flush(pending, out);
  return out;
}

}  // namespace ruv
