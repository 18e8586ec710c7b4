// Recursive descent, one function per level of precedence: choice, `&`, sequence, repeated item,
// item. The nesting of groups bounds the recursion.
#include "grammar/rules/lark_parser.h"

#include <array>

#include "base/utf8.h"
#include "grammar/rules/substring_language.h"

namespace ruv {
namespace {

// They shape the tree that Lark makes, and come before the names of rules.
constexpr std::string_view kBeforeName = "?!";

class LarkParser {
 public:
  LarkParser(std::string_view text, const GrammarTokens& tokens) : in_(text), tokens_(tokens) {}

  Result<LarkFile> parse() {
    TRY(in_.check());
    for (in_.skip_space(true); !in_.done(); in_.skip_space(true)) {
      TRY(in_.peek() == '%' ? take_statement() : take_definition());
      in_.skip_space(false);
      if (!in_.at_line_end()) {
        return in_.error(Code::corrupt, "expected an item of a rule, or the end of the line");
      }
    }
    return std::move(made_);
  }

 private:
  using Node = Result<uint32_t>;

  uint32_t add(LarkNode node) {
    made_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(made_.nodes.size() - 1);
  }
  uint32_t add_parts(LarkKind kind, size_t at, std::vector<uint32_t> children) {
    if (children.size() == 1) return children[0];
    return add({.kind = kind, .at = at, .children = std::move(children)});
  }
  tl::unexpected<Status> unsupported(size_t at, std::string_view what) const {
    return in_.error_at(at, Code::unsupported, fmt::format("{} not supported", what));
  }

  // Statements, which begin with '%'.
  Status take_statement() {
    const size_t begin = in_.at();
    in_.take("%");
    const std::string_view word = in_.take_name();
    in_.skip_space(false);
    if (word == "ignore") return take_ignore(begin);
    if (word == "import") return take_import();
    if (word == "llguidance") return take_options();
    return unsupported(begin, fmt::format("%{} is", word));
  }

  Status take_ignore(size_t begin) {
    LarkDefinition made = {.at = begin, .is_terminal = true};
    made.body = TRY(take_choice(0));
    made.names = std::move(names_);
    names_.clear();
    made_.ignored.push_back(std::move(made));
    return {};
  }

  // common.NAME, common.NAME -> OTHER, common (NAME, NAME).
  Status take_import() {
    const size_t begin = in_.at();
    if (in_.take_name() != "common") {
      return unsupported(begin, "an import from anything but \"common\" is");
    }
    if (in_.take(".")) {
      const size_t at = in_.at();
      const std::string_view name = in_.take_name();
      in_.skip_space(false);
      std::string_view alias = name;
      if (in_.take("->")) {
        in_.skip_space(false);
        alias = in_.take_name();
      }
      return import_common(at, name, alias);
    }
    in_.skip_space(false);
    if (!in_.take("(")) return in_.error(Code::corrupt, "expected \".NAME\" or \"(NAME, …)\"");
    do {
      in_.skip_space(true);
      const size_t at = in_.at();
      const std::string_view name = in_.take_name();
      TRY(import_common(at, name, name));
      in_.skip_space(true);
    } while (in_.take(","));
    if (!in_.take(")")) return in_.error(Code::corrupt, "a closing parenthesis is missing");
    return {};
  }

  Status import_common(size_t at, std::string_view name, std::string_view alias) {
    const std::optional<std::string_view> pattern = common_lark_terminal(name);
    if (!pattern) {
      return in_.error_at(at, Code::not_found,
                          fmt::format("no common terminal is called {}", named_in_grammar(name)));
    }
    if (is_terminal_name(alias) != true) {
      return in_.error(Code::corrupt, "expected the name of a terminal, in capitals");
    }
    const uint32_t body = add({.kind = LarkKind::pattern, .at = at, .text = std::string(*pattern)});
    made_.definitions.push_back(
        {.name = std::string(alias), .at = at, .is_terminal = true, .body = body});
    return {};
  }

