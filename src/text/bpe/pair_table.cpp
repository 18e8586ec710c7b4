// Reads ranked merges from their texts.
#include "text/bpe/pair_table.h"

namespace ruv {

Result<PairTable> PairTable::read(std::span<const std::string> merges, const TokenIndex& tokens) {
  PairTable table(merges.size());
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    // Neither side holds a space, which is written Ġ or ▁.
    const std::string_view merge = merges[rank];
    const size_t space = std::min(merge.find(' '), merge.size());
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(std::min(space + 1, merge.size()));
    joined.assign(left).append(right);
    const std::optional<Token> a = tokens.find(left);
    const std::optional<Token> b = tokens.find(right);
    const std::optional<Token> ab = tokens.find(joined);
    if (!a || !b || !ab) {
      return fail(Code::corrupt, "tokenizer: merges[{}] \"{}\": a side or the result is no token",
                  rank, merge);
    }
    table.add(*a, *b, {static_cast<uint32_t>(rank), *ab});
  }
  return table;
}

}  // namespace ruv
