// Everything works on bytes where it may, and on code points where Python counts characters.
#include "chat/jinja/text_ops.h"

#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/letters.h"

namespace ruv::jinja {

namespace {

bool has_character(std::string_view set, std::string_view character) {
  for (size_t at = 0; at < set.size(); at += decode_utf8(set, at).size) {
    if (set.substr(at).starts_with(character)) return true;
  }
  return false;
}

}  // namespace

// Works on characters, so a set of several-byte characters is safe.
MarkedText stripped(const MarkedText& text, const MarkedText* characters, StripSide side) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  const bool left = side != StripSide::right;
  const bool right = side != StripSide::left;
  if (!characters) {
    if (left) begin = leading_space(bytes);
    if (right) end -= trailing_space(bytes.substr(begin));
  } else {
    const std::string_view set = characters->bytes();
    while (left && begin < end) {
      const size_t size = decode_utf8(bytes, begin).size;
      if (!has_character(set, bytes.substr(begin, size))) break;
      begin += size;
    }
    while (right && end > begin) {
      const size_t size = last_character_size(bytes, end);
      if (!has_character(set, bytes.substr(end - size, size))) break;
      end -= size;
    }
  }
  MarkedText out = text.slice(begin, end);
  out.html_safe = text.html_safe;
  return out;
}

// An empty `from` inserts `to` between all characters, as in Python.
Result<MarkedText> replaced(const MarkedText& text, const MarkedText& from, const MarkedText& to,
                            int64_t limit, RenderMeter& meter) {
  TRY(meter.spend_search(text.size(), from.size()));
  const std::string_view bytes = text.bytes();
  MarkedText out;
  size_t begin = 0;
  size_t search = 0;
  for (; limit != 0; --limit) {
    const size_t at = bytes.find(from.bytes(), search);
    if (at == std::string_view::npos) break;
    TRY(meter.spend());
    TRY(meter.check_size(out.size() + (at - begin) + to.size()));
    out.append_slice(text, begin, at);
    out.append(to);
    begin = at + from.size();
    search = begin;
    if (from.empty()) {  // between every two characters, and at both ends
      if (at >= bytes.size()) break;
      search = at + decode_utf8(bytes, at).size;
    }
  }
  out.append_slice(text, begin, text.size());
  TRY(meter.spend_text(out.size()));
  return out;
}

namespace {

// Collects pieces of a text, paying for each: a small piece costs far more memory than its bytes.
class TextPieces {
 public:
  TextPieces(const MarkedText& text, RenderMeter& meter) : text_(text), meter_(meter) {}
  Status add(size_t begin, size_t end) {
    TRY(meter_.spend(4));
    pieces_.emplace_back(text_.slice(begin, end));
    return Status();
  }
  std::vector<Datum> take() { return std::move(pieces_); }
  std::vector<Datum> take_reversed() {
    std::reverse(pieces_.begin(), pieces_.end());
    return std::move(pieces_);
  }

 private:
  const MarkedText& text_;
  RenderMeter& meter_;
  std::vector<Datum> pieces_;
};

// Runs of white space separate; there are no empty parts.
Result<std::vector<Datum>> split_by_space(std::string_view bytes, int64_t limit,
                                          TextPieces pieces) {
  size_t at = leading_space(bytes);
  while (at < bytes.size()) {
    if (limit-- == 0) {
      TRY(pieces.add(at, bytes.size()));
      break;
    }
    size_t end = at;
    while (end < bytes.size()) {
      const CodePoint c = decode_utf8(bytes, end);
      if (c.valid && is_space(c.value)) break;
      end += c.size;
    }
    TRY(pieces.add(at, end));
    at = end + leading_space(bytes.substr(end));
  }
  return pieces.take();
}

Result<std::vector<Datum>> rsplit_by_space(std::string_view bytes, int64_t limit,
                                           TextPieces pieces) {
  size_t end = bytes.size() - trailing_space(bytes);
  while (end > 0) {
    if (limit-- == 0) {
      TRY(pieces.add(0, end));
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      const size_t size = last_character_size(bytes, begin);
      const CodePoint c = decode_utf8(bytes, begin - size);
      if (c.valid && is_space(c.value)) break;
      begin -= size;
    }
    TRY(pieces.add(begin, end));
    end = begin - trailing_space(bytes.substr(0, begin));
  }
  return pieces.take_reversed();
}

Result<std::vector<Datum>> split_at(std::string_view bytes, std::string_view separator,
                                    int64_t limit, TextPieces pieces) {
  size_t begin = 0;
  for (; limit != 0; --limit) {
    const size_t at = bytes.find(separator, begin);
    if (at == std::string_view::npos) break;
    TRY(pieces.add(begin, at));
    begin = at + separator.size();
  }
  TRY(pieces.add(begin, bytes.size()));
  return pieces.take();
}

Result<std::vector<Datum>> rsplit_at(std::string_view bytes, std::string_view separator,
                                     int64_t limit, TextPieces pieces) {
  size_t end = bytes.size();
  for (; limit != 0 && end >= separator.size(); --limit) {
    const size_t at = bytes.rfind(separator, end - separator.size());
    if (at == std::string_view::npos) break;
    TRY(pieces.add(at + separator.size(), end));
    end = at;
  }
  TRY(pieces.add(0, end));
  return pieces.take_reversed();
}

}  // namespace

