// A terminal is made after those that it uses, on a stack of our own: chains of them may be long.
#include "grammar/rules/lark_terminals.h"

#include <algorithm>

#include "base/utf8.h"
#include "grammar/regex/pattern_language.h"
#include "grammar/rules/pattern_bounds.h"
#include "grammar/rules/substring_language.h"

namespace ruv {
namespace {

// Heights leave room for what deriving adds, below Languages::kMaxHeight.
constexpr LanguageBounds kTerminalLimits = {.size = 1 << 18, .height = 120};
constexpr size_t kMaxStopBytes = 256;

}  // namespace

LarkTerminals::LarkTerminals(Languages& languages, const LarkFile& file, const LarkScanner& in)
    : file_(file),
      in_(in),
      builder_(languages, kTerminalLimits),
      states_(file.definitions.size(), State::untouched),
      made_(file.definitions.size()) {}

Status LarkTerminals::make_all() {
  TRY(index_names());
  for (uint32_t i = 0; i < file_.definitions.size(); ++i) {
    if (file_.definitions[i].is_terminal) TRY(make_with_needed(i));
  }
  return {};
}

Status LarkTerminals::index_names() {
  for (uint32_t i = 0; i < file_.definitions.size(); ++i) {
    const LarkDefinition& one = file_.definitions[i];
    if (!definitions_.emplace(one.name, i).second) {
      return in_.error_at(one.at, Code::corrupt,
                          fmt::format("{} is defined twice", named_in_grammar(one.name)));
    }
  }
  return {};
}

// The definition of a terminal's name.
Result<uint32_t> LarkTerminals::find(uint32_t name_node) const {
  const LarkNode& n = node(name_node);
  const auto found = definitions_.find(n.text);
  if (found == definitions_.end()) {
    return in_.error_at(n.at, Code::not_found,
                        fmt::format("{} is not defined", named_in_grammar(n.text)));
  }
  if (!file_.definitions[found->second].is_terminal) {
    return in_.error_at(
        n.at, Code::unsupported,
        fmt::format("the rule {} in a terminal, or in a rule with attributes, is not supported",
                    named_in_grammar(n.text)));
  }
  return found->second;
}

Status LarkTerminals::make_with_needed(uint32_t definition) {
  struct Frame {
    uint32_t definition;
    size_t next = 0;  // of the names in it
  };
  std::vector<Frame> stack;
  const auto visit = [&](uint32_t one) {
    if (states_[one] != State::untouched) return;
    states_[one] = State::open;
    stack.push_back({one});
  };
  visit(definition);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const LarkDefinition& one = file_.definitions[frame.definition];
    if (frame.next < one.names.size()) {
      const uint32_t name = one.names[frame.next++];
      const uint32_t needed = TRY(find(name));
      if (states_[needed] == State::open) {
        return in_.error_at(node(name).at, Code::unsupported,
                            fmt::format("the terminal {} contains itself, which only rules may",
                                        named_in_grammar(node(name).text)));
      }
      visit(needed);
      continue;
    }
    made_[frame.definition] = TRY(language(one.body));
    states_[frame.definition] = State::made;
    stack.pop_back();
  }
  return {};
}

Result<BoundedLanguage> LarkTerminals::checked(std::optional<BoundedLanguage> made,
                                               size_t at) const {
  if (made) return *made;
  return in_.error_at(at, Code::unsupported, "this terminal is too large");
}

Result<std::vector<BoundedLanguage>> LarkTerminals::languages_of(
    const std::vector<uint32_t>& nodes) {
  std::vector<BoundedLanguage> made;
  made.reserve(nodes.size());
  for (const uint32_t id : nodes) {
    const BoundedLanguage one = TRY(language(id));
    made.push_back(one);
  }
  return made;
}

// Leaves first, then what is made of the languages of the children.
Result<BoundedLanguage> LarkTerminals::language(uint32_t id) {
  const LarkNode& n = node(id);
  switch (n.kind) {
    case LarkKind::text:
      return language_of_text(n);
    case LarkKind::pattern:
      return language_of_pattern(n);
    case LarkKind::range:
      return builder_.character(CodePointSet(std::vector{n.range}));
    case LarkKind::name: {
      const uint32_t definition = TRY(find(id));
      return made_[definition];
    }
    case LarkKind::substring:
      return substring_language(builder_.languages(), file_.substrings[n.index]);
    case LarkKind::tokens:
    case LarkKind::schema:
      return in_.error_at(n.at, Code::unsupported,
                          fmt::format("{} in a terminal, or in a rule with attributes, is not "
                                      "supported",
                                      n.kind == LarkKind::tokens ? "a token" : "%json"));
    default:
      break;
  }
  const std::vector<BoundedLanguage> parts = TRY(languages_of(n.children));
  switch (n.kind) {
    case LarkKind::choice:
      return checked(builder_.any_of(parts), n.at);
    case LarkKind::both:
      return checked(builder_.all_of(parts), n.at);
    case LarkKind::complement:
      return checked(builder_.complement(parts[0]), n.at);
    case LarkKind::repeat:
      return checked(builder_.repeat(parts[0], n.min, n.max), n.at);
    default:
      return checked(builder_.concat(parts), n.at);
  }
}

