// A text is cut where no piece can cross. Each word is looked up in a cache, else cut by Viterbi
// (unigram.h explains the arithmetic). The cache key is the bytes of the text; ▁ is written only in
// order to cut.
#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/hex.h"
#include "text/normalize/char_sets.h"
#include "text/read_char.h"
#include "text/space_mark.h"

namespace ruv {
namespace {

constexpr uint8_t kLastMarkByte = 0x81;
constexpr double kUnknownPenalty = 10;
constexpr float kUserDefinedBonus = 0.1F;  // found by comparing ties with 0.2.3
// When the best score of a place is worse than this, sentencepiece 0.2.3 restarts from 0.
constexpr float kWorstTotal = -1e5F;
constexpr Token kUnknown = -2;
constexpr size_t kPadding = 8;  // zeros after a word, so that 8 bytes can be read anywhere in it

size_t count_marks(std::string_view text) {
  size_t n = 0;
  for (size_t at = text.find(kSpaceMark); at != std::string_view::npos;
       at = text.find(kSpaceMark, at + kSpaceMark.size())) {
    ++n;
  }
  return n;
}

// The first ' ' from `at` on, or the end.
size_t find_space(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101U;
  constexpr uint64_t kHighs = 0x8080808080808080U;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t eight = 0;
      std::memcpy(&eight, text.data() + at, 8);
      eight ^= kOnes * ' ';
      const uint64_t zero = (eight - kOnes) & ~eight & kHighs;
      if (zero != 0) return at + static_cast<size_t>(std::countr_zero(zero)) / 8;
    }
  }
  while (at < text.size() && text[at] != ' ') ++at;
  return at;
}

size_t char_size(std::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]) < 0x80 ? 1 : read_char(text, at).size;
}

enum class SpaceByte : uint8_t { none, space, may_begin };

constexpr std::array<SpaceByte, 256> kSpaceBytes = [] {
  std::array<SpaceByte, 256> bytes{};
  for (const size_t c : {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20}) bytes[c] = SpaceByte::space;
  // The lead bytes of U+0085, U+00A0 and of the spaces from U+1680 to U+3000.
  for (const size_t c : {0xC2, 0xE1, 0xE2, 0xE3}) bytes[c] = SpaceByte::may_begin;
  return bytes;
}();

// Bytes of the white space at `at`, 0 for none.
inline size_t white_space_size(std::string_view text, size_t at) {
  const SpaceByte byte = kSpaceBytes[static_cast<uint8_t>(text[at])];
  if (byte != SpaceByte::may_begin) return byte == SpaceByte::space ? 1 : 0;
  const CodePoint c = read_char(text, at);
  return c.valid && is_white_space(c.value) ? c.size : 0;
}

// The greatest power of two that is at most the value. Requires: positive, normal.
double power_of_two_below(double value) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) & 0x7FF0000000000000U);
}

bool removes_white_space(std::span<const SplitStep> splits) {
  return splits.size() == 1 && (splits[0].regex == R"(\s+)" || splits[0].regex == R"(\s)") &&
         splits[0].behavior == SplitBehavior::removed && !splits[0].invert;
}

// The upper half of a float, rounded to zero.
uint16_t to_note(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}
float from_note(uint16_t note) { return std::bit_cast<float>(uint32_t{note} << 16); }

}  // namespace

// The pieces that begin at a place. In a run of one ASCII byte they are the same at every place
// that is at least the longest piece before the run's end, so they are looked up once per run.
struct Unigram::PiecesFound {
  struct Piece {
    uint32_t size;
    Token id;
  };
  static constexpr size_t kMost = 32;  // with more than these, every place is looked up
  std::array<Piece, kMost> pieces;
  size_t n = 0;
  uint64_t sizes = 0;     // bit i: a piece of i bytes, i <= 4
  size_t same_until = 0;  // places before this one have these pieces
  size_t row_end = 0;

