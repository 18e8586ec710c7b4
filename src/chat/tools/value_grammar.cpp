// What all formats of arguments share, and values between tags.
#include "chat/tools/value_grammar.h"

#include <algorithm>
#include <set>
#include <utility>

#include "chat/tools/argument_reader.h"
#include "chat/tools/text_pattern.h"

namespace ruv {
namespace {

constexpr size_t kMaxKeyBytes = 256;
constexpr size_t kMaxCopiedBytes = size_t{4} << 20;

bool has_reference(const Json& schema) {
  return schema.dump().find("\"$ref\"") != std::string::npos;
}

// "#/properties/a~1b": what a reference to the member is.
std::string pointer_part(std::string_view key) {
  std::string made = "/";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '~') {
      made += "~0";
    } else if (c == '/') {
      made += "~1";
    } else if (c == '%' || c == '#' || c == '"' || byte <= ' ' || byte > '~') {
      made += fmt::format("%{:02X}", byte);
    } else {
      made += c;
    }
  }
  return made;
}

// Any value in whose texts and keys `pattern` does not match.
Json values_without(const std::string& pattern, const std::string& self) {
  const Json forbidden = {{"pattern", pattern}};
  const Json again = {{"$ref", self}};
  return {{"anyOf", Json::array({Json{{"type", Json::array({"null", "boolean", "number"})}},
                                 Json{{"type", "string"}, {"not", forbidden}},
                                 Json{{"type", "array"}, {"items", again}},
                                 Json{{"type", "object"},
                                      {"propertyNames", {{"not", forbidden}}},
                                      {"additionalProperties", again}}})}};
}

Json type_names(TypeSet types) {
  constexpr std::pair<TypeSet::Type, const char*> kNames[] = {
      {TypeSet::null, "null"}, {TypeSet::array, "array"}, {TypeSet::object, "object"}};
  Json names = Json::array();
  for (const auto& [type, name] : kNames) {
    if (types.has(type)) names.push_back(name);
  }
  return names;
}

}  // namespace

ValueGrammar::ValueGrammar(const ToolDialect& dialect, LarkWriter& lark, const Json& parameters,
                           std::string id)
    : dialect_(dialect), lark_(lark), root_(parameters), id_(std::move(id)) {
  const Json* own = root_.is_object() ? root_.find("$id") : nullptr;
  if (own != nullptr && own->is_string()) id_ = own->text();
}

tl::unexpected<Status> ValueGrammar::unsupported(const std::string& path,
                                                 std::string_view what) const {
  return fail(Code::unsupported, "{}: calls of the format \"{}\" cannot be held to {}", path,
              dialect_.name, what);
}

// The arguments of the call.
Result<std::vector<ValueGrammar::Member>> ValueGrammar::root_members() const {
  const std::vector<SchemaCase> cases = TRY(schema_cases({&root_, &root_}, "#"));
  if (cases.size() != 1 || cases[0].values) return unsupported("#", "anything but one object");
  const bool is_any = cases[0].types.is_all();
  if (!is_any && !cases[0].types.is_only(TypeSet::object)) {
    return fail(Code::invalid, "#: arguments are an object");
  }
  return members_of(*cases[0].schema, "#");
}

Result<std::vector<ValueGrammar::Member>> ValueGrammar::members_of(const Json& object,
                                                                   const std::string& path) const {
  const Json* properties = object.find("properties");
  const Json* required = object.find("required");
  const Json none = Json::object();
  if (properties == nullptr) properties = &none;
  if (!properties->is_object()) return fail(Code::invalid, "{}/properties: no object", path);
  std::set<std::string_view> needed;
  if (required != nullptr && required->is_array()) {
    for (const Json& key : *required) {
      if (key.is_string()) needed.insert(key.text());
    }
  }
  std::vector<Member> members;
  for (const auto& [key, schema] : properties->items()) {
    if (schema.is_boolean() && !schema.get<bool>() && !needed.contains(key)) continue;
    members.push_back({std::string(key), &schema, needed.contains(key),
                       path + "/properties" + pointer_part(key)});
  }
  if (required == nullptr || !required->is_array()) return members;
  for (const Json& key : *required) {
    const bool known = key.is_string() && properties->contains(key.text());
    if (!known) return unsupported(path, "a required member without a schema");
  }
  return members;
}

