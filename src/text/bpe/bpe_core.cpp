// Words are processed in blocks: the keys of a block are hashed and their slots prefetched before
// the first word is looked up.
#include "text/bpe/bpe_core.h"

#include <algorithm>
#include <utility>

#include "base/thread.h"
#include "base/utf8.h"

namespace ruv {
namespace {

// Fast check for UTF-8: most characters have one byte, or three that need one look each.
bool is_valid_text(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080ULL;
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  while (i < text.size()) {
    if (i + 8 <= text.size() && (load_word(text.data() + i) & kHighBits) == 0) {
      i += 8;
    } else if (byte(i) < 0x80) {
      ++i;
    } else if (byte(i) > 0xE0 && byte(i) < 0xED && i + 3 <= text.size() &&
               ((byte(i + 1) ^ 0x80) | (byte(i + 2) ^ 0x80)) < 0x40) {
      i += 3;
    } else {
      const CodePoint c = decode_utf8(text, i);
      if (!c.valid) return false;
      i += c.size;
    }
  }
  return true;
}

constexpr size_t kSettledFirst = 16'000;  // tokens, a few milliseconds
constexpr size_t kPooled = 64;            // scratches kept between calls
constexpr size_t kLargeBuffer = 1 << 20;  // bytes of a buffer that is not kept
constexpr size_t kLongWord = 1 << 16;     // bytes of a word whose ids are not gathered

}  // namespace

BpeCore::Lease::Lease(const BpeCore& core) : core_(core) {
  {
    const Lock lock(core.mutex_);
    if (!core.pool_.empty()) {
      scratch_ = std::move(core.pool_.back());
      core.pool_.pop_back();
    }
  }
  if (scratch_ == nullptr) scratch_ = std::make_unique<Scratch>(core);
  scratch_->after_unknown = false;
}

BpeCore::Lease::~Lease() {
  Scratch& s = *scratch_;
  s.search.shrink();
  if (s.symbols.capacity() * sizeof(Symbol) > kLargeBuffer) {
    std::vector<Symbol>().swap(s.symbols);
    s.merger = SymbolMerger();
  }
  if (s.ids.capacity() * sizeof(Token) > kLargeBuffer) std::vector<Token>().swap(s.ids);
  if (s.padded.capacity() > kLargeBuffer) std::string().swap(s.padded);
  if (s.text.text.capacity() > kLargeBuffer) s.text = {};
  const Lock lock(core_.mutex_);
  if (core_.pool_.size() < kPooled) core_.pool_.push_back(std::move(scratch_));
}

BpeCore::BpeCore(Vocabulary vocabulary, MergeTrees::Rules rules, const Options& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      trees_(vocabulary_, options.symbols, std::move(rules)) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    byte_tokens_[byte] = vocabulary_.find({&c, 1});
  }
  if (options.symbols == BpeSymbols::characters && trees_.rules().by_text) {
    note_characters();
  }
  // Finds the trees of the first ids, the most frequent tokens, while loading.
  const auto n_first = static_cast<Token>(std::min(vocabulary_.size(), kSettledFirst));
  for (Token id = 0; id < n_first; ++id) trees_.is_made(id);
}

namespace {

// Calls f(character) for the characters of a token that has several.
template <class F>
void for_each_part(std::string_view text, const F& f) {
  for (size_t at = 0; at < text.size();) {
    const bool is_ascii = static_cast<uint8_t>(text[at]) < 0x80;
    const size_t size = is_ascii ? 1 : decode_utf8(text, at).size;
    if (size < text.size()) f(text.substr(at, size));
    at += size;
  }
}

bool comes_before(const WordKey& a, const WordKey& b) {
  return a.low != b.low ? a.low < b.low : a.high < b.high;
}

}  // namespace

void BpeCore::note_characters() {
  part_bits_.resize(8192);
  std::array<bool, 128> seen{};  // most are ASCII, again and again
  for (size_t i = 0; i < vocabulary_.size(); ++i) {
    for_each_part(vocabulary_.text(static_cast<Token>(i)), [&](std::string_view character) {
      const auto byte = static_cast<uint8_t>(character[0]);
      if (byte < 0x80 && std::exchange(seen[byte], true)) return;
      const uint64_t hash = hash_of(key_of(character));
      part_bits_[(hash >> 6) % part_bits_.size()] |= uint64_t{1} << (hash & 63);
    });
  }
}

void BpeCore::find_parts() const {
  parts_.clear();  // an earlier call may have run out of memory
  std::array<bool, 128> seen{};
  for (size_t i = 0; i < vocabulary_.size(); ++i) {
    for_each_part(vocabulary_.text(static_cast<Token>(i)), [&](std::string_view character) {
      const auto byte = static_cast<uint8_t>(character[0]);
      if (byte < 0x80 && std::exchange(seen[byte], true)) return;
      if (vocabulary_.find(character) < 0) parts_.push_back(key_of(character));
    });
  }
  std::sort(parts_.begin(), parts_.end(), comes_before);
}