  void begin(std::string_view word, size_t at, size_t longest) {
    n = 0;
    sizes = 0;
    same_until = 0;
    if (word.size() - at <= longest || static_cast<uint8_t>(word[at]) >= 0x80) return;
    if (at >= row_end) {
      row_end = at + 1;
      while (row_end < word.size() && word[row_end] == word[at]) ++row_end;
    }
    if (row_end - at > longest) same_until = row_end - longest + 1;
  }
  void add(size_t size, Token id) {
    if (size <= 4) sizes |= uint64_t{1} << size;
    if (n == kMost) {
      same_until = 0;
    } else {
      pieces[n++] = {static_cast<uint32_t>(size), id};
    }
  }
  // Requires: size <= 4.
  bool has_size(size_t size) const { return (sizes >> size & 1) != 0; }
};

Result<std::shared_ptr<const Tokenizer>> Unigram::create(TokenizerSpec spec) {
  std::optional<PreTokenizer> pre_tokenizer;
  if (!spec.splits.empty() && !removes_white_space(spec.splits)) {
    pre_tokenizer = TRY(PreTokenizer::create(spec.splits));
  }
  std::shared_ptr<Unigram> made(new Unigram(std::move(spec)));
  made->pre_tokenizer_ = std::move(pre_tokenizer);
  TRY(made->read_scores());
  made->read_pieces();
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

Unigram::Unigram(TokenizerSpec spec) : SectionTokenizer(std::move(spec)) {
  adds_floats_ = !spec_.split_at_spaces && !spec_.prefix_each_word && spec_.splits.empty();
  splits_at_white_space_ = removes_white_space(spec_.splits);
}

Status Unigram::read_scores() {
  if (spec_.scores.size() != spec_.tokens.size()) {
    return fail(Code::corrupt, "tokenizer: scores has {} entries for {} tokens",
                spec_.scores.size(), spec_.tokens.size());
  }
  // For the unknown score, tokenizer.json counts every token, sentencepiece only normal ones.
  float lowest = std::numeric_limits<float>::max();
  float highest = std::numeric_limits<float>::min();
  for (size_t i = 0; i < spec_.scores.size(); ++i) {
    if (!std::isfinite(spec_.scores[i])) {
      return fail(Code::corrupt, "tokenizer: scores[{}] is not a finite number", i);
    }
    if (adds_floats_ && spec_.kinds[i] != TokenKind::normal) continue;
    lowest = std::min(lowest, spec_.scores[i]);
    highest = std::max(highest, spec_.scores[i]);
  }
  unknown_score_ = adds_floats_ ? static_cast<double>(lowest - static_cast<float>(kUnknownPenalty))
                                : lowest - kUnknownPenalty;
  for (size_t i = 0; i < spec_.scores.size(); ++i) {
    const bool wins = adds_floats_ && spec_.kinds[i] == TokenKind::user_defined;
    const float bonus = static_cast<float>(spec_.tokens[i].size()) * highest;
    const double own = i < spec_.wide_scores.size() ? spec_.wide_scores[i] : spec_.scores[i];
    scores_.push_back(wins ? bonus + kUserDefinedBonus : own);
  }
  return {};
}

void Unigram::read_pieces() {
  byte_tokens_.fill(-1);
  std::vector<std::string_view> texts;
  std::vector<Token> ids;
  size_t n_bytes = 0;
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const auto id = static_cast<Token>(i);
    const std::string_view text = spec_.tokens[i];
    raw_sizes_.push_back(static_cast<uint32_t>(text.size() - 2 * count_marks(text)));
    if (const auto byte = byte_of_token(text); byte && spec_.byte_fallback) {
      n_bytes += byte_tokens_[*byte] < 0 ? 1 : 0;
      byte_tokens_[*byte] = id;
    }
    // Control tokens must not be produced by a text, or any user could write them.
    const TokenKind kind = spec_.kinds[i];
    const bool is_piece = kind == TokenKind::normal || kind == TokenKind::user_defined ||
                          (kind == TokenKind::byte && !adds_floats_);
    if (!is_piece) continue;
    texts.push_back(text);
    ids.push_back(id);
    longest_ = std::max(longest_, text.size());
    for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
         at = text.find(kSpaceMark, at + 1)) {
      joins_space_[static_cast<uint8_t>(text[at - 1])] = true;
    }
  }
  has_byte_tokens_ = n_bytes == byte_tokens_.size();
  pieces_ = PrefixTable(texts, ids);
}