// All members in order, with a separator between any two. Rule k of `rest` is what follows when
// something came before, and `first` is the beginning.
std::string ValueGrammar::chain(const std::vector<Member>& members, const std::string& separator,
                                bool may_be_empty) {
  std::string rest;  // of the members after it
  std::optional<std::string> first = may_be_empty ? "" : std::optional<std::string>();
  for (size_t i = members.size(); i-- > 0;) {
    const Member& member = members[i];
    std::string begin = member.text + " " + rest;
    std::string next = separator + " " + begin;
    if (!member.required) {
      if (first) begin = fmt::format("({}) | {}", begin, first->empty() ? "\"\"" : *first);
      next = fmt::format("({}) | {}", next, rest.empty() ? "\"\"" : rest);
    }
    first = lark_.add(begin);
    rest = lark_.add(next);
  }
  return first.value_or("");
}

// References lead to the tool's whole schema, which comes along.
Json ValueGrammar::with_references(const Json& schema, const std::string& path) {
  if (!has_reference(schema)) return schema;
  if (n_root_ == 0) n_root_ = root_.dump().size();
  n_copied_ += n_root_;
  Json root = root_;
  root["$id"] = id_;
  return {{"$ref", id_ + path}, {"$defs", {{"ruv_root", std::move(root)}}}};
}

bool ValueGrammar::copies_too_large() const { return n_copied_ > kMaxCopiedBytes; }

std::string ValueGrammar::name_rule(const Json& schema) {
  ruled_.push_back(&schema);
  return rules_[&schema] = lark_.new_name();
}

std::string ValueGrammar::json_value(Json made, TypeSet types, std::string_view mark) const {
  const std::string_view core = mark_core(mark);
  const bool may_hold =
      types.has(TypeSet::string) || types.has(TypeSet::array) || types.has(TypeSet::object);
  if (may_hold && !core.empty()) {
    Json definitions = Json::object();
    if (const Json* own = made.find("$defs")) definitions = *own;
    definitions["ruv_values"] = values_without(escaped_pattern(core), "#/$defs/ruv_values");
    made.erase("$defs");
    made = {{"allOf", Json::array({std::move(made), Json{{"$ref", "#/$defs/ruv_values"}}})},
            {"$defs", std::move(definitions)}};
  }
  return " %json " + made.dump();
}

Result<TextLimits> ValueGrammar::text_limits(const Json& schema, const std::string& path) const {
  TextLimits limits;
  for (const auto& [key, limit] :
       {std::pair("minLength", &limits.min), std::pair("maxLength", &limits.max)}) {
    const Json* given = schema.find(key);
    if (given == nullptr) continue;
    if (!given->is_number_unsigned()) return unsupported(path, key);
    *limit = given->get<uint64_t>();
  }
  if (limits.max < limits.min) return fail(Code::invalid, "{}: no text is so long", path);
  if (schema.contains("format")) return unsupported(path, "\"format\"");
  if (const Json* pattern = schema.find("pattern")) {
    const auto made = pattern->is_string() ? text_pattern(pattern->text()) : std::nullopt;
    if (!made) return unsupported(path, "this \"pattern\"");
    limits.pattern = *made;
  }
  return limits;
}

std::string ValueGrammar::one_of(const std::vector<std::string>& ways) {
  std::string made;
  for (const std::string& way : ways) made += (made.empty() ? "" : " | ") + way;
  return made;
}

// As readers of bare text see the value.
std::string ValueGrammar::bare_text(const Json& value) {
  return value.is_string() ? std::string(value.text()) : value.dump();
}

// Whether the bare text of the value is read as the value.
bool ValueGrammar::reads_as(const Json& value, TypeSet types) {
  if (types.is_only(TypeSet::string)) return value.is_string();
  ToolWarnings warnings;
  const auto read = parse_json(json_of_text(bare_text(value), types, 0, warnings), "value");
  return read && *read == value && warnings.empty();
}

Result<std::string> ValueGrammar::tagged_arguments() {
  std::vector<Member> members = TRY(root_members());
  for (Member& member : members) {
    const std::string& key = member.key;
    bool is_key = !key.empty() && key.size() <= kMaxKeyBytes && mark_core(key) == key &&
                  key.find_first_of("<\n") == key.npos;
    std::string ways;
    for (const TagForm& form : dialect_.tagged.forms) {
      is_key &= key.find(mark_core(form.key_end)) == key.npos;
      const std::string value = TRY(tagged_value(member, form));
      if (value.empty()) continue;
      ways += fmt::format("{}{} {} {}", ways.empty() ? "" : " | ", lark_.text(form.key_end), value,
                          lark_.text(form.value_end));
    }
    if (!is_key) return unsupported(member.path, "an argument of this name");
    if (copies_too_large())
      return unsupported(
          "#", "copies of the whole schema above 4 MB, one for each argument with references");
    if (ways.empty()) return unsupported(member.path, "these types");
    member.text =
        fmt::format("{}{} ({})", lark_.text(dialect_.tagged.begin), lark_.text(key), ways);
  }
  return " " + chain(members, "", true);
}

