// The tables are converted from the byte alphabet to bytes once; encoding never sees the alphabet.
#include "text/bpe/byte_bpe.h"

#include <algorithm>
#include <numeric>

#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/merge_list.h"
#include "text/parallel_encode.h"

namespace ruv {
namespace {

constexpr char kWordEnd = '\xFF';
constexpr std::string_view kStoredWordEnd = "\u00FF";  // in the byte alphabet

// A stored text with the byte for the end of a word, if it has that end.
std::string with_end_byte(std::string_view stored, std::string_view word_end) {
  const bool ends = stored.size() > word_end.size() && stored.ends_with(word_end);
  if (!ends) return std::string(stored);
  return std::string(stored.substr(0, stored.size() - word_end.size())).append(kStoredWordEnd);
}

// The merges of a vocabulary with a word end: those of each byte with the end, then the file's.
std::vector<std::string> merges_with_ends(const TokenizerSpec& spec) {
  std::vector<std::string> merges;
  merges.reserve(256 + spec.merges.size());
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    merges.push_back(to_byte_alphabet({&c, 1}).append(1, ' ').append(kStoredWordEnd));
  }
  for (const std::string& merge : spec.merges) {
    const size_t space = std::min(merge.find(' '), merge.size());
    merges.push_back(with_end_byte(std::string_view(merge).substr(0, space), spec.word_end));
    merges.back() += ' ';
    const std::string_view right =
        std::string_view(merge).substr(std::min(space + 1, merge.size()));
    merges.back() += with_end_byte(right, spec.word_end);
  }
  return merges;
}

// Fails unless every byte has a token of its own and one for the end of a word.
Status check_word_ends(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    const char both[] = {static_cast<char>(byte), kWordEnd};
    if (vocabulary.find({both, 1}) >= 0 && vocabulary.find({both, 2}) >= 0) continue;
    return fail(Code::unsupported,
                "tokenizer: byte 0x{:02X} has no token of its own or none with \"{}\"", byte,
                spec.word_end);
  }
  return {};
}

// The bytes of the tokens. Merges make only normal tokens, so only those are findable.
Vocabulary read_vocabulary(const TokenizerSpec& spec) {
  Vocabulary vocabulary;
  size_t n_bytes = 0;
  for (const std::string& text : spec.tokens) n_bytes += text.size();
  vocabulary.reserve(spec.tokens.size(), n_bytes);
  std::string bytes;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string stored =
        spec.word_end.empty() ? spec.tokens[i] : with_end_byte(spec.tokens[i], spec.word_end);
    const bool ordinary = spec.kinds[i] == TokenKind::normal;
    bytes.resize(stored.size());
    if (!ordinary || spec.raw_tokens) {
      vocabulary.add(stored, ordinary);
    } else if (const auto n = decode_byte_alphabet(stored, bytes.data())) {
      vocabulary.add({bytes.data(), *n}, true);
    } else {
      vocabulary.add(stored, false);
    }
  }
  vocabulary.finish();
  return vocabulary;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> ByteBpe::create(TokenizerSpec spec) {
  PreTokenizer pre_tokenizer =
      TRY(spec.splits.empty() && !spec.pre.empty() ? PreTokenizer::find(spec.pre)
                                                   : PreTokenizer::create(spec.splits));
  std::shared_ptr<ByteBpe> made(new ByteBpe(std::move(spec), std::move(pre_tokenizer)));
  const TokenizerSpec& own = made->spec_;
  Vocabulary vocabulary = read_vocabulary(own);
  made->find_lost_bytes(vocabulary);
  std::vector<std::string> ended;
  if (!own.word_end.empty()) {
    TRY(check_word_ends(own, vocabulary));
    ended = merges_with_ends(own);
  }
  MergeTrees::Rules rules{.by_text = own.merges.empty(), .pairs = PairTable(), .ranks = {}};
  if (!own.merges.empty()) {
    const MergeList list{
        .vocabulary = vocabulary,
        .decode = own.raw_tokens ? nullptr : &decode_byte_alphabet,
        .by_text = [&](std::string_view text) { return made->find(text).value_or(-1); }};
    rules.pairs = TRY(list.read(ended.empty() ? own.merges : ended));
  }
  const BpeCore::Options options{.symbols = BpeSymbols::bytes,
                                 .take_whole_words = own.ignore_merges,
                                 .unknown = own.unk.value_or(-1)};
  made->core_ = std::make_unique<BpeCore>(std::move(vocabulary), std::move(rules), options);
  made->forget_merges();
  return made;
}

ByteBpe::ByteBpe(TokenizerSpec spec, PreTokenizer pre_tokenizer)
    : SectionTokenizer(std::move(spec)), pre_tokenizer_(std::move(pre_tokenizer)) {}