bool Unigram::wants_prefix(std::string_view text, Before before) const {
  if (!spec_.add_space_prefix || before == Before::text) return false;
  if (spec_.prefix_first_only && before != Before::nothing) return false;
  const bool has_one = text.starts_with(' ') || text.starts_with(kSpaceMark);
  return !(spec_.prefix_if_missing && has_one);
}

void Unigram::Scratch::trim() {
  constexpr size_t kKept = 1U << 14;
  if (places.capacity() + float_places.capacity() + word.capacity() < kKept) return;
  places = {};
  float_places = {};
  seconds = {};
  pieces = {};
  word = {};
  from = {};
}

// Chooses the way to cut: at white space, by general splits, or at spaces that no piece crosses.
void Unigram::encode_section(std::string_view text, Before before, TokenSink& sink) const {
  std::unique_ptr<Scratch> scratch = scratches_.take();
  scratch->memo.fit(text.size());
  scratch->total = 0;
  scratch->after_unknown = false;
  if (splits_at_white_space_) {
    encode_spaceless(text, *scratch, sink);
  } else if (pre_tokenizer_) {
    encode_splits(text, *scratch, sink);
  } else {
    size_t begin = 0;
    size_t end = text.size();
    const bool prefix = wants_prefix(text, before);
    if (spec_.remove_extra_spaces) {
      const bool at_start = prefix || before == Before::nothing;
      while (at_start && begin < end && text[begin] == ' ') ++begin;
      while (end > begin && text[end - 1] == ' ') --end;
    }
    sink.skip(begin);
    encode_words(text.substr(begin, end - begin), prefix, *scratch, sink);
    sink.skip(text.size() - end);
  }
  scratch->trim();
  scratches_.give(std::move(scratch));
}

// Cuts at spaces. A text that contains ▁ itself, or whose repeated spaces matter to a piece, takes
// the slow path that writes the marks first.
void Unigram::encode_words(std::string_view text, bool prefix, Scratch& scratch,
                           TokenSink& sink) const {
  if (text.empty()) return;
  const bool joins =
      std::find(joins_space_.begin(), joins_space_.end(), true) != joins_space_.end();
  const bool narrows = spec_.remove_extra_spaces;
  const bool by_hand =
      text.find(kSpaceMark) != std::string_view::npos ||
      (narrows && joins && adds_floats_ && text.find("  ") != std::string_view::npos);
  if (by_hand) return encode_with_marks(text, prefix, scratch, sink);
  for (size_t at = 0; at < text.size();) {
    if (narrows) {
      while (at + 1 < text.size() && text[at] == ' ' && text[at + 1] == ' ') {
        sink.skip(1);
        ++at;
      }
    }
    size_t end = find_space(text, at + 1);
    while (adds_floats_ && end < text.size() &&
           !may_cut(text[end - 1] == ' ' ? kLastMarkByte : static_cast<uint8_t>(text[end - 1]))) {
      end = find_space(text, end + 1);
    }
    encode_word(text, at, end, prefix, scratch, sink);
    prefix = false;
    at = end;
  }
}

// Words between white space, which is dropped (splits by \s+ as in T5).
void Unigram::encode_spaceless(std::string_view text, Scratch& scratch, TokenSink& sink) const {
  const bool has_marks = text.find(kSpaceMark) != std::string_view::npos;
  const bool prefix = spec_.prefix_each_word;
  for (size_t at = 0; at < text.size();) {
    if (const size_t space = white_space_size(text, at); space > 0) {
      sink.skip(space);
      at += space;
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && white_space_size(text, end) == 0) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (has_marks) {
      encode_with_marks(word, prefix && !word.starts_with(kSpaceMark), scratch, sink);
    } else {
      encode_word(text, at, end, prefix, scratch, sink);
    }
    at = end;
  }
}

