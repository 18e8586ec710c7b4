// Elements named after their keys. An element without text is read by its schema, and one whose
// schema allows a text is a text unless an element follows.
#include <algorithm>

#include "chat/tools/value_grammar.h"

namespace ruv {
namespace {

constexpr int kMaxElementDepth = 100;
constexpr size_t kMaxWrittenElement = 256;

size_t n_cases_of(const std::vector<SchemaCase>& cases, TypeSet::Type type) {
  return static_cast<size_t>(std::ranges::count_if(
      cases, [&](const SchemaCase& one) { return !one.types.is_all() && one.types.has(type); }));
}

}  // namespace

Result<std::string> ValueGrammar::element(const std::string& name, const std::string& inside,
                                          const std::string& path) const {
  if (name.empty() || name.size() > kMaxWrittenElement || name.find_first_of("<>\n") != name.npos) {
    return unsupported(path, "an element of this name");
  }
  const std::string& prefix = dialect_.nested.prefix;
  return fmt::format("{} {} {}", lark_.text(prefix + "<" + name + ">"), inside,
                     lark_.text(prefix + "</" + name + ">"));
}

Result<std::string> ValueGrammar::nested_arguments() {
  std::vector<Member> members = TRY(root_members());
  for (Member& member : members) {
    const std::string inside = TRY(nested_value(*member.schema, member.path, 0));
    member.text = TRY(element(member.key, inside, member.path));
  }
  return " " + chain(members, "", true);
}

Result<std::string> ValueGrammar::nested_value(const Json& schema, const std::string& path,
                                               int depth) {
  const auto known = rules_.find(&schema);
  if (known != rules_.end()) return known->second;
  if (depth > kMaxElementDepth) return unsupported(path, "schemas so deep in each other");
  const std::string name = name_rule(schema);
  const Cases cases = TRY(schema_cases({&schema, &root_}, path));
  const TypeSet types = schema_types({&schema, &root_});
  if (n_cases_of(cases, TypeSet::object) > 1 || n_cases_of(cases, TypeSet::array) > 1) {
    return unsupported(path, "a choice of objects or of lists");
  }
  std::string ways;
  for (const SchemaCase& one : cases) {
    const std::string way = TRY(nested_case(one, types, path, depth));
    if (!way.empty()) ways += (ways.empty() ? "" : " | ") + way;
  }
  if (ways.empty()) return unsupported(path, "these values");
  lark_.rule(name, ways);
  return name;
}

// Empty: no text is read as a value of the case.
Result<std::string> ValueGrammar::nested_case(const SchemaCase& one, TypeSet types,
                                              const std::string& path, int depth) {
  const std::string opener = dialect_.nested.prefix + "<";
  const TypeSet scalars(TypeSet::string | TypeSet::null | TypeSet::boolean | TypeSet::integer |
                        TypeSet::number);
  if (one.values || one.types.is_all() || one.types.is_only(TypeSet::string)) {
    // An empty element is an empty text where it may be one.
    return one_of(TRY(bare_texts({one}, types, {opener}, path)));
  }
  if (one.types.is_only(TypeSet::array)) return nested_list(one, types, path, depth);
  if (one.types.is_only(TypeSet::object)) return nested_object(one, types, path, depth);
  const bool beside_text = types.has(TypeSet::string);
  if (one.types.is_only(TypeSet::null)) return std::string("\"null\"");
  if (beside_text || (one.types & scalars).empty()) return std::string();
  if (one.types.is_only(TypeSet::boolean)) return std::string("\"true\" | \"false\"");
  Json number = {{"type", one.types.is_only(TypeSet::integer) ? "integer" : "number"}};
  for (const char* key :
       {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
    if (const Json* value = one.schema->find(key)) number[key] = *value;
  }
  return "%json " + number.dump();
}

Result<std::string> ValueGrammar::nested_list(const SchemaCase& one, TypeSet types,
                                              const std::string& path, int depth) {
  static const Json kAny = Json::object();
  const Json* items = one.schema->find("items");
  if (items == nullptr) items = &kAny;
  const std::string inside = TRY(nested_value(*items, path + "/items", depth + 1));
  const std::string item = TRY(element(dialect_.nested.item, inside, path));
  const std::string list =
      list_of(*one.schema, lark_.add(item), "", types.has(TypeSet::string) ? 1 : 0);
  return list.empty() && !types.has(TypeSet::string) ? "\"\"" : list;
}

Result<std::string> ValueGrammar::nested_object(const SchemaCase& one, TypeSet types,
                                                const std::string& path, int depth) {
  std::vector<Member> members = TRY(members_of(*one.schema, path));
  const Json* others = one.schema->find("additionalProperties");
  const bool is_closed = others != nullptr && *others == false;
  if (members.empty() && !is_closed) return unsupported(path, "an object with any keys");
  for (Member& member : members) {
    if (member.key == dialect_.nested.item && types.has(TypeSet::array)) {
      return unsupported(member.path, "a member that looks like an item of a list");
    }
    const std::string inside = TRY(nested_value(*member.schema, member.path, depth + 1));
    member.text = TRY(element(member.key, inside, member.path));
  }
  const bool may_be_empty = !types.has(TypeSet::string) && !types.has(TypeSet::array);
  const std::string made = chain(members, "", may_be_empty);
  return made.empty() && may_be_empty ? "\"\"" : made;
}

}  // namespace ruv
