#include "grammar/rules/token_terminal.h"

#include <algorithm>

namespace ruv {
namespace {

Result<Token> take_token_id(GrammarCursor& in, Token n_tokens) {
  const size_t begin = in.at();
  const std::string_view digits = in.take_while(is_digit_byte);
  if (digits.empty()) return in.error(Code::corrupt, "a token's id is missing");
  int64_t id = 0;
  for (const char digit : digits) {
    id = id * 10 + (digit - '0');
    if (id >= n_tokens) {
      return in.error_at(begin, Code::not_found,
                         fmt::format("no token has the id {}; the vocabulary has {}",
                                     named_in_grammar(digits), n_tokens));
    }
  }
  return static_cast<Token>(id);
}

// Sorted and apart.
void put_in_order(std::vector<TokenSet::Range>& ranges) {
  std::ranges::sort(ranges, {}, &TokenSet::Range::first);
  std::vector<TokenSet::Range> made;
  for (const TokenSet::Range& range : ranges) {
    if (!made.empty() && range.first <= made.back().last + 1) {
      made.back().last = std::max(made.back().last, range.last);
    } else {
      made.push_back(range);
    }
  }
  ranges = std::move(made);
}

// After "<[".
Result<TokenSet> take_token_ids(GrammarCursor& in, Token n_tokens) {
  if (in.take("*]>")) return TokenSet{.complement = true};
  TokenSet set = {.complement = in.take("^")};
  do {
    const Token first = TRY(take_token_id(in, n_tokens));
    Token last = first;
    if (in.take("-")) last = TRY(take_token_id(in, n_tokens));
    if (last < first) return in.error(Code::corrupt, "this range ends before it begins");
    set.ranges.push_back({first, last});
  } while (in.take(","));
  if (!in.take("]>")) return in.error(Code::corrupt, "expected \"]>\"");
  put_in_order(set.ranges);
  return set;
}

}  // namespace

Result<TokenSet> take_token_terminal(GrammarCursor& in, const GrammarTokens& tokens) {
  const size_t begin = in.at();
  if (!in.take("<")) return in.error(Code::corrupt, "expected a token: '<'");
  if (in.take("[")) return take_token_ids(in, tokens.n_tokens);
  in.take_while([](char c) { return c != '>' && c != '\n'; });
  if (!in.take(">")) return in.error(Code::corrupt, "a token's text lacks its '>'");
  const std::string_view text = in.from(begin);
  const std::optional<Token> token = tokens.find ? tokens.find(text) : std::nullopt;
  if (!token) {
    return in.error_at(begin, Code::not_found,
                       fmt::format("the vocabulary has no token {}", named_in_grammar(text)));
  }
  return TokenSet{.ranges = {{*token, *token}}};
}

}  // namespace ruv
