#include "text/token_prefixes.h"

#include <algorithm>

namespace ruv {
namespace {

// Whether a model may write this token as text.
bool is_plain_text(const Tokenizer& tokenizer, Token id) {
  const TokenKind kind = tokenizer.spec().kinds[static_cast<size_t>(id)];
  return kind != TokenKind::unused && !tokenizer.is_control(id) && !tokenizer.ends_answer(id);
}

// The first eight bytes as a number that compares as they do.
uint64_t first_bytes(std::string_view text) {
  uint64_t key = 0;
  for (size_t i = 0; i < 8; ++i) {
    key = key << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  }
  return key;
}

}  // namespace

// Sorts by the first eight bytes as a number, and compares texts only on ties.
TokenPrefixes::TokenPrefixes(const Tokenizer& tokenizer) {
  struct Entry {
    uint64_t key;
    Token id;
  };
  std::vector<Entry> entries;
  const Token n = tokenizer.vocab_size();
  ends_.reserve(static_cast<size_t>(n));
  entries.reserve(static_cast<size_t>(n));
  for (Token id = 0; id < n; ++id) {
    const std::string text = is_plain_text(tokenizer, id) ? tokenizer.token_bytes(id, false) : "";
    texts_ += text;
    ends_.push_back(static_cast<uint32_t>(texts_.size()));
    longest_ = std::max(longest_, text.size());
    if (!text.empty()) entries.push_back({first_bytes(text), id});
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = bytes(a.id).compare(bytes(b.id));
    return order != 0 ? order < 0 : a.id < b.id;
  });
  order_.reserve(entries.size());
  for (const Entry& entry : entries) order_.push_back(entry.id);
}

std::string_view TokenPrefixes::bytes(Token id) const {
  const auto i = static_cast<size_t>(id);
  const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(texts_).substr(begin, ends_[i] - begin);
}

// Two binary searches: the first text not below `text`, and the first that no longer begins with
// it.
std::span<const Token> TokenPrefixes::beginning_with(std::string_view text) const {
  const auto start_of = [&](Token id) { return bytes(id).substr(0, text.size()); };
  const auto first =
      std::lower_bound(order_.begin(), order_.end(), text,
                       [&](Token id, std::string_view wanted) { return start_of(id) < wanted; });
  const auto last =
      std::upper_bound(first, order_.end(), text,
                       [&](std::string_view wanted, Token id) { return wanted < start_of(id); });
  return {first, last};
}

std::span<const Token> TokenPrefixes::equal_to(std::string_view text) const {
  const std::span<const Token> all = beginning_with(text);
  const auto end = std::partition_point(all.begin(), all.end(),
                                        [&](Token id) { return bytes(id).size() == text.size(); });
  return all.first(static_cast<size_t>(end - all.begin()));
}

}  // namespace ruv
