// The trie is built level by level from the sorted texts: a node is the range of texts that share
// its prefix.
#include "text/added_tokens.h"

#include <algorithm>

#include "text/split/char_class.h"

namespace ruv {
namespace {

bool is_word_char(const Char& c) {
  return c.in(chars::kLetter | chars::kMark | chars::kDecimal | chars::kConnector);
}

// The character that ends at `end`. Requires: end > 0.
Char char_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) {
    --begin;
  }
  const Char c = char_at(text, begin);
  return c.size == end - begin ? c : char_at(text, end - 1);
}

// For single_word: whether the neighbours of [begin, end) are not word characters.
bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const bool word_before = begin > 0 && is_word_char(char_before(text, begin));
  return !word_before && !is_word_char(char_at(text, end));
}

// For lstrip and rstrip: the text's end or start without the white space next to the token.
size_t without_spaces_before(std::string_view text, size_t begin, size_t from) {
  while (begin > from) {
    const Char c = char_before(text, begin);
    if (!c.in(chars::kSpace) || begin - from < c.size) break;
    begin -= c.size;
  }
  return begin;
}

size_t without_spaces_after(std::string_view text, size_t end) {
  for (Char c = char_at(text, end); c.in(chars::kSpace); c = char_at(text, end)) end += c.size;
  return end;
}

}  // namespace

// Builds the trie breadth first from the sorted texts, so that the children of a node are
// neighbours.
AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& t) { return t.text.empty(); });
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
  const auto same_text = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same_text), tokens_.end());
  first_pairs_.resize(65536 / 64);
  for (const AddedToken& t : tokens_) {
    longest_ = std::max(longest_, t.text.size());
    const auto first = static_cast<uint8_t>(t.text[0]);
    if (first_bytes_.find(t.text[0]) == std::string::npos) first_bytes_ += t.text[0];
    for (uint32_t second = 0; second < 256; ++second) {
      if (t.text.size() > 1 && static_cast<uint8_t>(t.text[1]) != second) continue;
      const uint32_t pair = (uint32_t{first} << 8) | second;
      first_pairs_[pair / 64] |= uint64_t{1} << (pair % 64);
    }
  }

  struct Prefix {
    size_t begin, end, depth;  // tokens_[begin, end) share `depth` bytes
  };
  std::vector<Prefix> prefixes = {{0, tokens_.size(), 0}};
  nodes_.emplace_back();
  for (size_t i = 0; i < prefixes.size(); ++i) {
    auto [begin, end, depth] = prefixes[i];
    if (begin < end && tokens_[begin].text.size() == depth) {
      nodes_[i].token = static_cast<int32_t>(begin++);
    }
    nodes_[i].first_child = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      const char label = tokens_[begin].text[depth];
      size_t last = begin;
      while (last < end && tokens_[last].text[depth] == label) ++last;
      nodes_.push_back({.label = static_cast<uint8_t>(label)});
      prefixes.push_back({begin, last, depth + 1});
      ++nodes_[i].n_children;
      begin = last;
    }
  }
}

const AddedTokens::Node* AddedTokens::child(const Node& node, uint8_t label) const {
  const Node* begin = nodes_.data() + node.first_child;
  const Node* end = begin + node.n_children;
  const Node* found = std::lower_bound(
      begin, end, label, [](const Node& n, uint8_t wanted) { return n.label < wanted; });
  return found != end && found->label == label ? found : nullptr;
}

const AddedToken* AddedTokens::match(std::string_view text, size_t at, size_t special_end) const {
  const AddedToken* best = nullptr;
  const Node* node = nodes_.data();
  for (size_t i = at; i < text.size(); ++i) {
    node = child(*node, static_cast<uint8_t>(text[i]));
    if (node == nullptr) break;
    if (node->token < 0) continue;
    const AddedToken& token = tokens_[static_cast<size_t>(node->token)];
    if (!token.special || i + 1 <= special_end) best = &token;
  }
  return best;
}

// Iterates over the places where a token may begin, ascending. With few distinct first bytes each
// is searched by memchr, which is fast; with many, every byte is tested.
class AddedTokens::Places {
 public:
  Places(std::string_view text, std::string_view first_bytes) : text_(text), bytes_(first_bytes) {
    next_.fill(0);
    if (bytes_.size() <= kFew) {
      for (size_t i = 0; i < bytes_.size(); ++i) next_[i] = find(bytes_[i], 0);
    } else {
      for (const char c : bytes_) begins_[static_cast<uint8_t>(c)] = true;
    }
  }
  // The first place at or after `at`; text.size() when there is none.
  size_t from(size_t at) {
    if (bytes_.size() > kFew) return from_table(at);
    size_t nearest = text_.size();
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (next_[i] < at) next_[i] = find(bytes_[i], at);
      nearest = std::min(nearest, next_[i]);
    }
    return nearest;
  }

 private:
  static constexpr size_t kFew = 4;

  size_t find(char c, size_t at) const { return std::min(text_.find(c, at), text_.size()); }
  size_t from_table(size_t at) const {
    const auto begins = [&](size_t i) { return begins_[static_cast<uint8_t>(text_[i])]; };
    while (at + 8 <= text_.size()) {
      bool any = false;
      for (size_t i = at; i < at + 8; ++i) any |= begins(i);
      if (any) break;
      at += 8;
    }
    while (at < text_.size() && !begins(at)) ++at;
    return at;
  }

  std::string_view text_;
  std::string_view bytes_;
  std::array<size_t, kFew> next_;
  std::array<bool, 256> begins_{};
};

bool AddedTokens::may_begin(std::string_view text, size_t at) const {
  if (at + 1 == text.size()) return true;
  const uint32_t first = static_cast<uint8_t>(text[at]);
  const uint32_t pair = (first << 8) | static_cast<uint8_t>(text[at + 1]);
  return ((first_pairs_[pair / 64] >> (pair % 64)) & 1) != 0;
}

void AddedTokens::split(std::string_view text, std::span<const SpecialRange> ranges,
                        std::vector<Section>& out) const {
  size_t plain = 0;  // where the text that no token has taken begins
  Places places(text, first_bytes_);
  for (size_t at = places.from(0); at < text.size(); at = places.from(at)) {
    while (ranges.front().end <= at) ranges = ranges.subspan(1);
    const size_t special_end =
        ranges.front().special == SpecialParsing::on ? ranges.front().end : at;
    const AddedToken* token = may_begin(text, at) ? match(text, at, special_end) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->text.size();
    at = end;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    if (token->lstrip) begin = without_spaces_before(text, begin, plain);
    if (token->rstrip) end = without_spaces_after(text, end);
    if (begin > plain) out.push_back({plain, begin, -1});
    out.push_back({begin, end, token->id});
    at = plain = end;
  }
  if (plain < text.size()) out.push_back({plain, text.size(), -1});
}

}  // namespace ruv