// Words of a pre-tokenizer of general form.
void Unigram::encode_splits(std::string_view text, Scratch& scratch, TokenSink& sink) const {
  std::vector<Word> words;
  size_t done = 0;
  for (size_t at = 0; pre_tokenizer_->next_words(text, at, words);) {
    for (const Word& word : words) {
      sink.skip(word.begin - done);
      const std::string_view piece = text.substr(word.begin, word.end - word.begin);
      const bool has_one = piece.starts_with(' ') || piece.starts_with(kSpaceMark);
      encode_with_marks(piece, spec_.prefix_each_word && !has_one, scratch, sink);
      done = word.end;
    }
  }
  sink.skip(text.size() - done);
}

// Writes the whole text with ▁ before cutting it, for texts that contain the mark itself.
void Unigram::encode_with_marks(std::string_view text, bool prefix, Scratch& scratch,
                                TokenSink& sink) const {
  std::string& word = scratch.word;
  std::vector<uint32_t>& from = scratch.from;
  word.clear();
  from.clear();
  if (prefix) {
    word += kSpaceMark;
    from.resize(word.size(), 0);
  }
  bool after_space = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool space = text[i] == ' ';
    if (space && after_space && spec_.remove_extra_spaces) continue;
    after_space = space;
    if (space) {
      word += kSpaceMark;
    } else {
      word += text[i];
    }
    from.resize(word.size(), static_cast<uint32_t>(i));
  }
  while (spec_.remove_extra_spaces && word.ends_with(kSpaceMark)) {
    word.resize(word.size() - kSpaceMark.size());
  }
  from.resize(word.size());
  from.push_back(static_cast<uint32_t>(text.size()));
  const size_t size = word.size();
  word.append(kPadding, '\0');
  for (size_t begin = 0; begin < size;) {
    size_t end = word.find(kSpaceMark, begin + 1);
    while (end != std::string::npos && adds_floats_ &&
           !may_cut(static_cast<uint8_t>(word[end - 1]))) {
      end = word.find(kSpaceMark, end + 1);
    }
    end = std::min(end, size);
    encode_visible(scratch, begin, end, sink);
    begin = end;
  }
}

// Encodes one word of `text`, in which spaces stand for ▁. With `prefix`, a ▁ is put before it.
void Unigram::encode_word(std::string_view text, size_t begin, size_t end, bool prefix,
                          Scratch& scratch, TokenSink& sink) const {
  const bool remembers = end - begin <= WordMemo::kMaxBytes && prefix == spec_.prefix_each_word;
  WordMemo::Key key;
  if (remembers) {
    if (scratch.total < kWorstTotal) scratch.total = 0;
    key = WordMemo::key_of(text, begin, end);
    const WordMemo::Slot* slot = scratch.memo.find(key);
    if (slot != nullptr && (!adds_floats_ || std::abs(scratch.total) < from_note(slot->note))) {
      scratch.after_unknown = false;
      if (adds_floats_) add_total(slot->tokens(), scratch);
      if (!sink.keeps_spans()) return send_known(*slot, sink);
      uint32_t own = prefix ? 1 : 0;
      for (const Token id : slot->tokens()) {
        sink.push(id, raw_sizes_[static_cast<size_t>(id)] - own);
        own = 0;
      }
      return;
    }
  }
  std::string& word = scratch.word;
  std::vector<uint32_t>& from = scratch.from;
  word.clear();
  from.clear();
  if (prefix) word += kSpaceMark;
  if (sink.keeps_spans()) from.resize(word.size(), 0);
  for (size_t i = begin; i < end; ++i) {
    if (text[i] == ' ') {
      word += kSpaceMark;
    } else {
      word += text[i];
    }
    if (sink.keeps_spans()) from.resize(word.size(), static_cast<uint32_t>(i - begin));
  }
  if (sink.keeps_spans()) from.push_back(static_cast<uint32_t>(end - begin));
  const size_t size = word.size();
  word.append(kPadding, '\0');
  if (!remembers || !adds_floats_) {
    encode_visible(scratch, 0, size, sink);
    if (remembers) remember(key, scratch, 0);
    return;
  }
  find_best<double>(word, size, 0, scratch.places, &scratch.seconds);
  const uint16_t note = safe_total(scratch, std::string_view(word).substr(0, size));
  trace(scratch.places, scratch.pieces);
  remember(key, scratch, note);
  if (std::abs(scratch.total) >= from_note(note)) return encode_visible(scratch, 0, size, sink);
  for (const Piece& piece : scratch.pieces) {
    const double score =
        piece.id == kUnknown ? unknown_score_ : scores_[static_cast<size_t>(piece.id)];
    scratch.total = static_cast<float>(score + scratch.total);
  }
  send(word, from, scratch, sink);
}

