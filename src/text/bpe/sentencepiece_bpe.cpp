// A text that contains ▁, or whose extra spaces are removed, is copied first; other texts are
// scanned in place and only their first word is copied, to put a space before it.
#include "text/bpe/sentencepiece_bpe.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/utf8.h"
#include "text/bpe/merge_list.h"
#include "text/hex.h"
#include "text/parallel_encode.h"
#include "text/space_mark.h"

namespace ruv {
namespace {

// Writes `stored` to `out` with a space for each ▁; `out` has room for as many bytes.
size_t write_with_spaces(std::string_view stored, char* out) {
  size_t n = 0;
  for (size_t i = 0; i < stored.size(); ++n) {
    const bool mark = stored[i] == kSpaceMark[0] && stored.substr(i).starts_with(kSpaceMark);
    out[n] = mark ? ' ' : stored[i];
    i += mark ? kSpaceMark.size() : 1;
  }
  return n;
}

// A stored text that contains a space cannot be matched, since spaces in texts mean ▁.
std::optional<size_t> decode_piece(std::string_view stored, char* out) {
  if (stored.find(' ') != std::string_view::npos) return std::nullopt;
  return write_with_spaces(stored, out);
}

// Writes `text` with ▁ as a space. With `narrow`, runs of spaces become one, and those at the ends
// are removed.
void write_spaces(std::string_view text, bool narrow, NormalizedText& out) {
  out.text.clear();
  out.origin.clear();
  for (size_t i = 0; i < text.size();) {
    const bool mark = text[i] == kSpaceMark[0] && text.substr(i).starts_with(kSpaceMark);
    const bool extra = narrow && text[i] == ' ' && (i == 0 || text[i - 1] == ' ');
    if (!extra) {
      out.text += mark ? ' ' : text[i];
      out.origin.push_back(static_cast<uint32_t>(i));
    }
    i += mark ? kSpaceMark.size() : 1;
  }
  if (narrow && !out.text.empty() && text.back() == ' ') {
    out.text.pop_back();  // its place is the end of what is left
  } else {
    out.origin.push_back(static_cast<uint32_t>(text.size()));
  }
}

Status check_scores(const std::vector<float>& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      return fail(Code::corrupt, "tokenizer: scores[{}] is not a number", i);
    }
  }
  return {};
}

// Ranks by id: lower for higher scores, equal for equal ones.
std::vector<uint32_t> ranks_by_score(const std::vector<float>& scores) {
  std::vector<Token> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Token>(i);
  const auto score = [&](Token id) { return scores[static_cast<size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](Token a, Token b) { return score(a) > score(b); });
  std::vector<uint32_t> ranks(order.size());
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) < score(order[i - 1])) ++rank;
    ranks[static_cast<size_t>(order[i])] = rank;
  }
  return ranks;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> SentencePieceBpe::create(TokenizerSpec spec) {
  std::shared_ptr<SentencePieceBpe> made(new SentencePieceBpe(std::move(spec)));
  const TokenizerSpec& own = made->spec_;
  BpeCore::Options options{.symbols = BpeSymbols::characters,
                           .unknown = own.unk.value_or(-1),
                           .fuse_unknown = own.fuse_unknown};
  Vocabulary vocabulary = made->read_vocabulary(options);
  made->find_cuts(vocabulary);
  MergeTrees::Rules rules{.by_text = !own.scores.empty(), .pairs = PairTable(), .ranks = {}};
  if (rules.by_text) {
    TRY(check_scores(own.scores));
    rules.ranks = ranks_by_score(own.scores);
  } else {
    const MergeList list{.vocabulary = vocabulary, .decode = &decode_piece, .by_text = nullptr};
    rules.pairs = TRY(list.read(own.merges));
  }
  made->core_ = std::make_unique<BpeCore>(std::move(vocabulary), std::move(rules), options);
  made->forget_merges();
  return made;
}

SentencePieceBpe::SentencePieceBpe(TokenizerSpec spec) : SectionTokenizer(std::move(spec)) {}

Vocabulary SentencePieceBpe::read_vocabulary(BpeCore::Options& options) {
  options.fallback_bytes.fill(-1);
  Vocabulary vocabulary;
  size_t n_bytes = 0;
  for (const std::string& text : spec_.tokens) n_bytes += text.size();
  vocabulary.reserve(spec_.tokens.size(), n_bytes);
  std::string bytes;
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const std::string& stored = spec_.tokens[i];
    const TokenKind kind = spec_.kinds[i];
    const auto byte = kind == TokenKind::byte ? byte_of_token(stored) : std::nullopt;
    if (byte) {
      const auto c = static_cast<char>(*byte);
      vocabulary.add({&c, 1}, false);
      if (spec_.byte_fallback) options.fallback_bytes[*byte] = static_cast<Token>(i);
      continue;
    }
    if (is_control(static_cast<Token>(i))) {
      vocabulary.add(stored, false);
      continue;
    }
    // Merges must not make control tokens, or any user could write them.
    const bool mergeable = kind == TokenKind::normal || kind == TokenKind::user_defined;
    bytes.resize(stored.size());
    const size_t n = write_with_spaces(stored, bytes.data());
    vocabulary.add({bytes.data(), n}, mergeable && stored.find(' ') == std::string::npos);
  }
  vocabulary.finish();
  return vocabulary;
}

