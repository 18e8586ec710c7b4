// Four entries of two bits for each byte of the tokens, so that about one prefix in ten that is
// none is taken for one.
#include "text/prefix_table.h"

namespace ruv {

PrefixTable::PrefixTable(std::span<const std::string_view> texts, std::span<const Token> ids) {
  size_t n_bytes = 0;
  for (const std::string_view text : texts) n_bytes += text.size();
  const size_t n_entries = std::max<size_t>(64, std::bit_ceil(4 * n_bytes));
  shift_ = static_cast<unsigned>(64 - std::countr_zero(n_entries));
  bits_.assign(n_entries / 32, 0);
  slots_.assign(std::bit_ceil(texts.size() + texts.size() / 2 + 2), Slot{});
  rest_begins_.assign(slots_.size(), 0);
  mask_ = slots_.size() - 1;
  for (size_t token = 0; token < texts.size(); ++token) {
    const std::string_view text = texts[token];
    if (text.empty() || text.size() > UINT32_MAX - rests_.size()) continue;
    const uint64_t word = load(text, 0);
    const size_t n_short = std::min(text.size(), kWindow);
    uint64_t hash = 0;
    for (size_t n = 1; n <= n_short; ++n) {
      hash = hash_of(first_bytes(word, n), n);
      set(hash, n < text.size() ? kGoesOn : kEnds);
    }
    for (size_t i = kWindow; i < text.size(); ++i) {
      hash = next(hash, static_cast<uint8_t>(text[i]));
      set(hash, i + 1 < text.size() ? kGoesOn : kEnds);
    }
    insert(text, word, hash, ids[token]);
  }
}

void PrefixTable::insert(std::string_view text, uint64_t first, uint64_t hash, Token id) {
  const bool is_long = text.size() > kWindow;
  const Token known =
      is_long ? find_long(text, 0, first, text.size(), hash) : find_short(first, text.size());
  if (known >= 0) return;
  size_t i = hash & mask_;
  while (slots_[i].size != 0) i = (i + 1) & mask_;
  slots_[i] = {first, static_cast<uint32_t>(text.size()), id};
  if (!is_long) return;
  rest_begins_[i] = static_cast<uint32_t>(rests_.size());
  rests_ += text.substr(kWindow);
}

PrefixTable::Found PrefixTable::longest_long(std::string_view text, size_t at, size_t end,
                                             uint64_t word) const {
  Found found;
  walk(text, at, end, word, [&](size_t size, uint64_t hash) {
    const Token id = find_long(text, at, word, size, hash);
    if (id >= 0) found = {size, id};
  });
  return found;
}

}  // namespace ruv
