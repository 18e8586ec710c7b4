// Cutting a text into chunks that are embedded and found one by one: where paragraphs end, or else
// sentences, words, characters.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

enum class TextForm : uint8_t {
  plain,
  markdown,  // a heading begins a chunk, and is shown with each chunk below it
};

// A line of a text at which a chunk begins, where its reader knows more than the text shows.
struct TextMark {
  int64_t at = 0;    // the first byte of the line
  int level = 0;     // 1 to 6: the line is a heading of this level; 0: it is none
  int64_t page = 0;  // above 0: a page of this number begins
};

// What a reader makes of a file that is more than text.
struct ReadText {
  std::string text;             // UTF-8
  std::vector<TextMark> marks;  // ascending by `at`
};

struct ChunkOptions {
  TextForm form = TextForm::plain;
  // The longest chunk, in bytes. Shorter ones are found more precisely and say less.
  int64_t most_bytes = 1200;
  // Bytes at the end of a chunk that the next one begins with, where no paragraph ends: a sentence
  // that is cut is whole in one of them. Less than half of most_bytes.
  int64_t overlap_bytes = 120;
};

struct TextChunk {
  int64_t first = 0, end = 0;  // bytes of the text
  // The headings above it, from the topmost, with " > " between them; of plain text none.
  std::string headings;
  int64_t page = 0;  // on which it begins; 0: not known
};

// All of the text but blank space at the edges of chunks is in a chunk. Marks between two lines
// count for the later one. Linear time. Fails: invalid (options, by name; a text that is not UTF-8,
// by the byte; marks that do not ascend).
Result<std::vector<TextChunk>> chunks_of(std::string_view text, const ChunkOptions& options = {},
                                         std::span<const TextMark> marks = {});

// What a model is given of a chunk: its headings, if it has some, on a line of their own, then its
// text.
std::string embedded_text(std::string_view headings, std::string_view text);

// Chunks whose embedded texts have at most `most_tokens` each: they become shorter in proportion
// until they do. `count` gives the tokens of a text; each is counted once or a few times. Fails: as
// chunks_of, as `count`, invalid (a chunk of 32 bytes has more, with its headings).
using CountTokens = std::function<Result<int64_t>(const std::string& text)>;
Result<std::vector<TextChunk>> chunks_that_fit(const ReadText& read, ChunkOptions options,
                                               int64_t most_tokens, const CountTokens& count);

}  // namespace ruv
