// Four entries of two bits for each byte of the tokens, so that about one prefix in ten that is
// none is walked one byte too far.
#include "text/prefix_table.h"

#include <algorithm>

namespace ruv {

PrefixTable::PrefixTable(std::span<const std::string_view> texts, std::span<const Token> ids) {
  size_t n_bytes = 0;
  for (const std::string_view text : texts) n_bytes += text.size();
  const size_t n_entries = std::max<size_t>(64, std::bit_ceil(4 * n_bytes));
  shift_ = static_cast<unsigned>(64 - std::countr_zero(n_entries));
  bits_.assign(n_entries / 32, 0);
  slots_.assign(std::bit_ceil(2 * texts.size() + 2), Slot{});
  bytes_.reserve(n_bytes + 8);
  for (size_t token = 0; token < texts.size(); ++token) {
    const std::string_view text = texts[token];
    if (text.empty()) continue;
    uint64_t hash = kSeed;
    for (size_t i = 0; i < text.size(); ++i) {
      hash = next(hash, static_cast<uint8_t>(text[i]));
      set(hash, i + 1 < text.size() ? kGoesOn : kEnds);
    }
    const size_t mask = slots_.size() - 1;
    size_t i = slot_of(hash, mask);
    const auto same = [&](const Slot& slot) {
      return slot.tag == tag_of(hash) && slot.size == text.size() &&
             std::memcmp(bytes_.data() + slot.begin, text.data(), text.size()) == 0;
    };
    while (slots_[i].size != 0 && !same(slots_[i])) i = (i + 1) & mask;
    if (slots_[i].size != 0) continue;
    slots_[i] = {tag_of(hash), static_cast<uint32_t>(bytes_.size()),
                 static_cast<uint32_t>(text.size()), ids[token]};
    bytes_ += text;
  }
  bytes_.append(8, '\0');
}

PrefixTable::Found PrefixTable::longest_slow(std::string_view text, size_t at) const {
  Found found;
  find_all(text, at, [&](size_t size, Token id) { found = {size, id}; });
  return found;
}

}  // namespace ruv