// Adds the scores in the order and precision of sentencepiece.
void Unigram::add_total(std::span<const Token> ids, Scratch& scratch) const {
  for (const Token id : ids) {
    scratch.total = static_cast<float>(scores_[static_cast<size_t>(id)] + scratch.total);
  }
}

// Caches the pieces of a word unless one of them is unknown or there are too many.
void Unigram::remember(const WordMemo::Key& key, Scratch& scratch, uint16_t note) const {
  const std::vector<Piece>& pieces = scratch.pieces;
  if (pieces.size() > WordMemo::kMaxTokens || scratch.memo.find(key) != nullptr) return;
  for (const Piece& piece : pieces) {
    if (piece.id == kUnknown) return;
  }
  WordMemo::Slot& slot = scratch.memo.add(key);
  slot.n_tokens = static_cast<uint8_t>(pieces.size());
  slot.note = note;
  for (size_t i = 0; i < pieces.size(); ++i) slot.ids[i] = pieces[i].id;
}

// Encodes bytes [begin, end) of scratch.word, in which ▁ is written out.
void Unigram::encode_visible(Scratch& scratch, size_t begin, size_t end, TokenSink& sink) const {
  const std::string_view padded = std::string_view(scratch.word).substr(begin);
  const std::string_view word = padded.substr(0, end - begin);
  if (adds_floats_) {
    find_best<float>(padded, end - begin, scratch.total, scratch.float_places, nullptr);
    scratch.total = scratch.float_places[word.size()].score;
    trace(scratch.float_places, scratch.pieces);
  } else {
    find_best<double>(padded, end - begin, 0, scratch.places, nullptr);
    trace(scratch.places, scratch.pieces);
    scratch.after_unknown = false;
  }
  std::span<const uint32_t> from = scratch.from;
  if (sink.keeps_spans()) from = from.subspan(begin);
  send(word, from, scratch, sink);
}

template <class Score>
void Unigram::find_best(std::string_view padded, size_t n, Score start,
                        std::vector<Place<Score>>& places, std::vector<double>* seconds) const {
  constexpr bool kWide = sizeof(Score) == sizeof(double);
  places.assign(n + 1, Place<Score>{});
  if (seconds != nullptr) seconds->assign(n + 1, -std::numeric_limits<double>::infinity());
  places[0].score = start;
  const std::string_view word = padded.substr(0, n);
  PiecesFound found;
  for (size_t at = 0; at < n;) {
    if (!kWide && places[at].score < kWorstTotal) {
      const Score worst = places[at].score;
      const size_t last = std::min(n, at + longest_);
      for (size_t i = at; i <= last; ++i) {
        if (i == at || places[i].id != -1) places[i].score -= worst;
      }
    }
    const Score before = places[at].score;
    const size_t size = char_size(word, at);
    const auto offer = [&](size_t end, Score score, Token id) {
      Place<Score>& place = places[end];
      if (place.id == -1 || score > place.score) {
        if (seconds != nullptr && place.id != -1) (*seconds)[end] = place.score;
        place = {score, static_cast<uint32_t>(at), id};
      } else if (seconds != nullptr && score > (*seconds)[end]) {
        (*seconds)[end] = score;
      }
    };
    if (at >= found.same_until) {
      found.begin(word, at, longest_);
      pieces_.find_all(padded, at, n, [&](size_t n_bytes, Token id) {
        found.add(n_bytes, id);
        offer(at + n_bytes, static_cast<Score>(scores_[static_cast<size_t>(id)]) + before, id);
      });
    } else {
      for (size_t i = 0; i < found.n; ++i) {
        const auto [n_bytes, id] = found.pieces[i];
        offer(at + n_bytes, static_cast<Score>(scores_[static_cast<size_t>(id)]) + before, id);
      }
    }
    if (!found.has_size(size)) {
      offer(at + size, static_cast<Score>(unknown_score_) + before, kUnknown);
    }
    at += size;
  }
}