Result<std::vector<Datum>> split(const MarkedText& text, const std::string* separator,
                                 int64_t limit, bool from_right, RenderMeter& meter) {
  TRY(meter.spend_search(text.size(), separator ? separator->size() : 0));
  TextPieces pieces(text, meter);
  const std::string_view bytes = text.bytes();
  if (!separator) {
    return from_right ? rsplit_by_space(bytes, limit, std::move(pieces))
                      : split_by_space(bytes, limit, std::move(pieces));
  }
  return from_right ? rsplit_at(bytes, *separator, limit, std::move(pieces))
                    : split_at(bytes, *separator, limit, std::move(pieces));
}

// At every line boundary that Python knows, not only \n.
Result<std::vector<Datum>> split_lines(const MarkedText& text, bool keep_ends, RenderMeter& meter) {
  TRY(meter.spend_text(text.size()));
  TextPieces pieces(text, meter);
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode_utf8(bytes, at);
    const bool breaks = (c.value >= 0x0A && c.value <= 0x0D) ||
                        (c.value >= 0x1C && c.value <= 0x1E) || c.value == 0x85 ||
                        c.value == 0x2028 || c.value == 0x2029;
    size_t end = at + c.size;
    if (breaks) {
      if (c.value == '\r' && end < bytes.size() && bytes[end] == '\n') ++end;
      TRY(pieces.add(begin, keep_ends ? end : at));
      begin = end;
    }
    at = end;
  }
  if (begin < bytes.size()) TRY(pieces.add(begin, bytes.size()));
  return pieces.take();
}

// Maps character by character; the result has the mark of each character.
MarkedText mapped(const MarkedText& text, void (*change)(std::string& out, const LetterAt& at)) {
  MarkedText out;
  LetterAt letter{0, 0, text.bytes(), 0};
  std::string changed;
  text.for_each_run([&](std::string_view run, bool from_user) {
    changed.clear();
    for (size_t at = 0; at < run.size();) {
      const CodePoint c = decode_utf8(run, at);
      letter.c = c.value;
      if (c.valid) {
        change(changed, letter);
      } else {
        changed += run[at];
      }
      letter.before = c.value;
      letter.offset += c.size;
      at += c.size;
    }
    out.append(changed, from_user);
  });
  out.html_safe = text.html_safe;
  return out;
}

namespace {

// A sigma that ends a word has a form of its own.
bool is_final(const LetterAt& letter) {
  bool cased_before = false;
  for (size_t end = letter.offset; end > 0;) {
    end -= last_character_size(letter.text, end);
    const uint32_t c = decode_utf8(letter.text, end).value;
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  if (!cased_before) return false;
  for (size_t at = letter.offset + 2; at < letter.text.size();) {
    const CodePoint c = decode_utf8(letter.text, at);
    if (!is_case_ignorable(c.value)) return !is_cased(c.value);
    at += c.size;
  }
  return true;
}

// Lower case with the special final sigma.
void append_lower_in_text(std::string& out, const LetterAt& letter) {
  constexpr uint32_t kSigma = 0x3A3;
  if (letter.c == kSigma) {
    append_utf8(out, is_final(letter) ? 0x3C2 : 0x3C3);
  } else {
    append_lower(out, letter.c);
  }
}

}  // namespace

MarkedText uppercased(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) { append_upper(out, at.c); });
}

MarkedText lowercased(const MarkedText& text) { return mapped(text, append_lower_in_text); }

MarkedText case_folded(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) { append_folded(out, at.c); });
}

// The first letter in title case, the others in lower case.
MarkedText capitalized(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) {
    at.offset == 0 ? append_title(out, at.c) : append_lower_in_text(out, at);
  });
}

MarkedText case_swapped(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) {
    if (is_upper(at.c)) return append_lower_in_text(out, at);
    is_lower(at.c) ? append_upper(out, at.c) : append_utf8(out, at.c);
  });
}

MarkedText titled(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) {
    is_cased(at.before) ? append_lower_in_text(out, at) : append_title(out, at.c);
  });
}

MarkedText word_titled(const MarkedText& text) {
  return mapped(text, [](std::string& out, const LetterAt& at) {
    const uint32_t before = at.before;
    const bool begins = at.offset == 0 || is_space(before) || before == '-' || before == '(' ||
                        before == '{' || before == '[' || before == '<';
    begins ? append_upper(out, at.c) : append_lower_in_text(out, at);
  });
}

// Copies the fill with its own mark.
MarkedText padded(const MarkedText& text, size_t left, size_t right, const MarkedText& fill) {
  MarkedText out;
  for (size_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (size_t i = 0; i < right; ++i) out.append(fill);
  return out;
}

}  // namespace ruv::jinja
