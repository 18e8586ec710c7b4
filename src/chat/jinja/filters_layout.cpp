// The filter wordwrap: Python's textwrap.wrap on each line, for the options that Jinja passes.
#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/text_ops.h"

namespace ruv::jinja {

namespace {

// A line as characters, so that widths and looking around are simple.
class WrapLine {
 public:
  explicit WrapLine(const MarkedText& text) : text_(text) {
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = decode_utf8(text.bytes(), at);
      letters_.push_back(c.value);
      starts_.push_back(at);
      at += c.size;
    }
    starts_.push_back(text.size());
  }

  struct Chunk {
    size_t begin, end;
    size_t size() const { return end - begin; }
  };

  bool is_blank(const Chunk& chunk) const {
    return std::all_of(letters_.begin() + static_cast<std::ptrdiff_t>(chunk.begin),
                       letters_.begin() + static_cast<std::ptrdiff_t>(chunk.end), is_space);
  }
  void append(MarkedText& out, const Chunk& chunk) const {
    out.append_slice(text_, starts_[chunk.begin], starts_[chunk.end]);
  }

  // Runs of white space and the words between them; with hyphens, words also end after them.
  std::vector<Chunk> chunks(bool on_hyphens) const {
    std::vector<Chunk> out;
    for (size_t at = 0; at < letters_.size();) {
      size_t end = at + 1;
      if (is_blank_at(at)) {
        while (end < letters_.size() && is_blank_at(end)) ++end;
      } else if (on_hyphens && at > 0 && is_word_part(at - 1) && dash_end(at) > 0) {
        end = dash_end(at);
      } else {
        end = word_end(at, on_hyphens);
      }
      out.push_back({at, end});
      at = end;
    }
    return out;
  }

  // Where a word longer than `width` characters is cut.
  size_t cut(const Chunk& chunk, size_t width, bool on_hyphens) const {
    if (on_hyphens && chunk.size() > width) {
      size_t hyphen = chunk.begin + width;
      while (hyphen > chunk.begin && letters_[hyphen - 1] != '-') --hyphen;
      // A character other than a hyphen must precede it.
      for (size_t i = chunk.begin; hyphen > chunk.begin + 1 && i + 1 < hyphen; ++i)
        if (letters_[i] != '-') return hyphen;
    }
    return chunk.begin + width;
  }

 private:
  bool is_blank_at(size_t i) const {
    const uint32_t c = letters_[i];
    return c == ' ' || (c >= 9 && c <= 13);
  }
  bool is_word_part(size_t i) const {
    static constexpr std::string_view kSigns = "!\"'&.,?";
    const uint32_t c = letters_[i];
    return is_word(c) || (c < 0x80 && kSigns.find(static_cast<char>(c)) != std::string_view::npos);
  }
  bool is_letter_at(size_t i) const {
    return i < letters_.size() && is_word(letters_[i]) && !is_decimal(letters_[i]);
  }
  // The end of two or more hyphens at i that a word follows, or 0.
  size_t dash_end(size_t i) const {
    size_t end = i;
    while (end < letters_.size() && letters_[end] == '-') ++end;
    return end >= i + 2 && end < letters_.size() && is_word(letters_[end]) ? end : 0;
  }
  // Whether a word that began at `begin` may end after the hyphen at i.
  bool breaks_behind(size_t begin, size_t i) const {
    if (letters_[i] != '-' || i == begin) return false;
    const bool two = i >= 2 && is_letter_at(i - 2) && is_letter_at(i - 1);
    const bool around =
        i >= 3 && is_letter_at(i - 3) && letters_[i - 2] == '-' && is_word_part(i - 1);
    if (!two && !around) return false;
    if (!is_letter_at(i + 1)) return false;
    return is_letter_at(i + 2) ||
           (i + 3 < letters_.size() && letters_[i + 2] == '-' && is_letter_at(i + 3));
  }
  size_t word_end(size_t begin, bool on_hyphens) const {
    size_t i = begin + 1;
    for (; i < letters_.size() && !is_blank_at(i); ++i) {
      if (!on_hyphens) continue;
      if (breaks_behind(begin, i)) return i + 1;
      if (is_word_part(i - 1) && dash_end(i) > 0) return i;
    }
    return i;
  }

  const MarkedText& text_;
  std::vector<uint32_t> letters_;
  std::vector<size_t> starts_;
};

struct WrapOptions {
  size_t width;
  bool breaks_words;
  bool on_hyphens;
};

// Appends the wrapped line with `separator` between its parts.
void append_wrapped(MarkedText& out, const WrapLine& line, const WrapOptions& options,
                    const MarkedText& separator) {
  std::vector<WrapLine::Chunk> rest = line.chunks(options.on_hyphens);
  std::reverse(rest.begin(), rest.end());
  bool first = true;
  while (!rest.empty()) {
    if (!first && line.is_blank(rest.back())) rest.pop_back();
    std::vector<WrapLine::Chunk> taken;
    size_t length = 0;
    while (!rest.empty() && length + rest.back().size() <= options.width) {
      length += rest.back().size();
      taken.push_back(rest.back());
      rest.pop_back();
    }
    if (!rest.empty() && rest.back().size() > options.width) {
      if (options.breaks_words) {
        // On a full line this takes nothing, and it is the nothing that counts as blank below:
        // Python keeps the white space before it too.
        const size_t cut = line.cut(rest.back(), options.width - length, options.on_hyphens);
        taken.push_back({rest.back().begin, cut});
        rest.back().begin = cut;
      } else if (taken.empty()) {
        taken.push_back(rest.back());
        rest.pop_back();
      }
    }
    if (!taken.empty() && line.is_blank(taken.back())) taken.pop_back();
    if (taken.empty()) continue;
    if (!first) out.append(separator);
    first = false;
    for (const WrapLine::Chunk& chunk : taken) line.append(out, chunk);
  }
}

Result<Datum> wordwrap_filter(const BuiltinCall& call) {
  if (!call.subject.is_text())
    return fail(Code::corrupt, "wordwrap needs a text, not {}", type_name(call.subject));
  const MarkedText& text = *call.subject.text();
  const int64_t width = TRY(call.integer(0, 79));
  const TextPtr separator =
      call.has(2) && !call.given[2]->is_none() ? TRY(call.text(2)) : TRY(call.text(5, "\n"));
  // A character costs far more memory here than its bytes.
  TRY(call.meter().spend(static_cast<int64_t>(text.size())));
  MarkedText out;
  bool first = true;
  for (const Datum& line : TRY(split_lines(text, false, call.meter()))) {
    if (!first) out.append(*separator);
    first = false;
    if (line.text()->empty()) continue;
    if (width <= 0) return fail(Code::corrupt, "invalid width {} (must be > 0)", width);
    append_wrapped(out, WrapLine(*line.text()),
                   {static_cast<size_t>(width), call.flag(1, true), call.flag(3, true)},
                   *separator);
    TRY(call.meter().check_size(out.size()));
  }
  TRY(call.meter().spend_text(out.size()));
  return Datum(std::move(out));
}

constexpr BuiltinRow kLayoutRows[] = {
    {"wordwrap",
     wordwrap_filter,
     0,
     {"width", "break_long_words", "wrapstring", "break_on_hyphens"}},
};

}  // namespace

std::span<const BuiltinRow> layout_filters() { return kLayoutRows; }

}  // namespace ruv::jinja