// Follows the best ways back from the end of the word.
template <class Score>
void Unigram::trace(const std::vector<Place<Score>>& places, std::vector<Piece>& pieces) const {
  pieces.clear();
  for (size_t end = places.size() - 1; end > 0;) {
    const Place<Score>& place = places[end];
    pieces.push_back({place.id, static_cast<uint32_t>(end - place.begin)});
    end = place.begin;
  }
  std::reverse(pieces.begin(), pieces.end());
}

// The running totals below which float sums find the same pieces as exact ones, rounded down to 16
// bits. Each float addition errs by at most half a unit in the last place of the largest sum. The
// best way, of n pieces, and any other, of at most as many pieces as characters, keep their order
// if they are further apart than half as many units; sums below 2^e have units of at most 2^(e-24).
// 0 (never safe) for words within which the sum could restart.
uint16_t Unigram::safe_total(const Scratch& scratch, std::string_view word) const {
  const std::vector<Place<double>>& places = scratch.places;
  double margin = std::numeric_limits<double>::infinity();
  double reach = 0;
  double n_sums = 2;
  for (const char c : word) n_sums += (c & 0xC0) != 0x80 ? 1 : 0;
  for (const Place<double>& place : places) reach = std::max(reach, std::abs(place.score));
  for (size_t end = places.size() - 1; end > 0; end = places[end].begin) {
    margin = std::min(margin, places[end].score - scratch.seconds[end]);
    n_sums += 1;
  }
  if (margin <= 0) return 0;
  const double limit = std::clamp(2 * margin / n_sums, 1e-9, 1e6) * 0x1p24;
  const double safe = std::min<double>(power_of_two_below(limit), -kWorstTotal) - reach;
  return safe > 0 ? to_note(static_cast<float>(safe)) : uint16_t{0};
}

// Sends scratch.pieces, into which `word` was cut; from[i] is the source place of its byte i.
// `from` is empty when places are not kept.
void Unigram::send(std::string_view word, std::span<const uint32_t> from, Scratch& scratch,
                   TokenSink& sink) const {
  size_t at = 0;
  for (const Piece& piece : scratch.pieces) {
    const size_t n_bytes = from.empty() ? 0 : from[at + piece.size] - from[at];
    const std::string_view bytes = word.substr(at, piece.size);
    at += piece.size;
    if (piece.id != kUnknown) {
      sink.push(piece.id, n_bytes);
      scratch.after_unknown = false;
    } else if (has_byte_tokens_) {
      // The tokens of one character share its place.
      const size_t begin = sink.at();
      for (const char c : bytes) {
        sink.move_to(begin);
        sink.push(byte_tokens_[static_cast<uint8_t>(c)], n_bytes);
      }
    } else if (!spec_.unk) {
      sink.skip(n_bytes);
    } else if (scratch.after_unknown && spec_.fuse_unknown) {
      sink.extend(n_bytes);
    } else {
      sink.push(*spec_.unk, n_bytes);
      scratch.after_unknown = true;
    }
  }
}

void Unigram::append_bytes(Token id, bool with_special, std::string& out) const {
  const auto i = static_cast<size_t>(id);
  const std::string& text = spec_.tokens[i];
  if (is_control(id)) {
    if (with_special) out += text;
    if (shows_unknown(id, with_special)) out += spec_.unknown_text;
    return;
  }
  if (spec_.kinds[i] == TokenKind::byte) {
    if (const auto byte = byte_of_token(text)) {
      out += static_cast<char>(*byte);
      return;
    }
  }
  for (size_t at = 0; at < text.size();) {
    const bool mark = text.compare(at, kSpaceMark.size(), kSpaceMark) == 0;
    out += mark ? ' ' : text[at];
    at += mark ? kSpaceMark.size() : 1;
  }
}

}  // namespace ruv
