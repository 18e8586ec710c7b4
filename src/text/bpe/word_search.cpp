// Takes the longest token that may follow; when there is none, replaces the last one taken by a
// shorter one. word_search.h explains why this is exact and linear.
#include "text/bpe/word_search.h"

#include "base/utf8.h"

namespace ruv {
namespace {

bool is_inside_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

}  // namespace

void WordSearch::set_dead(size_t at, size_t size) {
  if (!any_dead_) dead_.assign(size / 64 + 1, 0);
  any_dead_ = true;
  dead_[at / 64] |= uint64_t{1} << (at % 64);
}

Token WordSearch::symbol_at(size_t at) const {
  const auto byte = static_cast<uint8_t>(text_[at]);
  if (symbols_ == BpeSymbols::bytes || byte < 0x80) return byte_tokens_[byte];
  return vocabulary_->find(text_.substr(at, decode_utf8(text_, at).size));
}

// Whether `id` may follow `last`, or begin a text when that is -1.
bool WordSearch::may_stand(Token last, Token id) {
  if (last < 0) return trees_->is_made(id);
  // A zero entry is empty: among pairs of ids below 2^31 only (0, 0) has that key.
  const uint64_t pair = (static_cast<uint64_t>(last) << 32) | (static_cast<uint64_t>(id) << 1);
  uint64_t& known = pairs_[(pair * 0x9E3779B97F4A7C15ULL) >> (64 - kPairBits)];
  if ((known & ~uint64_t{1}) == pair && pair != 0) return (known & 1) != 0;
  const bool may = trees_->is_made(id) && trees_->may_meet(last, id);
  known = pair | (may ? 1 : 0);
  return may;
}

// The longest token at `at` that is shorter than `below` bytes and may follow `last`; -1 when there
// is none. Single bytes are not among the beginnings and are tried last.
Token WordSearch::next_token(size_t at, Token last, size_t below) {
  const size_t limit = std::min(text_.size() - at, below - 1);
  size_t n = vocabulary_->beginnings(text_.data() + at, limit, beginnings_.data());
  while (n > 0) {
    const Vocabulary::Beginning& beginning = beginnings_[--n];
    const size_t end = at + beginning.size;
    if (symbols_ == BpeSymbols::characters && end < text_.size() &&
        is_inside_character(text_[end])) {
      continue;
    }
    if (is_dead(end)) continue;
    const Vocabulary::Entry* entry =
        vocabulary_->find(beginning.key, beginning.hash, text_.data() + at);
    if (entry != nullptr && may_stand(last, entry->id)) return entry->id;
  }
  if (limit == 0) return -1;
  const auto byte = static_cast<uint8_t>(text_[at]);
  const Token one = symbols_ == BpeSymbols::bytes || byte < 0x80 ? byte_tokens_[byte] : -1;
  return one >= 0 && !is_dead(at + 1) && may_stand(last, one) ? one : -1;
}

// The main loop. `below` limits the next token at a place that was backed out of.
size_t WordSearch::search(std::string_view text) {
  text_ = text;
  path_.clear();
  any_dead_ = false;
  size_t at = 0;
  size_t below = SIZE_MAX;
  while (at < text.size()) {
    const Token last = path_.empty() ? -1 : path_.back();
    const Token next = next_token(at, last, below);
    below = SIZE_MAX;
    if (next >= 0) {
      path_.push_back(next);
      at += vocabulary_->length(next);
      continue;
    }
    if (symbol_at(at) < 0) return at;
    if (path_.empty()) return kNone;
    set_dead(at, text.size());
    below = vocabulary_->length(last);
    at -= below;
    path_.pop_back();
  }
  return at;
}

void WordSearch::shrink() {
  constexpr size_t kKept = size_t{1} << 16;
  if (path_.capacity() > kKept) std::vector<Token>().swap(path_);
  if (dead_.capacity() > kKept) std::vector<uint64_t>().swap(dead_);
}

}  // namespace ruv
