// A text is first cut into blocks, paragraphs and headings; blocks are joined while they fit, and
// one that is too long alone is cut at the last good place of each stretch. A heading and the first
// block of a page begin a chunk.
#include "memory/chunks.h"

#include <algorithm>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr int64_t kLeastBytes = 16;
constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kLeastFittedBytes = 32;  // what is tried before a text is refused
constexpr int kMostHeadingLevel = 6;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Lines that belong together; `level` above 0: a heading, by a mark or by its '#'.
struct Block {
  size_t first, end;
  int level;
  int64_t page;
  bool is_marked = false;
};

// 1 to 6 of '#', a space and a text.
int heading_level(std::string_view line) {
  const size_t n = line.find_first_not_of('#');
  if (n == line.npos || n == 0 || n > kMostHeadingLevel || line[n] != ' ') return 0;
  return line.find_first_not_of(" \t\r#", n) == line.npos ? 0 : static_cast<int>(n);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view heading_text(std::string_view line) {
  line = trimmed(line.substr(line.find_first_not_of('#')));
  while (!line.empty() && line.back() == '#') line.remove_suffix(1);
  return trimmed(line);
}

// Whether a line opens or closes a block of code, in which '#' begins no heading.
bool is_fence(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("```") || line.starts_with("~~~");
}

std::vector<Block> blocks_of(std::string_view text, TextForm form,
                             std::span<const TextMark> marks) {
  std::vector<Block> blocks;
  const bool is_markdown = form == TextForm::markdown;
  bool is_open = false, is_code = false;
  int64_t page = 0;
  size_t next_mark = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    size_t end = line_end;  // without blanks
    while (end > at && is_blank(text[end - 1])) --end;
    int level = is_markdown && !is_code ? heading_level(line) : 0;
    bool is_marked = false;
    for (; next_mark < marks.size() && marks[next_mark].at <= static_cast<int64_t>(at);
         ++next_mark) {
      is_marked = marks[next_mark].level > 0;
      if (is_marked) level = std::min(marks[next_mark].level, kMostHeadingLevel);
      if (marks[next_mark].page > 0) is_open = false;
      if (marks[next_mark].page > 0) page = marks[next_mark].page;
    }
    if (is_markdown && is_fence(line)) is_code = !is_code;
    if (trimmed(line).empty()) {
      is_open = is_open && is_code;
    } else if (level > 0) {
      blocks.push_back({at, end, level, page, is_marked});
      is_open = false;
    } else if (is_open) {
      blocks.back().end = end;
    } else {
      blocks.push_back({at, end, 0, page});
      is_open = true;
    }
    at = std::min(line_end + 1, text.size());
  }
  return blocks;
}

// Whether a sentence ends before `at` as Chinese and Japanese have it, with no blank after it.
bool ends_wide_sentence(std::string_view text, size_t at) {
  if (at < 3) return false;
  const std::string_view mark = text.substr(at - 3, 3);
  return mark == "\u3002" || mark == "\uFF01" || mark == "\uFF1F";
}