// Without case, ASCII letters match in both.
Result<BoundedLanguage> LarkTerminals::language_of_text(const LarkNode& n) {
  if (!n.any_case) return builder_.text(n.text);
  std::vector<BoundedLanguage> parts;
  for (const char c : n.text) {
    if (!is_letter_byte(c)) {
      parts.push_back(builder_.text(std::string_view(&c, 1)));
      continue;
    }
    const auto small = static_cast<uint32_t>(c | 0x20);
    const uint32_t large = small - 0x20;
    parts.push_back(builder_.character(CodePointSet({{large, large}, {small, small}})));
  }
  return checked(builder_.concat(parts), n.at);
}

// What an anchor or lookahead would see after the terminal is not known here.
Result<BoundedLanguage> LarkTerminals::language_of_pattern(const LarkNode& n) {
  const std::string key = fmt::format("{}{}{}", int{n.any_case}, int{n.dot_all}, n.text);
  const auto found = patterns_.find(key);
  if (found != patterns_.end()) return found->second;
  if (patterns_.size() >= kMaxPatterns) {
    return in_.error_at(n.at, Code::unsupported,
                        fmt::format("more than {} regular expressions", kMaxPatterns));
  }
  const Result<Pattern> pattern = read_pattern(
      n.text, {.syntax = PatternSyntax::re2, .any_case = n.any_case, .dot_all = n.dot_all});
  if (!pattern) return in_.error_at(n.at, pattern.error().code(), pattern.error().message());
  if (pattern->nodes[pattern->root].has_place) {
    return in_.error_at(n.at, Code::unsupported,
                        "anchors, word edges and lookahead in a terminal depend on what is around "
                        "it, and are not supported");
  }
  const LanguageBounds bounds = bounds_of_pattern(*pattern);
  if (!builder_.fits(bounds)) return checked(std::nullopt, n.at);
  if (bounds.size > patterns_size_left_) {
    return in_.error_at(n.at, Code::unsupported,
                        "all regular expressions up to this one are too large together");
  }
  patterns_size_left_ -= bounds.size;
  const Result<Language> made =
      language_of(builder_.languages(), *pattern, Utf8Alphabet(), PatternMatch::whole);
  if (!made) return in_.error_at(n.at, made.error().code(), made.error().message());
  return patterns_.emplace(key, BoundedLanguage{*made, bounds}).first->second;
}

// The texts that no shorter one of the language begins.
Result<BoundedLanguage> LarkTerminals::shortest_only(const BoundedLanguage& language, size_t at) {
  Languages& l = builder_.languages();
  const BoundedLanguage some = {l.concat(l.byte_of(ByteSet::all()), Language::anything),
                                {.size = 2, .height = 2, .front_height = 2}};
  const BoundedLanguage longer = TRY(checked(builder_.concat(std::array{language, some}), at));
  const BoundedLanguage others = TRY(checked(builder_.complement(longer), at));
  return checked(builder_.all_of(std::array{language, others}), at);
}

// A text of the body after which the stop comes for the first time: neither in it, nor across its
// end. Across the end it is where a beginning of the stop is also its end.
Result<BoundedLanguage> LarkTerminals::up_to_stop(const BoundedLanguage& body,
                                                  const LarkNode& stop) {
  if (stop.kind != LarkKind::text || stop.any_case || stop.text.empty() ||
      stop.text.size() > kMaxStopBytes) {
    return in_.error_at(stop.at, Code::unsupported,
                        fmt::format("stop is supported with a text of 1 to {} bytes, without "
                                    "flags; suffix takes any terminal",
                                    kMaxStopBytes));
  }
  const std::string_view text = stop.text;
  const BoundedLanguage rest = {Language::anything, BoundedLanguages::kEmpty};
  std::vector<BoundedLanguage> with_stop = {
      TRY(checked(builder_.concat(std::array{body, builder_.text(text), rest}), stop.at))};
  for (size_t n = 1; n < text.size(); ++n) {
    if (!text.ends_with(text.substr(0, n))) continue;
    const BoundedLanguage begun = builder_.text(text.substr(0, text.size() - n));
    const BoundedLanguage across = TRY(checked(builder_.concat(std::array{body, begun}), stop.at));
    with_stop.push_back(across);
  }
  const BoundedLanguage excluded = TRY(checked(builder_.any_of(with_stop), stop.at));
  const BoundedLanguage others = TRY(checked(builder_.complement(excluded), stop.at));
  return checked(builder_.all_of(std::array{body, others}), stop.at);
}

Result<BoundedLanguage> LarkTerminals::language_with_attributes(const LarkDefinition& rule) {
  const BoundedLanguage body = TRY(language(rule.body));
  if (rule.suffix) {
    const BoundedLanguage suffix = TRY(language(*rule.suffix));
    const BoundedLanguage whole = TRY(checked(builder_.concat(std::array{body, suffix}), rule.at));
    return shortest_only(whole, rule.at);
  }
  if (rule.stop) return up_to_stop(body, node(*rule.stop));
  return shortest_only(body, rule.at);
}

Result<std::optional<BoundedLanguage>> LarkTerminals::ignored() {
  if (file_.ignored.empty()) return std::optional<BoundedLanguage>();
  std::vector<BoundedLanguage> parts;
  for (const LarkDefinition& one : file_.ignored) {
    const BoundedLanguage part = TRY(language(one.body));
    parts.push_back(part);
  }
  const size_t at = file_.ignored[0].at;
  const BoundedLanguage one = TRY(checked(builder_.any_of(parts), at));
  const uint32_t max = file_.ignores_once ? 1 : Languages::kUnlimited;
  const BoundedLanguage made = TRY(checked(builder_.repeat(one, 0, max), at));
  return std::optional(made);
}

}  // namespace ruv
