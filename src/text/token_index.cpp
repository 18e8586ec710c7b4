// Open addressing with linear probing, at most half full.
#include "text/token_index.h"

#include <algorithm>
#include <functional>

namespace ruv {

void TokenIndex::add(std::string_view text, bool findable) {
  const auto id = static_cast<Token>(ends_.size());
  bytes_ += text;
  ends_.push_back(bytes_.size());
  if (!findable || text.empty()) return;
  if (2 * (n_used_ + 1) > slots_.size()) grow();
  Token& slot = slots_[slot_of(text)];
  if (slot >= 0) return;
  slot = id;
  ++n_used_;
  longest_ = std::max(longest_, text.size());
}

std::string_view TokenIndex::text(Token id) const {
  const auto i = static_cast<size_t>(id);
  const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

std::optional<Token> TokenIndex::find(std::string_view text) const {
  if (text.empty() || text.size() > longest_) return std::nullopt;
  const Token id = slots_[slot_of(text)];
  return id < 0 ? std::nullopt : std::optional<Token>(id);
}

size_t TokenIndex::slot_of(std::string_view wanted) const {
  const size_t mask = slots_.size() - 1;
  size_t i = std::hash<std::string_view>{}(wanted)&mask;
  while (slots_[i] >= 0 && text(slots_[i]) != wanted) i = (i + 1) & mask;
  return i;
}

void TokenIndex::grow() {
  std::vector<Token> old(std::max<size_t>(16, slots_.size() * 2), -1);
  old.swap(slots_);
  for (const Token id : old) {
    if (id >= 0) slots_[slot_of(text(id))] = id;
  }
}

}  // namespace ruv