// Where a stretch that begins at `first` and may not pass `most` ends best: after a line, a
// sentence or a word in its second half, else before a character.
size_t good_end(std::string_view text, size_t first, size_t most) {
  const size_t half = first + (most - first) / 2;
  size_t line = 0, sentence = 0, word = 0;
  for (size_t at = half; at < most; ++at) {
    const char c = text[at];
    if (ends_wide_sentence(text, at + 1)) sentence = at + 1;
    if (!is_blank(c)) continue;
    word = at + 1;
    const char before = text[at - 1];
    if (before == '.' || before == '!' || before == '?') sentence = at + 1;
    if (c == '\n') line = at + 1;
  }
  for (const size_t end : {line, sentence, word}) {
    if (end > first) return end;
  }
  while (most > first + 1 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

// Where the next stretch begins: `overlap` bytes before the end of this one, at a word or a
// sentence.
size_t next_first(std::string_view text, size_t first, size_t end, size_t overlap) {
  if (overlap == 0 || end - first <= overlap) return end;
  for (size_t at = end - overlap; at < end; ++at) {
    if (is_blank(text[at - 1]) && !is_blank(text[at])) return at;
    if (ends_wide_sentence(text, at)) return at;
  }
  return end;
}

class Cutter {
 public:
  Cutter(std::string_view text, const ChunkOptions& options)
      : text_(text),
        most_(static_cast<size_t>(options.most_bytes)),
        overlap_(static_cast<size_t>(options.overlap_bytes)) {}

  std::vector<TextChunk> cut(std::span<const Block> blocks) {
    for (const Block& block : blocks) {
      if (block.level > 0) {
        flush();
        enter(block);
      }
      const bool fits = has_open_ && block.page == page_ && block.end - first_ <= most_;
      if (!fits) flush();
      if (!has_open_) first_ = block.first;
      page_ = block.page;
      has_open_ = true;
      end_ = block.end;
    }
    flush();
    return std::move(chunks_);
  }

 private:
  void enter(const Block& heading) {
    while (!path_.empty() && path_.back().level >= heading.level) path_.pop_back();
    path_.push_back(heading);
  }

  std::string headings() const {
    std::string all;
    for (const Block& heading : path_) {
      if (!all.empty()) all += " > ";
      const std::string_view line = text_.substr(heading.first, heading.end - heading.first);
      all += heading.is_marked ? trimmed(line) : heading_text(line);
    }
    return all;
  }

  void flush() {
    if (!has_open_) return;
    has_open_ = false;
    size_t first = first_;
    while (end_ - first > most_) {
      const size_t end = good_end(text_, first, first + most_);
      add(first, end);
      first = next_first(text_, first, end, overlap_);
    }
    add(first, end_);
  }

  void add(size_t first, size_t end) {
    while (end > first && is_blank(text_[end - 1])) --end;
    while (end > first && is_blank(text_[first])) ++first;
    if (end == first) return;
    chunks_.push_back({static_cast<int64_t>(first), static_cast<int64_t>(end), headings(), page_});
  }

  std::string_view text_;
  size_t most_, overlap_;
  std::vector<Block> path_;  // headings
  bool has_open_ = false;
  size_t first_ = 0, end_ = 0;
  int64_t page_ = 0;
  std::vector<TextChunk> chunks_;
};

}  // namespace

Result<std::vector<TextChunk>> chunks_of(std::string_view text, const ChunkOptions& options,
                                         std::span<const TextMark> marks) {
  if (options.most_bytes < kLeastBytes || options.most_bytes > kMostBytes) {
    return fail(Code::invalid, "most_bytes is {}, not {} to {}", options.most_bytes, kLeastBytes,
                kMostBytes);
  }
  if (options.overlap_bytes < 0 || options.overlap_bytes >= options.most_bytes / 2) {
    return fail(Code::invalid, "overlap_bytes is {}, not below half of most_bytes, {}",
                options.overlap_bytes, options.most_bytes);
  }
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid) return fail(Code::invalid, "byte {}: not UTF-8", at);
    at += point.size;
  }
  if (!std::ranges::is_sorted(marks, {}, &TextMark::at)) {
    return fail(Code::invalid, "marks that do not ascend");
  }
  return Cutter(text, options).cut(blocks_of(text, options.form, marks));
}

std::string embedded_text(std::string_view headings, std::string_view text) {
  std::string one(headings);
  if (!one.empty()) one += "\n";
  one += text;
  return one;
}

Result<std::vector<TextChunk>> chunks_that_fit(const ReadText& read, ChunkOptions options,
                                               int64_t most_tokens, const CountTokens& count) {
  const std::string_view text = read.text;
  while (true) {
    std::vector<TextChunk> chunks = TRY(chunks_of(text, options, read.marks));
    int64_t longest = 0;
    for (const TextChunk& chunk : chunks) {
      const auto first = static_cast<size_t>(chunk.first), end = static_cast<size_t>(chunk.end);
      const std::string one = embedded_text(chunk.headings, text.substr(first, end - first));
      longest = std::max(longest, TRY(count(one)));
    }
    if (longest <= most_tokens) return chunks;
    if (options.most_bytes <= kLeastFittedBytes) {
      return fail(Code::invalid,
                  "chunks of {} bytes, headings apart, have {} tokens; at most {} are possible",
                  options.most_bytes, longest, most_tokens);
    }
    const int64_t before = options.most_bytes;
    options.most_bytes =
        std::max(kLeastFittedBytes, std::min(before * most_tokens / longest, before * 9 / 10));
    options.overlap_bytes =
        std::min(options.overlap_bytes * options.most_bytes / before, options.most_bytes / 2 - 1);
  }
}

}  // namespace ruv
