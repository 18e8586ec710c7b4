// Recursive descent, one function per level: rule, choice, sequence, repeated item, item. The
// nesting of groups bounds the recursion.
#include "grammar/rules/gbnf.h"

#include "base/utf8.h"
#include "grammar/rules/rule_set_builder.h"

namespace ruv {
namespace {

bool is_gbnf_name_byte(char c) {
  return is_letter_byte(c) || is_digit_byte(c) || c == '-' || c == '_';
}

class GbnfReader {
 public:
  GbnfReader(Languages& languages, std::string_view text, const GrammarTokens& tokens)
      : languages_(languages, {.size = UINT32_MAX, .height = UINT32_MAX}),
        in_(text, "GBNF"),
        tokens_(tokens) {}

  Result<RuleSet> read(std::string_view start) {
    TRY(in_.check());
    skip_space(true);
    while (!in_.done()) TRY(take_rule());
    const std::optional<uint32_t> start_rule = made_.find_rule(start);
    if (const auto undefined = made_.first_undefined()) {
      return in_.error_at(undefined->at, Code::not_found,
                          fmt::format("no rule {} is defined", named_in_grammar(undefined->name)));
    }
    if (!start_rule) {
      return in_.error(Code::not_found,
                       fmt::format("the start rule {} is not defined", named_in_grammar(start)));
    }
    return made_.finish(*start_rule);
  }

 private:
  using Node = Result<uint32_t>;

  // Spaces and comments, and line ends if they mean nothing here.
  void skip_space(bool lines) {
    for (;;) {
      in_.take_while(
          [&](char c) { return c == ' ' || c == '\t' || (lines && (c == '\r' || c == '\n')); });
      if (in_.peek() != '#') return;
      in_.take_while([](char c) { return c != '\r' && c != '\n'; });
    }
  }

  // A name, "::=", a body, and the end of the line.
  Status take_rule() {
    const size_t begin = in_.at();
    const std::string name(in_.take_while(is_gbnf_name_byte));
    if (name.empty()) return in_.error(Code::corrupt, "expected the name of a rule");
    skip_space(false);
    if (!in_.take("::=")) return in_.error(Code::corrupt, "expected \"::=\"");
    skip_space(true);
    const uint32_t body = TRY(take_choice(0));
    if (!in_.done() && in_.peek() != '\r' && in_.peek() != '\n') {
      return in_.error(Code::corrupt, "expected an item of a rule, or the end of the line");
    }
    if (languages_.languages().overflowed() || made_.is_full()) {
      return in_.error_at(begin, Code::unsupported, "this grammar is too large");
    }
    if (!made_.define(name, body)) {
      return in_.error_at(begin, Code::corrupt,
                          fmt::format("the rule {} is defined twice", named_in_grammar(name)));
    }
    skip_space(true);
    return {};
  }

  // Alternatives up to a closing parenthesis or the end of the line.
  Node take_choice(int depth) {
    if (depth > GrammarCursor::kMaxDepth) return too_deep();
    std::vector<uint32_t> parts;
    do {
      if (!parts.empty()) skip_space(true);
      const uint32_t part = TRY(take_sequence(depth));
      parts.push_back(part);
    } while (take_bar());
    return made_.add_parts(RuleKind::choice, std::move(parts));
  }

  // A bar, on this line or at the beginning of a later one.
  bool take_bar() {
    const size_t begin = in_.at();
    skip_space(true);
    if (in_.take("|")) return true;
    in_.move_to(begin);
    return false;
  }

  Node take_sequence(int depth) {
    std::vector<uint32_t> parts;
    for (;;) {
      const std::optional<uint32_t> item = TRY(take_item(depth));
      if (!item) return made_.add_parts(RuleKind::sequence, std::move(parts));
      skip_space(depth > 0);
      const uint32_t repeated = TRY(take_repeats(*item, depth));
      parts.push_back(repeated);
    }
  }

  // The loops around an item, each of which is a level of nesting.
  Node take_repeats(uint32_t item, int depth) {
    for (int level = depth;; skip_space(depth > 0)) {
      if (++level > GrammarCursor::kMaxDepth + 1) return too_deep();
      if (in_.take("*")) {
        item = made_.add_repeat(item, 0, Languages::kUnlimited);
      } else if (in_.take("+")) {
        item = made_.add_repeat(item, 1, Languages::kUnlimited);
      } else if (in_.take("?")) {
        item = made_.add_repeat(item, 0, 1);
      } else if (in_.take("{")) {
        item = TRY(take_counts(item, depth));
      } else {
        return item;
      }
    }
  }

