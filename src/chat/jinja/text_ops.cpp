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

MarkedText mapped(const MarkedText& text, uint32_t (*change)(uint32_t c, uint32_t before)) {
  MarkedText out;
  uint32_t before = 0;
  text.for_each_run([&](std::string_view run, bool from_user) {
    std::string changed;
    for (size_t at = 0; at < run.size();) {
      const CodePoint c = decode_utf8(run, at);
      if (c.valid) {
        append_utf8(changed, change(c.value, before));
      } else {
        changed += run[at];
      }
      before = c.value;
      at += c.size;
    }
    out.append(changed, from_user);
  });
  out.html_safe = text.html_safe;
  return out;
}

MarkedText uppercased(const MarkedText& text) {
  return mapped(text, [](uint32_t c, uint32_t) { return to_upper(c); });
}

MarkedText lowercased(const MarkedText& text) {
  return mapped(text, [](uint32_t c, uint32_t) { return to_lower(c); });
}

MarkedText capitalized(const MarkedText& text) {
  // Code point 0 is what `before` is only at the start.
  return mapped(
      text, [](uint32_t c, uint32_t before) { return before == 0 ? to_upper(c) : to_lower(c); });
}

MarkedText titled(const MarkedText& text) {
  return mapped(text, [](uint32_t c, uint32_t before) {
    return is_letter(before) ? to_lower(c) : to_upper(c);
  });
}

MarkedText word_titled(const MarkedText& text) {
  return mapped(text, [](uint32_t c, uint32_t before) {
    const bool begins = before == 0 || is_space(before) || before == '-' || before == '(' ||
                        before == '{' || before == '[' || before == '<';
    return begins ? to_upper(c) : to_lower(c);
  });
}

MarkedText padded(const MarkedText& text, size_t left, size_t right, std::string_view fill) {
  MarkedText out;
  for (size_t i = 0; i < left; ++i) out.append(fill, false);
  out.append(text);
  for (size_t i = 0; i < right; ++i) out.append(fill, false);
  return out;
}

}  // namespace ruv::jinja