// A cut is allowed between two bytes that no token contains in this order, and with split_at_spaces
// before every space; never inside a character.
void SentencePieceBpe::find_cuts(const Vocabulary& vocabulary) {
  cuts_.fill(1);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const std::string_view text = vocabulary.text(static_cast<Token>(i));
    for (size_t at = 1; at < text.size(); ++at) cuts_[pair_of(text.data() + at)] = 0;
  }
  for (size_t first = 0; first < 256; ++first) {
    uint8_t* row = &cuts_[first * 256];
    if (spec_.split_at_spaces) row[size_t{' '}] = 1;
    std::fill(row + 0x80, row + 0xC0, uint8_t{0});  // inside a character
  }
}

bool SentencePieceBpe::wants_prefix(std::string_view text, Before before) const {
  if (!spec_.add_space_prefix || text.empty() || before == Before::text) return false;
  if (spec_.prefix_first_only && before != Before::nothing) return false;
  const bool has_one = text.starts_with(' ') || text.starts_with(kSpaceMark);
  return !(spec_.prefix_if_missing && has_one);
}

void SentencePieceBpe::encode_section(std::string_view text, Before before, TokenSink& sink) const {
  BpeCore::Lease scratch(*core_);
  if (spec_.remove_extra_spaces || text.find(kSpaceMark) != std::string_view::npos) {
    return encode_changed(text, before, *scratch, sink);
  }
  if (!wants_prefix(text, before)) return encode_words(text, *scratch, sink);
  // Only the first word is copied.
  size_t at = 0;
  next_words(text, at, scratch->words);
  const size_t n_first = scratch->words.front().end;
  const size_t base = sink.at();
  const SpanMap map(sink);
  encode_words(" " + std::string(text.substr(0, n_first)), *scratch, sink);
  map.drop_prefix(sink, 1, n_first);
  sink.move_to(base + n_first);
  encode_words(text.substr(n_first), *scratch, sink);
}

void SentencePieceBpe::encode_changed(std::string_view text, Before before,
                                      BpeCore::Scratch& scratch, TokenSink& sink) const {
  NormalizedText& made = scratch.text;
  write_spaces(text, spec_.remove_extra_spaces, made);
  if (wants_prefix(made.text, before)) {
    made.text.insert(made.text.begin(), ' ');
    made.origin.insert(made.origin.begin(), made.origin.front());
  }
  const SpanMap map(sink);
  encode_words(made.text, scratch, sink);
  map.trace(sink, made.origin, false);
}

void SentencePieceBpe::encode_words(std::string_view text, BpeCore::Scratch& scratch,
                                    TokenSink& sink) const {
  const int n_threads = threads_for(text.size(), sink);
  if (n_threads > 1 && !core_->joins_words()) {
    const WordWork work{
        .next_words = [&](size_t& at,
                          std::vector<Word>& words) { return next_words(text, at, words); },
        .encode =
            [&](std::span<const Word> words, TokenSink& part) {
              BpeCore::Lease own(*core_);
              core_->encode_words(text, words, *own, part);
            }};
    return parallel_encode(work, n_threads, sink);
  }
  for (size_t at = 0; next_words(text, at, scratch.words);) {
    core_->encode_words(text, scratch.words, scratch, sink);
  }
}

// As PreTokenizer::next_words: words begin where no token crosses.
bool SentencePieceBpe::next_words(std::string_view text, size_t& at,
                                  std::vector<Word>& words) const {
  constexpr size_t kWords = 1024;
  words.clear();
  size_t begin = at;
  for (size_t i = at + 1; i < text.size() && words.size() < kWords; i += 64) {
    const size_t n = std::min<size_t>(64, text.size() - i);
    for (uint64_t cuts = cuts_before(text.data() + i, n); cuts != 0; cuts &= cuts - 1) {
      const size_t end = i + static_cast<size_t>(std::countr_zero(cuts));
      words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
  }
  if (words.size() < kWords) {
    if (begin < text.size()) {
      words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(text.size())});
    }
    begin = text.size();
  }
  at = begin;
  return !words.empty();
}

// A bit for each of n <= 64 bytes at which a word may begin.
uint64_t SentencePieceBpe::cuts_before(const char* text, size_t n) const {
  uint64_t cuts = 0;
  if (n == 64) {
    for (size_t i = 0; i < 64; ++i) cuts |= uint64_t{cuts_[pair_of(text + i)]} << i;
  } else {
    for (size_t i = 0; i < n; ++i) cuts |= uint64_t{cuts_[pair_of(text + i)]} << i;
  }
  return cuts;
}

void SentencePieceBpe::append_bytes(Token id, bool with_special, std::string& out) const {
  if (shows_unknown(id, with_special)) out += spec_.unknown_text;
  if (is_control(id) && !with_special) return;
  out += core_->vocabulary().text(id);
}

void SentencePieceBpe::append_all(std::span<const Token> ids, bool with_special,
                                  std::string& out) const {
  const auto shows = [&](Token id) { return shows_unknown(id, with_special); };
  if (std::any_of(ids.begin(), ids.end(), shows)) {
    return Tokenizer::append_all(ids, with_special, out);
  }
  const auto keeps = [&](Token id) { return with_special || !is_control(id); };
  core_->vocabulary().append_texts(ids, keeps, out);
}

}  // namespace ruv