// Whether a character without a token occurs in a longer token; if not, no merge can cross it.
// Requires: the character is not a token.
bool BpeCore::may_be_part(std::string_view character) const {
  if (part_bits_.empty()) return false;
  const WordKey key = key_of(character);
  const uint64_t hash = hash_of(key);
  if (((part_bits_[(hash >> 6) % part_bits_.size()] >> (hash & 63)) & 1) == 0) return false;
  parts_found_.run([&] { find_parts(); });
  return std::binary_search(parts_.begin(), parts_.end(), key, comes_before);
}

// Whether a word equal to this token becomes this token alone. The answer is cached in the entry's
// mark.
bool BpeCore::is_whole(const Vocabulary::Entry& entry) const {
  enum : uint32_t { kUnasked, kYes, kNo };
  if (options_.take_whole_words) return true;
  const uint32_t mark = entry.mark.load(std::memory_order_relaxed);
  if (mark != kUnasked) return mark == kYes;
  const bool made = trees_.is_made(entry.id);
  entry.mark.store(made ? kYes : kNo, std::memory_order_relaxed);
  return made;
}

void BpeCore::encode_words(std::string_view text, std::span<const Word> words, Scratch& scratch,
                           TokenSink& sink) const {
  const size_t base = sink.at();
  const size_t n_block = sink.keeps_spans() ? 1 : kBlock;
  while (!words.empty()) {
    const std::span<const Word> block = words.first(std::min(words.size(), n_block));
    words = words.subspan(block.size());
    const size_t begin = block.front().begin;
    const size_t end = block.back().end;
    sink.move_to(base + begin);
    if (end + Vocabulary::kPadding <= text.size()) {
      encode_block(text.data(), block, scratch, sink);
    } else {
      scratch.padded.assign(text.substr(begin, end - begin));
      scratch.padded.append(Vocabulary::kPadding, '\0');
      encode_block(scratch.padded.data() - begin, block, scratch, sink);
    }
  }
  sink.move_to(base);
}

// Requires: Vocabulary::kPadding bytes may be read after the words.
void BpeCore::encode_block(const char* text, std::span<const Word> words, Scratch& scratch,
                           TokenSink& sink) const {
  std::array<Probe, kBlock> probes;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t n = words[i].end - words[i].begin;
    if (n > WordKey::kShort && n > vocabulary_.longest()) continue;
    probes[i].key = padded_key(text + words[i].begin, n);
    probes[i].hash = hash_of(probes[i].key);
    vocabulary_.prefetch(probes[i].hash);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word(text + words[i].begin, words[i].end - words[i].begin);
    encode_word(word, probes[i], scratch, sink);
  }
  flush(scratch, sink);
}

void BpeCore::encode_word(std::string_view word, const Probe& probe, Scratch& scratch,
                          TokenSink& sink) const {
  const bool is_short = word.size() <= WordKey::kShort;
  if (is_short || word.size() <= vocabulary_.longest()) {
    const auto* entry = vocabulary_.find(probe.key, probe.hash, word.data());
    if (entry != nullptr && is_whole(*entry)) {
      scratch.ids.push_back(entry->id);
      return;
    }
  }
  if (is_short) {
    if (const Token* ids = scratch.cache.find(probe.key, probe.hash)) {
      for (size_t i = 0; i < WordCache::kIds && ids[i] >= 0; ++i) scratch.ids.push_back(ids[i]);
      return;
    }
  }
  if (word.size() >= kLongWord && send_long_word(word, scratch, sink)) return;
  const size_t n_before = scratch.ids.size();
  if (search_word(word, scratch) || merge_tokens(word, scratch)) {
    if (is_short) {
      scratch.cache.keep(probe.key, probe.hash, std::span(scratch.ids).subspan(n_before));
    }
    return;
  }
  flush(scratch, sink);
  for (const Symbol& symbol : scratch.symbols) {
    send_symbol(word.substr(symbol.begin, symbol.end - symbol.begin), symbol.id, scratch, sink);
  }
}

// As search_word, for a word so long that a second copy of its ids would matter.
bool BpeCore::send_long_word(std::string_view word, Scratch& scratch, TokenSink& sink) const {
  flush(scratch, sink);
  if (options_.symbols == BpeSymbols::characters && !is_valid_text(word)) return false;
  if (scratch.search.search(word) != word.size()) return false;
  scratch.after_unknown = false;
  send_ids(scratch.search.tokens(), sink);
  return true;
}

