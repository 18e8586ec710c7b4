// Literals of Python, and of the language with marks around texts. Numbers are JSON's in both. What
// the grammar of Python cannot say is written as JSON, which its reader takes, too.
#include <algorithm>

#include "chat/tools/value_grammar.h"
#include "chat/tools/write_calls.h"

namespace ruv {
namespace {

// Schemas in each other, references counted.
constexpr int kMaxValueDepth = 100;

// The members of a schema with these names.
Json part_of_schema(const Json& schema, const char* type,
                    std::initializer_list<std::string_view> keys) {
  Json made = {{"type", type}};
  for (const std::string_view key : keys) {
    if (const Json* value = schema.find(key)) made[key] = *value;
  }
  return made;
}

std::string number_schema(const SchemaCase& one) {
  const bool is_whole = one.types.is_only(TypeSet::integer);
  return "%json " + part_of_schema(*one.schema, is_whole ? "integer" : "number",
                                   {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                    "multipleOf"})
                        .dump();
}

}  // namespace

std::string ValueGrammar::literal_key(const std::string& key, bool bare) const {
  if (is_bare_key(key) && (bare || !is_python())) return lark_.text(key);
  if (!is_python()) {
    return lark_.text(dialect_.literals.quote + key + dialect_.literals.quote);
  }
  const std::string written = Json(key).dump();
  if (bare || written.size() != key.size() + 2 || key.find('\'') != key.npos) {
    return lark_.text(written);
  }
  return fmt::format(" ({} | {})", lark_.text(written), lark_.text("'" + key + "'"));
}

Result<std::string> ValueGrammar::literal_arguments() {
  std::vector<Member> members = TRY(root_members());
  const LiteralArguments& syntax = dialect_.literals;
  for (Member& member : members) {
    if (!is_python() && member.key.find(syntax.quote) != member.key.npos) {
      return unsupported(member.path, "an argument of this name");
    }
    const std::string value = TRY(literal_or_json(member));
    member.text = fmt::format("{} {} {}", literal_key(member.key, true),
                              lark_quoted({&syntax.assign, 1}), value);
  }
  return fmt::format(" {} {} {}", lark_quoted({&syntax.open, 1}), chain(members, "/, ?/", true),
                     lark_quoted({&syntax.close, 1}));
}

Result<std::string> ValueGrammar::literal_or_json(const Member& member) {
  const LarkWriter::Mark before = lark_.mark();
  const size_t n_ruled = ruled_.size();
  Rule made = literal_value(*member.schema, member.path, 0);
  if (made || !is_python() || made.error().code() != Code::unsupported) return made;
  lark_.rewind(before);
  for (; ruled_.size() > n_ruled; ruled_.pop_back()) rules_.erase(ruled_.back());
  if (copies_too_large())
    return unsupported(
        "#", "copies of the whole schema above 4 MB, one for each argument with references");
  return "%json " + with_references(*member.schema, member.path).dump();
}

Result<std::string> ValueGrammar::literal_value(const Json& schema, const std::string& path,
                                                int depth) {
  const auto known = rules_.find(&schema);
  if (known != rules_.end()) return known->second;
  if (depth > kMaxValueDepth) return unsupported(path, "schemas so deep in each other");
  const std::string name = name_rule(schema);
  std::string ways;
  const Cases cases = TRY(schema_cases({&schema, &root_}, path));
  for (const SchemaCase& one : cases) {
    const std::string way = TRY(literal_case(one, path, depth));
    ways += (ways.empty() ? "" : " | ") + way;
  }
  lark_.rule(name, ways);
  return name;
}

Result<std::string> ValueGrammar::literal_constant(const Json& value,
                                                   const std::string& path) const {
  if (!is_python() && value.dump().find(dialect_.literals.quote) != std::string::npos) {
    return unsupported(path, "a text that holds the mark of texts");
  }
  std::string made;
  write_literal(dialect_.literals, value, made);
  std::string way = lark_.text(made);
  const bool plain = value.is_string() && made.size() == value.text().size() + 2;
  if (is_python() && plain && value.text().find('\'') == std::string_view::npos) {
    way += " | " + lark_.text("'" + std::string(value.text()) + "'");
  }
  return way;
}

Result<std::string> ValueGrammar::literal_case(const SchemaCase& one, const std::string& path,
                                               int depth) {
  if (one.values) {
    std::string ways;
    for (const Json& value : *one.values) {
      const std::string way = TRY(literal_constant(value, path));
      ways += (ways.empty() ? "" : " | ") + way;
    }
    return ways;
  }
  if (one.types.is_all()) return any_literal();
  if (one.types.is_only(TypeSet::null)) {
    return std::string(is_python() ? "\"None\" | \"null\"" : "\"null\"");
  }
  if (one.types.is_only(TypeSet::boolean)) {
    return std::string(is_python() ? "\"True\" | \"False\" | \"true\" | \"false\""
                                   : "\"true\" | \"false\"");
  }
  if (one.types.is_only(TypeSet::string)) return literal_text(*one.schema, path);
  if (one.types.is_only(TypeSet::array)) return literal_list(one, path, depth);
  if (one.types.is_only(TypeSet::object)) return literal_object(one, path, depth);
  return number_schema(one);
}

Result<std::string> ValueGrammar::literal_text(const Json& schema, const std::string& path) {
  const std::string& quote = dialect_.literals.quote;
  if (!quote.empty()) {
    const TextLimits limits = TRY(text_limits(schema, path));
    const std::string mark = lark_.text(quote);
    return fmt::format("{} {} {}", mark, lark_.text_without({quote}, limits), mark);
  }
  const Json limited =
      part_of_schema(schema, "string", {"minLength", "maxLength", "pattern", "format"});
  const std::string made = "%json " + limited.dump();
  if (limited.size() > 1) return made;
  return made + R"( | /'([^'\\\n]|\\['"\\nrt])*'/)";
}

