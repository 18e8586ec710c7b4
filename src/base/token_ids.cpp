// Ids from requests, files and options are checked here once, before they index anything.
#include "base/token_ids.h"

#include <algorithm>

namespace ruv {

std::optional<Token> unknown_token(std::span<const Token> ids, int64_t n_vocab) {
  const auto found = std::ranges::find_if(ids, [&](Token id) { return id < 0 || id >= n_vocab; });
  return found == ids.end() ? std::nullopt : std::optional(*found);
}

Status check_tokens(std::span<const Token> ids, int64_t n_vocab, std::string_view what) {
  const std::optional<Token> unknown = unknown_token(ids, n_vocab);
  if (!unknown) return {};
  return fail(Code::invalid, "{}: token id {} is not in the vocabulary of {}", what, *unknown,
              n_vocab);
}

}  // namespace ruv
