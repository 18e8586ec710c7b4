#include "grammar/mask/language_masks.h"

namespace ruv {
namespace {

// Rows of 1 KB that are kept from one mask to the next.
constexpr size_t kMaxRows = 16384;

}  // namespace

LanguageMasks::LanguageMasks(Languages& languages, const TokenTrie& trie, size_t max_masks)
    : languages_(languages), trie_(trie), max_masks_(max_masks) {
  path_.reserve(trie.depth() + 1);
  ends_.reserve(trie.depth() + 1);
}

// All derivatives of a language at once; those that lead nowhere are left out.
const LanguageMasks::Row& LanguageMasks::row(Language language) {
  const auto index = static_cast<size_t>(language);
  if (index < rows_.size() && rows_[index]) return *rows_[index];
  auto made = std::make_unique<Row>();
  made->fill(Language::nothing);
  const std::span<const Languages::Arc> span = languages_.arcs(language);
  const std::vector<Languages::Arc> arcs(span.begin(), span.end());
  for (const Languages::Arc& arc : arcs) {
    if (languages_.is_nothing(arc.next)) continue;
    arc.bytes.for_each([&](uint8_t byte) { (*made)[byte] = arc.next; });
  }
  if (index >= rows_.size()) rows_.resize(languages_.size());
  ++n_rows_;
  return *(rows_[index] = std::move(made));
}

Language LanguageMasks::after(Language language, std::string_view bytes) {
  for (const char byte : bytes) {
    if (language == Language::nothing) break;
    language = after(language, static_cast<uint8_t>(byte));
  }
  return language;
}

const TokenMask& LanguageMasks::mask(Language language) {
  const auto found = masks_.find(language);
  if (found != masks_.end()) return found->second;
  if (masks_.size() >= max_masks_) masks_.clear();
  if (n_rows_ >= kMaxRows) {
    rows_.clear();
    n_rows_ = 0;
  }
  TokenMask made(trie_.n_vocab());
  walk(language, made);
  return masks_.emplace(language, std::move(made)).first->second;
}

// One scan of the tree: a byte after which nothing can follow skips its subtree.
void LanguageMasks::walk(Language language, TokenMask& mask) {
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  path_.assign(1, &row(language));
  ends_.assign(1, static_cast<uint32_t>(nodes.size()));
  for (uint32_t i = 1; i < nodes.size();) {
    while (i == ends_.back()) {
      ends_.pop_back();
      path_.pop_back();
    }
    const TokenTrie::Node& node = nodes[i];
    const Language next = (*path_.back())[node.byte];
    if (next == Language::nothing) {
      i = node.end;
      continue;
    }
    mask.add(trie_.tokens(node));
    if (node.end != i + 1) {
      path_.push_back(&row(next));
      ends_.push_back(node.end);
    }
    ++i;
  }
}

}  // namespace ruv