// Between brackets, with the limits of the list's schema.
std::string ValueGrammar::list_of(const Json& schema, const std::string& item,
                                  const std::string& separator, uint64_t least) const {
  const auto count = [&](const char* key, uint64_t other) {
    const Json* given = schema.find(key);
    return given != nullptr && given->is_number_unsigned() ? given->get<uint64_t>() : other;
  };
  const uint64_t min = std::max(count("minItems", 0), least);
  const uint64_t max = count("maxItems", UINT64_MAX);
  if (max == 0) return {};
  const std::string most = max == UINT64_MAX ? "" : std::to_string(max - 1);
  std::string made =
      fmt::format("{} ({} {}){{{},{}}}", item, separator, item, min == 0 ? 0 : min - 1, most);
  return min == 0 ? fmt::format("({})?", made) : made;
}

Result<std::string> ValueGrammar::literal_list(const SchemaCase& one, const std::string& path,
                                               int depth) {
  static const Json kAny = Json::object();
  const Json* items = one.schema->find("items");
  if (items == nullptr) items = &kAny;
  const std::string item = TRY(literal_value(*items, path + "/items", depth + 1));
  return fmt::format("\"[\" {} \"]\"", list_of(*one.schema, item, "/, ?/", 0));
}

Result<std::string> ValueGrammar::literal_object(const SchemaCase& one, const std::string& path,
                                                 int depth) {
  std::vector<Member> members = TRY(members_of(*one.schema, path));
  const Json* others = one.schema->find("additionalProperties");
  const bool is_closed = others != nullptr && *others == false;
  if (members.empty() && !is_closed) return unsupported(path, "an object with any keys");
  for (Member& member : members) {
    if (!is_python() && member.key.find(dialect_.literals.quote) != member.key.npos) {
      return unsupported(member.path, "a key of this name");
    }
    const std::string value = TRY(literal_value(*member.schema, member.path, depth + 1));
    member.text = fmt::format("{} /: ?/ {}", literal_key(member.key, false), value);
  }
  return fmt::format("\"{{\" {} \"}}\"", chain(members, "/, ?/", true));
}

// Objects with any keys might have a key twice, which no rule can forbid: Python's are JSON, and
// the other language has none where anything is allowed.
std::string ValueGrammar::any_literal() {
  if (is_python()) return "%json {} | \"None\" | \"True\" | \"False\"";
  static const Json kAny;
  const auto known = rules_.find(&kAny);
  if (known != rules_.end()) return known->second;
  const std::string name = name_rule(kAny);
  const std::string quote = lark_.text(dialect_.literals.quote);
  lark_.rule(name,
             fmt::format("{} {} {} | %json {{\"type\":[\"number\",\"boolean\",\"null\"]}} | "
                         "\"[\" ({} (/, ?/ {})*)? \"]\"",
                         quote, lark_.text_without({dialect_.literals.quote}), quote, name, name));
  return name;
}

}  // namespace ruv
