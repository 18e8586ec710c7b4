// Rules are compiled node by node. A node that is a terminal becomes a language together with what
// may be ignored after it, so that a text is read in one run from terminal to terminal.
#include "grammar/rules/lark.h"

#include "grammar/rules/lark_parser.h"
#include "grammar/rules/lark_terminals.h"
#include "grammar/rules/rule_set_builder.h"

namespace ruv {
namespace {

class LarkCompiler {
 public:
  LarkCompiler(Languages& languages, LarkFile& file, const LarkScanner& in)
      : file_(file), in_(in), terminals_(languages, file, in) {}

  Result<RuleSet> compile() {
    TRY(terminals_.make_all());
    ignored_ = TRY(terminals_.ignored());
    for (const LarkDefinition& one : file_.definitions) {
      if (!one.is_terminal) TRY(compile_rule(one));
    }
    if (const auto undefined = made_.first_undefined()) {
      return in_.error_at(undefined->at, Code::not_found,
                          fmt::format("{} is not defined", named_in_grammar(undefined->name)));
    }
    const std::optional<uint32_t> start = made_.find_rule("start");
    if (!start) return in_.error(Code::not_found, "the rule \"start\" is not defined");
    const uint32_t whole = ignored_ ? start_after_ignored() : *start;
    TRY(check_size(0));
    return made_.finish(whole);
  }

 private:
  using Node = Result<uint32_t>;

  // What was made since the room ran out may not be used.
  Status check_size(size_t at) const {
    if (!made_.is_full() && !languages_overflowed()) return {};
    return in_.error_at(at, Code::unsupported, "this grammar is too large");
  }
  bool languages_overflowed() const { return terminals_.languages().overflowed(); }

  Status compile_rule(const LarkDefinition& one) {
    uint32_t body = 0;
    if (one.has_attributes()) {
      const BoundedLanguage language = TRY(terminals_.language_with_attributes(one));
      body = add_terminal(language);
    } else {
      body = TRY(compile_node(one.body));
    }
    TRY(check_size(one.at));
    made_.define(one.name, body);
    return {};
  }

  // The text begins with what is ignored. No rule can have this name.
  uint32_t start_after_ignored() {
    constexpr std::string_view kName = "(text)";
    const uint32_t before = made_.add_language(*ignored_);
    const uint32_t start = made_.add_reference("start", 0);
    made_.define(kName, made_.add_parts(RuleKind::sequence, {before, start}));
    return *made_.find_rule(kName);
  }

  // A terminal in a rule, and what may be ignored after it.
  uint32_t add_terminal(const BoundedLanguage& terminal) {
    if (!ignored_) return made_.add_language(terminal);
    const auto both = terminals_.builder().concat(std::array{terminal, *ignored_});
    return both ? made_.add_language(*both) : before_ignored(made_.add_language(terminal));
  }
  uint32_t before_ignored(uint32_t node) {
    if (!ignored_) return node;
    return made_.add_parts(RuleKind::sequence, {node, made_.add_language(*ignored_)});
  }

  // Recurses on nesting, which the parser bounds. Operators of terminals have only terminals below.
  Node compile_node(uint32_t id) {
    const LarkNode& n = file_.nodes[id];
    switch (n.kind) {
      case LarkKind::name:
        if (is_terminal_name(n.text) == false) return made_.add_reference(n.text, n.at);
        break;
      case LarkKind::sequence:
        return compile_parts(RuleKind::sequence, n);
      case LarkKind::choice:
        return compile_parts(RuleKind::choice, n);
      case LarkKind::repeat: {
        const uint32_t child = TRY(compile_node(n.children[0]));
        return made_.add_repeat(child, n.min, n.max);
      }
      case LarkKind::tokens:
        return before_ignored(made_.add_tokens(file_.token_sets[n.index]));
      case LarkKind::schema:
        return before_ignored(made_.add_schema(std::move(file_.schemas[n.index])));
      default:
        break;
    }
    const BoundedLanguage terminal = TRY(terminals_.language(id));
    return add_terminal(terminal);
  }

  Node compile_parts(RuleKind kind, const LarkNode& n) {
    std::vector<uint32_t> parts;
    parts.reserve(n.children.size());
    for (const uint32_t child : n.children) {
      const uint32_t part = TRY(compile_node(child));
      parts.push_back(part);
    }
    return made_.add_parts(kind, std::move(parts));
  }

  LarkFile& file_;
  const LarkScanner& in_;
  LarkTerminals terminals_;
  std::optional<BoundedLanguage> ignored_;
  RuleSetBuilder made_;
};

}  // namespace

Result<RuleSet> read_lark(Languages& languages, std::string_view text,
                          const GrammarTokens& tokens) {
  LarkFile file = TRY(parse_lark(text, tokens));
  const LarkScanner in(text);
  return LarkCompiler(languages, file, in).compile();
}

}  // namespace ruv