  // After '{'.
  Node take_counts(uint32_t item, int depth) {
    const size_t begin = in_.at();
    skip_space(depth > 0);
    const uint32_t min = TRY(in_.take_count());
    uint32_t max = min;
    skip_space(depth > 0);
    if (in_.take(",")) {
      skip_space(depth > 0);
      max = Languages::kUnlimited;
      if (is_digit_byte(in_.peek())) max = TRY(in_.take_count());
      skip_space(depth > 0);
    }
    if (!in_.take("}")) return in_.error(Code::corrupt, "expected '}' after a count");
    if (max < min) {
      return in_.error_at(begin, Code::corrupt, "this repetition ends before it begins");
    }
    return made_.add_repeat(item, min, max);
  }

  // Nothing where no item begins, which ends the sequence.
  Result<std::optional<uint32_t>> take_item(int depth) {
    const size_t begin = in_.at();
    const char c = in_.peek();
    if (is_gbnf_name_byte(c)) {
      const std::string_view name = in_.take_while(is_gbnf_name_byte);
      return made_.add_reference(name, begin);
    }
    if (in_.take("\"")) return optional(take_literal());
    if (in_.take("[")) return optional(take_class());
    if (in_.take("(")) return optional(take_group(depth));
    if (in_.take(".")) return made_.add_language(languages_.character(any_character()));
    if (c == '<' || c == '!') return optional(take_token());
    if (c == '*' || c == '+' || c == '?' || c == '{') {
      return in_.error(Code::corrupt, "nothing to repeat");
    }
    return std::optional<uint32_t>();
  }

  // The result of a function that always finds an item.
  static Result<std::optional<uint32_t>> optional(Node node) { return TRY(std::move(node)); }

  // After '('.
  Node take_group(int depth) {
    if (in_.next_is("=")) {
      return in_.error(Code::unsupported, "lookahead, `(= …)`, is not supported");
    }
    skip_space(true);
    const uint32_t inner = TRY(take_choice(depth + 1));
    if (!in_.take(")")) return in_.error(Code::corrupt, "a closing parenthesis is missing");
    return inner;
  }

  Node take_token() {
    const bool others = in_.take("!");
    TokenSet set = TRY(take_token_terminal(in_, tokens_));
    if (others) set.complement = !set.complement;
    return made_.add_tokens(std::move(set));
  }

  // After '"'.
  Node take_literal() {
    const size_t begin = in_.at() - 1;
    std::string text;
    while (!in_.take("\"")) {
      const size_t at = in_.at();
      const uint32_t c = TRY(take_gbnf_character(begin, "a text"));
      if (c >= 0xD800 && c <= 0xDFFF) {
        return in_.error_at(at, Code::corrupt, "a surrogate is not a character");
      }
      append_utf8(text, c);
    }
    return made_.add_language(languages_.text(text));
  }

  // After '['. A hyphen is a character at both ends.
  Node take_class() {
    const size_t begin = in_.at() - 1;
    const bool negated = in_.take("^");
    std::vector<CodePointRange> ranges;
    while (!in_.take("]")) {
      const size_t at = in_.at();
      const uint32_t first = TRY(take_gbnf_character(begin, "a class"));
      uint32_t last = first;
      if (in_.next_is("-") && !in_.next_is("-]")) {
        in_.take("-");
        last = TRY(take_gbnf_character(begin, "a class"));
      }
      if (last < first) {
        return in_.error_at(at, Code::corrupt, "this range ends before it begins");
      }
      ranges.push_back({first, last});
    }
    if (ranges.empty()) return in_.error_at(begin, Code::corrupt, "an empty class");
    const CodePointSet set(std::move(ranges));
    return made_.add_language(languages_.character(negated ? ~set : set));
  }

  // A character or an escape in what began at `begin`. Escapes mean code points, \x80 too; a
  // letter that is no escape is an error, since its author meant something else.
  Result<uint32_t> take_gbnf_character(size_t begin, std::string_view what) {
    if (in_.done()) {
      return in_.error_at(begin, Code::corrupt, fmt::format("{} lacks its end", what));
    }
    if (!in_.take("\\")) return in_.take_character();
    const size_t at = in_.at();
    const char c = in_.peek();
    in_.move_to(std::min(at + 1, at + in_.rest().size()));
    switch (c) {
      case 'x':
        return in_.take_hex_digits(2);
      case 'u':
        return in_.take_hex_digits(4);
      case 'U':
        return in_.take_hex_digits(8);
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return static_cast<uint32_t>(c);
      default:
        return in_.error_at(at - 1, Code::corrupt, "no such escape");
    }
  }

  tl::unexpected<Status> too_deep() const {
    return in_.error(Code::unsupported, fmt::format("groups and loops are nested deeper than {}",
                                                    GrammarCursor::kMaxDepth));
  }
  static CodePointSet any_character() { return CodePointSet::of(0, kLastCodePoint); }

  BoundedLanguages languages_;
  GrammarCursor in_;
  const GrammarTokens& tokens_;
  RuleSetBuilder made_;
};

}  // namespace

Result<RuleSet> read_gbnf(Languages& languages, std::string_view text, const GrammarTokens& tokens,
                          std::string_view start) {
  return GbnfReader(languages, text, tokens).read(start);
}

}  // namespace ruv