Result<std::string> ValueGrammar::tagged_value(const Member& member, const TagForm& form) {
  const SchemaPlace place = {member.schema, &root_};
  switch (form.value) {
    case TagValue::by_schema:
      return bare_value(member, marks_in(form));
    case TagValue::json:
      return json_value(with_references(*member.schema, member.path), schema_types(place),
                        form.value_end);
    case TagValue::text:
      break;
  }
  // A text, whatever it looks like.
  if (!schema_types(place).has(TypeSet::string)) return std::string();
  Cases cases = TRY(schema_cases(place, member.path));
  for (SchemaCase& one : cases) {
    if (one.types.is_all()) one.types = TypeSet(TypeSet::string);
    if (one.values)
      std::erase_if(*one.values, [](const Json& value) { return !value.is_string(); });
  }
  const std::vector<std::string> texts =
      TRY(bare_texts(cases, TypeSet(TypeSet::string), marks_in(form), member.path));
  return texts.empty() ? std::string() : fmt::format("({})", one_of(texts));
}

// What no text in this form may hold: its end, and what would make it one in another form.
ValueGrammar::Marks ValueGrammar::marks_in(const TagForm& form) const {
  Marks marks = {form.value_end};
  const std::string_view begin = mark_core(form.key_end);
  for (const TagForm& other : dialect_.tagged.forms) {
    const std::string_view longer = mark_core(other.key_end);
    if (longer.size() > begin.size() && longer.starts_with(begin)) {
      marks.push_back(longer.substr(begin.size()));
    }
  }
  return marks;
}

// A text is read as JSON only where its schema allows no texts, or where no text would look so.
Result<std::string> ValueGrammar::bare_value(const Member& member, const Marks& marks) {
  const SchemaPlace place = {member.schema, &root_};
  const TypeSet types = schema_types(place);
  if (!types.has(TypeSet::string)) {
    return json_value(with_references(*member.schema, member.path), types, marks[0]);
  }
  const Cases cases = TRY(schema_cases(place, member.path));
  std::vector<std::string> ways = TRY(bare_texts(cases, types, marks, member.path));
  const TypeSet others = types & TypeSet(TypeSet::null | TypeSet::array | TypeSet::object);
  const bool listed =
      std::ranges::any_of(cases, [](const SchemaCase& one) { return one.values.has_value(); });
  if (!types.is_all() && !others.empty() && !listed) {
    const Json narrowed = {{"allOf", Json::array({with_references(*member.schema, member.path),
                                                  Json{{"type", type_names(others)}}})}};
    ways.push_back(json_value(narrowed, others, marks[0]));
  }
  if (ways.empty()) return unsupported(member.path, "these values");
  return fmt::format("({})", one_of(ways));
}

// The ways to write values of the cases as bare text.
Result<std::vector<std::string>> ValueGrammar::bare_texts(const Cases& cases, TypeSet types,
                                                          const Marks& marks,
                                                          const std::string& path) {
  const bool shown = types.is_all() || !(types & TypeSet(TypeSet::array | TypeSet::object)).empty();
  std::vector<std::string> ways;
  for (const SchemaCase& one : cases) {
    if (one.values) {
      for (const Json& value : *one.values) {
        const std::string text = bare_text(value);
        const bool holds = std::ranges::any_of(
            marks, [&](std::string_view mark) { return text.find(mark_core(mark)) != text.npos; });
        if (!reads_as(value, types) || holds) continue;
        const std::string exact = lark_.text(text);
        ways.push_back(exact.empty() ? "\"\"" : exact);
      }
      continue;
    }
    if (one.types.is_all()) {
      ways.push_back(lark_.text_without(marks));
    } else if (one.types.has(TypeSet::string)) {
      const TextLimits limits = TRY(text_limits(*one.schema, path));
      ways.push_back(lark_.text_without(marks, limits, shown ? "[{(" : ""));
    }
  }
  return ways;
}

}  // namespace ruv