// Bytes that valid UTF-8 never contains and that have no token. They are replaced only if the three
// bytes of U+FFFD have tokens.
void ByteBpe::find_lost_bytes(const Vocabulary& vocabulary) {
  for (int byte = 0xC0; byte < 0x100; ++byte)
    lost_[static_cast<size_t>(byte)] = byte < 0xC2 || byte > 0xF4;
  bool replaceable[3] = {};
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(static_cast<Token>(id));
    if (text.size() != 1 || spec_.kinds[id] != TokenKind::normal) continue;
    lost_[static_cast<uint8_t>(text[0])] = false;
    for (size_t i = 0; i < 3; ++i) replaceable[i] |= text[0] == kReplacementText[i];
  }
  if (!spec_.word_end.empty()) lost_[static_cast<uint8_t>(kWordEnd)] = true;
  loses_bytes_ = replaceable[0] && replaceable[1] && replaceable[2] &&
                 std::find(lost_.begin(), lost_.end(), true) != lost_.end();
}

void ByteBpe::encode_section(std::string_view text, Before, TokenSink& sink) const {
  const auto is_lost = [&](char c) { return lost_[static_cast<uint8_t>(c)]; };
  if (!loses_bytes_ || std::none_of(text.begin(), text.end(), is_lost)) {
    return encode_spaced_section(text, sink);
  }
  NormalizedText made;
  for (size_t i = 0; i < text.size(); ++i) {
    made.text += is_lost(text[i]) ? kReplacementText : text.substr(i, 1);
    made.origin.resize(made.text.size(), static_cast<uint32_t>(i));
  }
  made.origin.push_back(static_cast<uint32_t>(text.size()));
  const SpanMap map(sink);
  encode_spaced_section(made.text, sink);
  map.trace(sink, made.origin, true);
}

// Adds the leading space that some models want.
void ByteBpe::encode_spaced_section(std::string_view text, TokenSink& sink) const {
  if (!spec_.add_space_prefix || text[0] == ' ') return encode_plain_section(text, sink);
  const SpanMap map(sink);
  encode_plain_section(" " + std::string(text), sink);
  map.drop_prefix(sink, 1, text.size());
}

// Long texts are cut by this thread and encoded by several.
void ByteBpe::encode_plain_section(std::string_view text, TokenSink& sink) const {
  if (!spec_.word_end.empty()) return encode_ended_words(text, sink);
  if (const int n_threads = threads_for(text.size(), sink); n_threads > 1) {
    const WordWork work{.next_words =
                            [&](size_t& at, std::vector<Word>& words) {
                              return pre_tokenizer_.next_words(text, at, words);
                            },
                        .encode =
                            [&](std::span<const Word> words, TokenSink& part) {
                              BpeCore::Lease scratch(*core_);
                              core_->encode_words(text, words, *scratch, part);
                            }};
    return parallel_encode(work, n_threads, sink);
  }
  BpeCore::Lease scratch(*core_);
  for (size_t at = 0; pre_tokenizer_.next_words(text, at, scratch->words);) {
    core_->encode_words(text, scratch->words, *scratch, sink);
  }
}

// Each word is copied, with the end after it.
void ByteBpe::encode_ended_words(std::string_view text, TokenSink& sink) const {
  const size_t base = sink.at();
  BpeCore::Lease scratch(*core_);
  std::string ended;
  std::vector<uint32_t> origin;
  std::vector<Word> words;
  for (size_t at = 0; pre_tokenizer_.next_words(text, at, words);) {
    for (const Word word : words) {
      const uint32_t n = word.end - word.begin;
      ended.assign(text.substr(word.begin, n)).append(1, kWordEnd);
      sink.move_to(base + word.begin);
      const SpanMap map(sink);
      const Word whole{0, n + 1};
      core_->encode_words(ended, {&whole, 1}, *scratch, sink);
      if (!sink.keeps_spans()) continue;
      origin.resize(n + 1);
      std::iota(origin.begin(), origin.end(), 0U);
      origin.push_back(n);
      map.trace(sink, origin, false);
    }
  }
  sink.move_to(base);
}

void ByteBpe::append_bytes(Token id, bool with_special, std::string& out) const {
  if (is_control(id) && !with_special) return;
  const std::string_view text = core_->vocabulary().text(id);
  const bool ends_word = !spec_.word_end.empty() && text.size() > 1 && text.back() == kWordEnd;
  out += text.substr(0, text.size() - ends_word);
  if (ends_word) out += ' ';
}

void ByteBpe::append_all(std::span<const Token> ids, bool with_special, std::string& out) const {
  if (!spec_.word_end.empty()) {
    for (const Token id : ids) append_bytes(id, with_special, out);
    return;
  }
  const auto keeps = [&](Token id) { return with_special || !is_control(id); };
  core_->vocabulary().append_texts(ids, keeps, out);
}

}  // namespace ruv
