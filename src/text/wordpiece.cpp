// Words are cached. BERT's splits are a table of bytes for ASCII and the sets of characters that
// BERT names for the rest.
#include "text/wordpiece.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/normalize/char_sets.h"
#include "text/read_char.h"
#include "text/split/schemes.h"

namespace ruv {
namespace {

enum class ByteClass : uint8_t { word, space, punctuation, wide };

constexpr std::array<ByteClass, 256> kByteClasses = [] {
  std::array<ByteClass, 256> classes{};
  for (size_t c = 0; c < 256; ++c) {
    const bool space = c == ' ' || (c >= 0x09 && c <= 0x0D);
    const bool punctuation = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
                             (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    classes[c] = c >= 0x80     ? ByteClass::wide
                 : space       ? ByteClass::space
                 : punctuation ? ByteClass::punctuation
                               : ByteClass::word;
  }
  return classes;
}();

// The first byte from `at` on that is not an ASCII letter or digit, or a place before it. Eight
// bytes at a time.
size_t skip_alphanumeric(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101U;
  constexpr uint64_t kHighs = 0x8080808080808080U;
  if constexpr (std::endian::native != std::endian::little) return at;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    const uint64_t low = eight & ~kHighs;
    // High bits where bytes are >= `from`.
    const auto at_least = [](uint64_t bytes, uint64_t from) {
      return bytes + kOnes * (0x80 - from);
    };
    const uint64_t small = low | kOnes * 0x20;
    const uint64_t letters = at_least(small, 'a') & ~at_least(small, 'z' + 1);
    const uint64_t digits = at_least(low, '0') & ~at_least(low, '9' + 1);
    const uint64_t other = (~(letters | digits) | eight) & kHighs;
    if (other != 0) return at + static_cast<size_t>(std::countr_zero(other)) / 8;
  }
  return at;
}

constexpr std::string_view kSpaces = R"(\s+)";

bool is_bert(std::span<const SplitStep> splits) {
  if (splits.empty()) return true;
  return splits.size() == 2 && splits[0].regex == kSpaces && !splits[0].invert &&
         splits[0].behavior == SplitBehavior::removed && !splits[1].invert &&
         splits[1].behavior == SplitBehavior::isolated &&
         splits[1].regex == patterns::kPunctuationSign;
}

// Punctuation before which HuggingFace's decoder removes the space.
bool joins_word_before(std::string_view token) {
  constexpr std::string_view kJoined[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
  return std::any_of(std::begin(kJoined), std::end(kJoined),
                     [&](std::string_view joined) { return token.starts_with(joined); });
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> WordPiece::create(TokenizerSpec spec) {
  std::optional<PreTokenizer> pre_tokenizer;
  if (!is_bert(spec.splits)) pre_tokenizer = TRY(PreTokenizer::create(spec.splits));
  std::shared_ptr<WordPiece> made(new WordPiece(std::move(spec)));
  made->pre_tokenizer_ = std::move(pre_tokenizer);
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

WordPiece::WordPiece(TokenizerSpec spec) : SectionTokenizer(std::move(spec)) {
  std::vector<std::string_view> texts;
  std::vector<Token> ids;
  std::vector<std::string_view> continuing;
  std::vector<Token> continuing_ids;
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const auto id = static_cast<Token>(i);
    if (is_control(id)) continue;
    const std::string_view text = spec_.tokens[i];
    texts.push_back(text);
    ids.push_back(id);
    if (!text.starts_with(spec_.continuing_prefix)) continue;
    continuing.push_back(text.substr(spec_.continuing_prefix.size()));
    continuing_ids.push_back(id);
  }
  first_ = PrefixTable(texts, ids);
  continuing_ = PrefixTable(continuing, continuing_ids);
}

void WordPiece::encode_section(std::string_view text, Before, TokenSink& sink) const {
  std::unique_ptr<Scratch> scratch = scratches_.take();
  scratch->memo.fit(text.size());
  if (!pre_tokenizer_) {
    encode_bert(text, *scratch, sink);
  } else {
    std::vector<Word> words;
    size_t done = 0;
    for (size_t at = 0; pre_tokenizer_->next_words(text, at, words);) {
      for (const Word& word : words) {
        sink.skip(word.begin - done);
        encode_word(text, word.begin, word.end, *scratch, sink);
        done = word.end;
      }
    }
    sink.skip(text.size() - done);
  }
  scratches_.give(std::move(scratch));
}

// One pass over the text that finds words and removes white space, without a pre-tokenizer.
void WordPiece::encode_bert(std::string_view text, Scratch& scratch, TokenSink& sink) const {
  size_t word = 0;
  for (size_t at = 0; at < text.size();) {
    at = skip_alphanumeric(text, at);
    if (at == text.size()) break;
    ByteClass kind = kByteClasses[static_cast<uint8_t>(text[at])];
    if (kind == ByteClass::word) {
      ++at;
      continue;
    }
    size_t size = 1;
    if (kind == ByteClass::wide) {
      const CodePoint c = read_char(text, at);
      size = c.size;
      if (is_white_space(c.value)) {
        kind = ByteClass::space;
      } else if (c.valid && is_bert_punctuation(c.value)) {
        kind = ByteClass::punctuation;
      } else {
        at += size;
        continue;
      }
    }
    if (at > word) encode_word(text, word, at, scratch, sink);
    if (kind == ByteClass::space) {
      sink.skip(size);
    } else {
      encode_word(text, at, at + size, scratch, sink);
    }
    word = at += size;
  }
  if (text.size() > word) encode_word(text, word, text.size(), scratch, sink);
}

void WordPiece::encode_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                            TokenSink& sink) const {
  const bool remembers = end - begin <= WordMemo::kMaxBytes && !sink.keeps_spans();
  WordMemo::Key key;
  if (remembers) {
    key = WordMemo::key_of(text, begin, end);
    if (const WordMemo::Slot* slot = scratch.memo.find(key)) {
      return send_known(*slot, sink);
    }
  }
  cut_word(text, begin, end, scratch);
  if (scratch.ids.empty()) return sink.skip(end - begin);
  for (size_t i = 0; i < scratch.ids.size(); ++i) sink.push(scratch.ids[i], scratch.sizes[i]);
  if (!remembers || scratch.ids.size() > WordMemo::kMaxTokens) return;
  WordMemo::Slot& slot = scratch.memo.add(key);
  slot.n_tokens = static_cast<uint8_t>(scratch.ids.size());
  std::copy(scratch.ids.begin(), scratch.ids.end(), slot.ids);
}

// BERT counts characters, not bytes.
bool WordPiece::is_too_long(std::string_view word) const {
  if (word.size() <= spec_.max_word_chars) return false;
  size_t n_chars = 0;
  for (size_t at = 0; at < word.size(); at += read_char(word, at).size) ++n_chars;
  return n_chars > spec_.max_word_chars;
}

// Greedy longest match; on failure the ids are the single unknown token.
void WordPiece::cut_word(std::string_view text, size_t begin, size_t end, Scratch& scratch) const {
  scratch.ids.clear();
  scratch.sizes.clear();
  bool known = !is_too_long(text.substr(begin, end - begin));
  for (size_t at = begin; known && at < end;) {
    const PrefixTable::Found found = (at == begin ? first_ : continuing_).longest(text, at, end);
    known = found.size > 0;
    scratch.ids.push_back(found.id);
    scratch.sizes.push_back(static_cast<uint32_t>(found.size));
    at += found.size;
  }
  if (known) return;
  scratch.ids.clear();
  scratch.sizes.clear();
  if (!spec_.unk) return;
  scratch.ids.push_back(*spec_.unk);
  scratch.sizes.push_back(static_cast<uint32_t>(end - begin));
}

void WordPiece::append_bytes(Token id, bool with_special, std::string& out) const {
  if (is_control(id) && !with_special) return;
  std::string_view text = spec_.tokens[static_cast<size_t>(id)];
  if (text.starts_with(spec_.continuing_prefix)) {
    text.remove_prefix(spec_.continuing_prefix.size());
  } else if (!spec_.cleanup_spaces || !joins_word_before(text)) {
    out += ' ';
  }
  out += text;
}

}  // namespace ruv