  // Options that would change what is accepted are honoured or refused.
  Status take_options() {
    const size_t begin = in_.at();
    const Json options = TRY(in_.take_object("%llguidance"));
    for (const auto& [key, value] : options.items()) {
      const bool is_default = value.is_boolean() && !value.get<bool>();
      if (key == "skip_repetition" && value.is_string() && value.text() == "once") {
        made_.ignores_once = true;
      } else if (!is_default || (key != "no_forcing" && key != "allow_invalid_utf8")) {
        return unsupported(begin,
                           fmt::format("the option {} with the value {} is", named_in_grammar(key),
                                       named_in_grammar(value.dump())));
      }
    }
    return {};
  }

  // A rule or terminal: modifiers, name, priority, attributes, colon, body.
  Status take_definition() {
    const size_t begin = in_.at();
    in_.take_while([](char c) { return kBeforeName.find(c) != kBeforeName.npos; });
    LarkDefinition made = {.at = begin};
    const size_t name_at = in_.at();
    made.name = std::string(in_.take_name());
    if (made.name.empty()) {
      return in_.error(Code::corrupt, "expected a rule, a terminal or a statement");
    }
    const std::optional<bool> is_terminal = is_terminal_name(made.name);
    if (!is_terminal) return mixed_name(name_at, made.name);
    made.is_terminal = *is_terminal;
    if (made.is_terminal && name_at != begin) {
      return in_.error_at(begin, Code::corrupt, "'?' and '!' belong before rules");
    }
    in_.skip_space(false);
    if (in_.peek() == '{') return unsupported(begin, "a template is");
    if (in_.next_is("::")) return unsupported(begin, "a rule with a parameter is");
    if (in_.take(".")) TRY(take_priority());
    if (in_.take("[")) TRY(take_attributes(made));
    in_.skip_space(false);
    if (!in_.take(":")) return in_.error(Code::corrupt, "expected ':' after the name of a rule");
    made.body = TRY(take_choice(0));
    made.names = std::move(names_);
    names_.clear();
    made_.definitions.push_back(std::move(made));
    return {};
  }

  tl::unexpected<Status> mixed_name(size_t at, std::string_view name) const {
    return in_.error_at(at, Code::corrupt,
                        fmt::format("{} is neither a rule, in small letters, nor a terminal, in "
                                    "capitals",
                                    named_in_grammar(name)));
  }

  // Which of several terminals a lexer prefers; all of them are tried here.
  Status take_priority() {
    in_.take("-");
    if (in_.take_while(is_digit_byte).empty()) {
      return in_.error(Code::corrupt, "a priority is missing");
    }
    in_.skip_space(false);
    return {};
  }

  // After '['.
  Status take_attributes(LarkDefinition& made) {
    if (made.is_terminal) return in_.error(Code::corrupt, "attributes belong to rules");
    do {
      in_.skip_space(true);
      const size_t at = in_.at();
      const std::string_view name = in_.take_name();
      in_.skip_space(true);
      if (name == "lazy") {
        made.is_lazy = true;
      } else if (name == "stop" || name == "suffix") {
        if (!in_.take("=")) return in_.error(Code::corrupt, "expected '='");
        in_.skip_space(true);
        const uint32_t value = TRY(take_item(0));
        (name == "stop" ? made.stop : made.suffix) = value;
      } else {
        return unsupported(at, fmt::format("the attribute {} is", named_in_grammar(name)));
      }
      in_.skip_space(true);
    } while (in_.take(","));
    if (!in_.take("]")) return in_.error(Code::corrupt, "a closing bracket is missing");
    if (made.stop && made.suffix) return unsupported(made.at, "stop together with suffix is");
    return {};
  }

  void skip() { in_.skip_space(n_groups_ > 0); }

  // Alternatives up to a closing parenthesis or the end of the line.
  Node take_choice(int depth) {
    if (depth > GrammarCursor::kMaxDepth) return unsupported(in_.at(), "nesting so deep is");
    const size_t begin = in_.at();
    std::vector<uint32_t> parts;
    do {
      const uint32_t part = TRY(take_both(depth));
      parts.push_back(part);
      TRY(take_alias());
    } while (take_bar());
    return add_parts(LarkKind::choice, begin, std::move(parts));
  }