// Appends the ids of a word; false, with none appended, when merging has to decide.
bool BpeCore::search_word(std::string_view word, Scratch& scratch) const {
  const size_t n_before = scratch.ids.size();
  const auto give_up = [&] {
    scratch.ids.resize(n_before);
    return false;
  };
  const bool by_characters = options_.symbols == BpeSymbols::characters;
  if (by_characters && !is_valid_text(word)) return false;
  for (size_t at = 0; at < word.size();) {
    const size_t reach = scratch.search.search(word.substr(at));
    if (reach == WordSearch::kNone) return give_up();
    const std::span<const Token> found = scratch.search.tokens();
    scratch.ids.insert(scratch.ids.end(), found.begin(), found.end());
    at += reach;
    if (at == word.size()) return true;
    if (!by_characters) return give_up();
    // No merge crosses a character that is not part of any token.
    const std::string_view character = word.substr(at, decode_utf8(word, at).size);
    if (may_be_part(character) || !has_fallback(character)) return give_up();
    for (const char c : character) {
      scratch.ids.push_back(options_.fallback_bytes[static_cast<uint8_t>(c)]);
    }
    at += character.size();
  }
  return true;
}

bool BpeCore::has_fallback(std::string_view character) const {
  return std::all_of(character.begin(), character.end(),
                     [&](char c) { return options_.fallback_bytes[static_cast<uint8_t>(c)] >= 0; });
}

// Splits a word into symbols and merges them by definition.
void BpeCore::merge_symbols(std::string_view word, Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  if (options_.symbols == BpeSymbols::bytes) {
    // Merge lists treat bytes without a token as absent; their place goes to a neighbour.
    const bool drops = options_.unknown < 0 && !trees_.rules().by_text;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < word.size(); ++i) {
      const Token id = byte_tokens_[static_cast<uint8_t>(word[i])];
      if (id >= 0 || !drops) {
        symbols.push_back({begin, i + 1, id >= 0 ? id : options_.unknown});
      } else if (!symbols.empty()) {
        symbols.back().end = i + 1;
      } else {
        continue;
      }
      begin = i + 1;
    }
  } else {
    for (uint32_t i = 0; i < word.size();) {
      const uint32_t end = i + decode_utf8(word, i).size;
      symbols.push_back({i, end, vocabulary_.find(word.substr(i, end - i))});
      i = end;
    }
  }
  const MergeTrees::Rules& rules = trees_.rules();
  if (!rules.by_text) {
    scratch.merger.merge(symbols, [&](const Symbol& left, const Symbol& right) {
      return rules.pairs.find(left.id, right.id);
    });
  } else {
    scratch.merger.merge(symbols, [&](const Symbol& left, const Symbol& right) {
      const Token id = vocabulary_.find(word.substr(left.begin, right.end - left.begin));
      return id < 0 ? Merge{} : Merge{trees_.rank_of_result(id), id};
    });
  }
}

// Appends the ids that merging gives; false, with none appended, when not all symbols became
// tokens of their text. The symbols stay in `scratch`.
bool BpeCore::merge_tokens(std::string_view word, Scratch& scratch) const {
  merge_symbols(word, scratch);
  const bool all =
      std::all_of(scratch.symbols.begin(), scratch.symbols.end(), [&](const Symbol& symbol) {
        return symbol.id >= 0 && vocabulary_.length(symbol.id) == symbol.end - symbol.begin;
      });
  if (!all) return false;
  for (const Symbol& symbol : scratch.symbols) scratch.ids.push_back(symbol.id);
  return true;
}

void BpeCore::merge_word(std::string_view word, Scratch& scratch, TokenSink& sink) const {
  merge_symbols(word, scratch);
  if (scratch.symbols.empty()) sink.skip(word.size());
  for (const Symbol& symbol : scratch.symbols) {
    send_symbol(word.substr(symbol.begin, symbol.end - symbol.begin), symbol.id, scratch, sink);
  }
}

void BpeCore::send_symbol(std::string_view text, Token id, Scratch& scratch,
                          TokenSink& sink) const {
  const bool was_unknown = std::exchange(scratch.after_unknown, false);
  if (id >= 0) return sink.push(id, text.size());
  if (options_.symbols == BpeSymbols::characters && has_fallback(text)) {
    for (const char c : text) sink.push(options_.fallback_bytes[static_cast<uint8_t>(c)], 1);
    return;
  }
  if (options_.unknown < 0) return sink.skip(text.size());
  scratch.after_unknown = options_.fuse_unknown;
  if (was_unknown) return sink.extend(text.size());
  sink.push(options_.unknown, text.size());
}

void BpeCore::flush(Scratch& scratch, TokenSink& sink) const {
  if (scratch.ids.empty()) return;
  scratch.after_unknown = false;
  send_ids(scratch.ids, sink);
  scratch.ids.clear();
}

void BpeCore::send_ids(std::span<const Token> ids, TokenSink& sink) const {
  if (!sink.keeps_spans()) return sink.push_word(ids);
  for (const Token id : ids) sink.push(id, vocabulary_.length(id));
}

}  // namespace ruv
