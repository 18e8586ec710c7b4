#include "grammar/form/form_reader.h"

#include <algorithm>

#include "grammar/form/expansion.h"
#include "grammar/form/rest_walk.h"

namespace ruv {
namespace {

// Bytes that a value of JSON or a space can begin with.
constexpr size_t kFewBytes = 24;

}  // namespace

void FormReader::Frontier::clear() {
  heads.clear();
  tokens.clear();
  done = false;
}

FormReader::FormReader(const FormParts& parts, Language prefix, FormNodes::Node start)
    : parts_(parts),
      nodes_(std::make_shared<FormNodes>()),
      scratch_(std::make_shared<Scratch>(parts)) {
  Expansion expansion(*this, frontier_);
  expansion.add(prefix, nodes_->make(start));
  gave_up_ = !expansion.finish();
}

// A character that ends is counted. Where both limits have come within reach, the language counts
// from there on.
FormReader::Head FormReader::moved(const Head& head, Language rest) const {
  if (head.max == 0) return {rest, head.next};
  LongStrings& strings = *scratch_->strings;
  if (!strings.is_between(rest)) return {rest, head.next, head.min, head.max};
  const bool is_limited = head.max != Languages::kUnlimited;
  const LongStrings::Length left = {head.min == 0 ? 0 : head.min - 1,
                                    is_limited ? head.max - 1 : head.max};
  if (!strings.is_long(left)) return {strings.rest(left), head.next};
  // Nothing to count but a limit that is far away: the language stays the same.
  return {left.min == 0 ? rest : strings.rest(left), head.next, left.min, left.max};
}

// Heads after a byte, not expanded. False: none is left.
bool FormReader::move(const Frontier& from, uint8_t byte, Frontier& to) const {
  to.clear();
  for (const Head& head : from.heads) {
    const Language rest = parts_.masks->after(head.rest, byte);
    if (rest != Language::nothing) to.heads.push_back(moved(head, rest));
  }
  return !to.heads.empty();
}

// Requires: text_ ends with the byte that led here. False: something depends on unknown bytes.
bool FormReader::expand(const Frontier& moved, Frontier& to) const {
  to.clear();
  Expansion expansion(*this, to);
  for (const Head& head : moved.heads) expansion.add(head);
  if (!expansion.finish()) {
    gave_up_ = true;
    to.clear();
  }
  return !expansion.is_unsure();
}

// A string that has one spelling only takes one text of those that are left.
bool FormReader::needs_unknown(const Head& head) const {
  if ((*nodes_)[head.next].kind != FormNodes::Kind::unsure) return false;
  const bool one_spelling = parts_.goals->text().style().escapes == JsonEscapes::needed;
  return !one_spelling || !parts_.masks->languages().has_several(head.rest);
}

// Reads bytes into `frontier` and `text`. False: they do not fit.
bool FormReader::walk(std::string_view bytes, Frontier& frontier, std::string& text) const {
  Frontier moved;
  for (const char byte : bytes) {
    if (!move(frontier, static_cast<uint8_t>(byte), moved)) return false;
    text.push_back(byte);
    expand(moved, frontier);
  }
  return !frontier.empty() || frontier.done;
}

// Works on copies, so that what does not fit changes nothing.
bool FormReader::accept(std::string_view bytes) {
  Frontier next = frontier_;
  const size_t size = text_.size();
  if (!walk(bytes, next, text_)) {
    text_.resize(size);
    return false;
  }
  frontier_ = std::move(next);
  if (!bytes.empty()) last_ = static_cast<uint8_t>(bytes.back());
  forget_text();
  return true;
}

bool FormReader::allows_token(Token token) const {
  return std::ranges::any_of(frontier_.tokens, [&](FormNode id) {
    return parts_.rules->token_sets[(*nodes_)[id].a].has(token);
  });
}

bool FormReader::accept_token(Token token) {
  Frontier next;
  Expansion expansion(*this, next);
  bool fits = false;
  for (const FormNode id : frontier_.tokens) {
    const FormNodes::Node node = (*nodes_)[id];
    if (!parts_.rules->token_sets[node.a].has(token)) continue;
    fits = true;
    expansion.add(node.parent);
  }
  if (!fits || !expansion.finish()) return false;
  frontier_ = std::move(next);
  forget_text();
  return true;
}

// As accept(), and puts everything back.
bool FormReader::allows(std::string_view bytes) const {
  Frontier next = frontier_;
  const size_t size = text_.size();
  const size_t n_nodes = nodes_->size();
  const bool fits = walk(bytes, next, text_);
  text_.resize(size);
  nodes_->cut(n_nodes);
  return fits;
}

// Text is kept only while a key or an item that must be told apart from others is being written.
void FormReader::forget_text() {
  uint32_t oldest = FormNodes::kNoMark;
  for (const Head& head : frontier_.heads) oldest = std::min(oldest, (*nodes_)[head.next].oldest);
  const auto end = text_begin_ + static_cast<uint32_t>(text_.size());
  const uint32_t keep = std::min(oldest, end);
  text_.erase(0, keep - text_begin_);
  text_begin_ = keep;
}

// The union over the heads: tokens that stay in a language, and tokens in which it ends.
void FormReader::allow(TokenMask& mask) const {
  for (const Head& head : frontier_.heads) parts_.masks->tokens(head.rest)->add_to(mask);
  const bool needs_text = std::ranges::any_of(
      frontier_.heads, [&](const Head& head) { return this->needs_text(head); });
  const auto known = needs_text ? std::nullopt : scratch_->rests.find(frontier_.heads);
  if (known) {
    mask.add(*known);
  } else {
    std::vector<Token> found;
    find_rests(mask, found);
    mask.add(found);
    if (!needs_text && !gave_up_) scratch_->rests.keep(frontier_.heads, found);
  }
  for (const FormNode id : frontier_.tokens) {
    parts_.rules->token_sets[(*nodes_)[id].a].add_to(mask, parts_.masks->trie().n_vocab());
  }
}

void FormReader::find_rests(const TokenMask& mask, std::vector<Token>& found) const {
  const size_t n_nodes = nodes_->size();
  for (const Head& head : frontier_.heads) {
    const std::shared_ptr<const LanguageTokens> tokens = parts_.masks->tokens(head.rest);
    if (!tokens->rests) continue;
    if (tokens->rests_by_text.empty() || !needs_text(head)) {
      RestWalk(*this, *tokens, mask, found).run(head.next);
      continue;
    }
    for (const LanguageTokens::Rests& rests : tokens->rests_by_text) {
      RestWalk(*this, *tokens, rests, mask, found).run(head.next);
    }
  }
  nodes_->cut(n_nodes);
}

// Follows single bytes until there is a choice. Inside a string, more bytes may follow a comma than
// values begin with.
std::string FormReader::foreseen(size_t max_bytes) const {
  std::string made;
  const size_t size = text_.size();
  const size_t n_nodes = nodes_->size();
  Frontier at = frontier_;
  Frontier moved;
  Languages& l = parts_.masks->languages();
  while (made.size() < max_bytes && !at.done && at.tokens.empty()) {
    ByteSet bytes;
    for (const Head& head : at.heads) {
      const std::span<const Languages::Arc> span = l.arcs(head.rest);
      for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
        if (!l.is_nothing(arc.next)) bytes |= arc.bytes;
      }
    }
    const uint8_t last = made.empty() ? last_ : static_cast<uint8_t>(made.back());
    const bool after_mark = last == ':' || last == ',';
    const bool is_space = after_mark && bytes.has(' ') && bytes.size() <= kFewBytes;
    const uint8_t next = is_space ? ' ' : bytes.first();
    if ((bytes.size() != 1 && !is_space) || !move(at, next, moved)) break;
    made.push_back(static_cast<char>(next));
    text_.push_back(made.back());
    expand(moved, at);
  }
  text_.resize(size);
  nodes_->cut(n_nodes);
  return made;
}

}  // namespace ruv