  // A bar, on this line or at the beginning of a later one.
  bool take_bar() {
    const size_t begin = in_.at();
    in_.skip_space(true);
    if (in_.take("|")) return true;
    in_.move_to(begin);
    return false;
  }

  // A name for the tree that Lark makes.
  Status take_alias() {
    if (!in_.take("->")) return {};
    skip();
    if (in_.take_name().empty()) return in_.error(Code::corrupt, "a name is missing after \"->\"");
    skip();
    return {};
  }

  Node take_both(int depth) {
    const size_t begin = in_.at();
    std::vector<uint32_t> parts;
    do {
      const uint32_t part = TRY(take_sequence(depth));
      parts.push_back(part);
    } while (in_.take("&"));
    return add_parts(LarkKind::both, begin, std::move(parts));
  }

  Node take_sequence(int depth) {
    constexpr std::string_view kEnds = "|&)]}";
    const size_t begin = in_.at();
    std::vector<uint32_t> parts;
    for (skip(); !in_.at_line_end() && kEnds.find(in_.peek()) == kEnds.npos && !in_.next_is("->");
         skip()) {
      const uint32_t part = TRY(take_repeated(depth));
      parts.push_back(part);
    }
    return add_parts(LarkKind::sequence, begin, std::move(parts));
  }

  Node take_repeated(int depth) {
    const size_t begin = in_.at();
    const uint32_t item = TRY(take_item(depth));
    skip();
    uint32_t min = 0;
    uint32_t max = Languages::kUnlimited;
    if (in_.take("*")) {
    } else if (in_.take("+")) {
      min = 1;
    } else if (in_.take("?")) {
      max = 1;
    } else if (in_.take("~")) {
      if (!next_is_count()) return in_.error(Code::corrupt, "a number is missing after '~'");
      TRY(take_range(min, max, ".."));
    } else if (in_.take("{")) {
      TRY(take_range(min, max, ","));
      if (!in_.take("}")) return in_.error(Code::corrupt, "expected '}' after a count");
    } else {
      return item;
    }
    if (max < min) return in_.error(Code::corrupt, "this repetition ends before it begins");
    skip();
    if (in_.peek() == '*' || in_.peek() == '+' || in_.peek() == '?' || in_.peek() == '{') {
      return in_.error(Code::corrupt, "a loop around a loop wants parentheses");
    }
    return add({.kind = LarkKind::repeat, .at = begin, .min = min, .max = max, .children = {item}});
  }

  bool next_is_count() {
    skip();
    return is_digit_byte(in_.peek());
  }

  // m, m-n with `between` for the hyphen, and with commas open ends: {,n} and {m,}.
  Status take_range(uint32_t& min, uint32_t& max, std::string_view between) {
    const bool has_min = next_is_count();
    if (has_min) min = TRY(in_.take_count());
    skip();
    if (!in_.take(between)) {
      if (!has_min) return in_.error(Code::corrupt, "a number is missing");
      max = min;
      return {};
    }
    if (next_is_count()) {
      max = TRY(in_.take_count());
    } else if (!has_min || between != ",") {
      return in_.error(Code::corrupt, "a number is missing");
    }
    skip();
    return {};
  }

  Node take_item(int depth) {
    const size_t begin = in_.at();
    switch (in_.peek()) {
      case '(':
        return take_group(depth, ")");
      case '[': {
        const uint32_t inner = TRY(take_group(depth, "]"));
        return add({.kind = LarkKind::repeat, .at = begin, .max = 1, .children = {inner}});
      }
      case '~': {
        if (depth >= GrammarCursor::kMaxDepth) return unsupported(begin, "nesting so deep is");
        in_.take("~");
        skip();
        const uint32_t inner = TRY(take_item(depth + 1));
        return add({.kind = LarkKind::complement, .at = begin, .children = {inner}});
      }
      case '"':
        return take_text();
      case '/':
        return take_pattern();
      case '<': {
        TokenSet set = TRY(take_token_terminal(in_, tokens_));
        made_.token_sets.push_back(std::move(set));
        const auto index = static_cast<uint32_t>(made_.token_sets.size() - 1);
        return add({.kind = LarkKind::tokens, .at = begin, .index = index});
      }
      case '%':
        return take_object_item();
      case '@':
        return unsupported(begin, "a reference to another grammar, \"@…\", is");
      default:
        return take_name_item();
    }
  }

  // At '(' or '['. Line ends mean nothing until it closes.
  Node take_group(int depth, std::string_view end) {
    in_.move_to(in_.at() + 1);
    ++n_groups_;
    const uint32_t inner = TRY(take_choice(depth + 1));
    --n_groups_;
    if (in_.take(end)) return inner;
    return in_.error(Code::corrupt, fmt::format("a closing '{}' is missing", end));
  }

  Node take_name_item() {
    const size_t begin = in_.at();
    const std::string_view name = in_.take_name();
    if (name.empty()) return in_.error(Code::corrupt, "expected an item of a rule");
    if (!is_terminal_name(name)) return mixed_name(begin, name);
    if (in_.next_is("::")) return unsupported(begin, "a rule with a parameter is");
    const size_t end = in_.at();
    skip();
    if (in_.take("{") && !next_is_count() && in_.peek() != ',') {
      return unsupported(begin, "a template is");
    }
    in_.move_to(end);
    const uint32_t made = add({.kind = LarkKind::name, .at = begin, .text = std::string(name)});
    names_.push_back(made);
    return made;
  }

  // A text, or a range of characters.
  Node take_text() {
    const size_t begin = in_.at();
    LarkScanner::Literal first = TRY(in_.take_literal());
    const size_t end = in_.at();
    skip();
    if (!in_.take("..")) {
      in_.move_to(end);
      return add({.kind = LarkKind::text,
                  .at = begin,
                  .text = std::move(first.text),
                  .any_case = first.any_case});
    }
    skip();
    const LarkScanner::Literal last = TRY(in_.take_literal());
    const auto from = only_character(first);
    const auto to = only_character(last);
    if (!from || !to) {
      return in_.error_at(begin, Code::corrupt, "a range goes from one character to another");
    }
    if (*to < *from) {
      return in_.error_at(begin, Code::corrupt, "this range ends before it begins");
    }
    return add({.kind = LarkKind::range, .at = begin, .range = {*from, *to}});
  }

  static std::optional<uint32_t> only_character(const LarkScanner::Literal& literal) {
    if (literal.text.empty() || literal.any_case) return std::nullopt;
    const CodePoint c = decode_utf8(literal.text, 0);
    if (!c.valid || c.size != literal.text.size()) return std::nullopt;
    return c.value;
  }

  Node take_pattern() {
    const size_t begin = in_.at();
    LarkScanner::Regex regex = TRY(in_.take_regex());
    return add({.kind = LarkKind::pattern,
                .at = begin,
                .text = std::move(regex.text),
                .any_case = regex.any_case,
                .dot_all = regex.dot_all});
  }

  // %json {…} and %regex {…}.
  Node take_object_item() {
    const size_t begin = in_.at();
    in_.take("%");
    const std::string_view word = in_.take_name();
    if (word == "json") {
      Json schema = TRY(in_.take_object("%json"));
      made_.schemas.push_back(std::move(schema));
      const auto index = static_cast<uint32_t>(made_.schemas.size() - 1);
      return add({.kind = LarkKind::schema, .at = begin, .index = index});
    }
    if (word != "regex") return unsupported(begin, fmt::format("%{} in a rule is", word));
    const Json object = TRY(in_.take_object("%regex"));
    Result<std::vector<std::string>> chunks = substring_chunks(object);
    if (!chunks) return in_.error_at(begin, chunks.error().code(), chunks.error().message());
    made_.substrings.push_back(std::move(*chunks));
    const auto index = static_cast<uint32_t>(made_.substrings.size() - 1);
    return add({.kind = LarkKind::substring, .at = begin, .index = index});
  }

  LarkScanner in_;
  const GrammarTokens& tokens_;
  LarkFile made_;
  std::vector<uint32_t> names_;  // nodes of the definition that is being read
  int n_groups_ = 0;             // around the item that is being read
};

}  // namespace

Result<LarkFile> parse_lark(std::string_view text, const GrammarTokens& tokens) {
  return LarkParser(text, tokens).parse();
}

}  // namespace ruv
