// Schemas are read one after the other from a list, so nesting costs no stack. A schema is read
// once for each scope of dynamic references that it is met in.
#include "grammar/schema/schema_reader.h"

#include <algorithm>
#include <array>

#include "grammar/regex/pattern_language.h"

namespace ruv {
namespace {

// Schemas that one request may be made of.
constexpr size_t kMaxSchemas = 100'000;

// Keywords that describe a value and limit nothing.
constexpr std::array<std::string_view, 23> kAnnotations = {"$anchor",
                                                           "$comment",
                                                           "$defs",
                                                           "$dynamicAnchor",
                                                           "$id",
                                                           "$schema",
                                                           "$recursiveAnchor",
                                                           "$vocabulary",
                                                           "contentEncoding",
                                                           "contentMediaType",
                                                           "contentSchema",
                                                           "default",
                                                           "definitions",
                                                           "deprecated",
                                                           "description",
                                                           "else",
                                                           "example",
                                                           "examples",
                                                           "id",
                                                           "readOnly",
                                                           "then",
                                                           "title",
                                                           "writeOnly"};

auto too_many_schemas() {
  return fail(Code::unsupported, "more than {} schemas in one", kMaxSchemas);
}

std::string escaped_token(std::string_view token) {
  std::string made;
  for (const char c : token) {
    if (c == '~') {
      made += "~0";
    } else if (c == '/') {
      made += "~1";
    } else {
      made += c;
    }
  }
  return made;
}

}  // namespace

// Which function reads a keyword.
struct SchemaReader::Keyword {
  using Read = Status (SchemaReader::*)(SchemaNumber, std::string_view, const Json&);
  std::string_view name;
  Read read;
};

std::span<const SchemaReader::Keyword> SchemaReader::keywords() {
  static constexpr std::array kKeywords = {
      Keyword{"$dynamicRef", &SchemaReader::read_reference},
      Keyword{"$recursiveRef", &SchemaReader::read_reference},
      Keyword{"$ref", &SchemaReader::read_reference},
      Keyword{"additionalItems", &SchemaReader::read_items},
      Keyword{"additionalProperties", &SchemaReader::read_member_keyword},
      Keyword{"allOf", &SchemaReader::read_choice},
      Keyword{"anyOf", &SchemaReader::read_choice},
      Keyword{"const", &SchemaReader::read_values},
      Keyword{"contains", &SchemaReader::read_item_keyword},
      Keyword{"dependencies", &SchemaReader::read_dependencies},
      Keyword{"dependentRequired", &SchemaReader::read_dependencies},
      Keyword{"dependentSchemas", &SchemaReader::read_dependencies},
      Keyword{"enum", &SchemaReader::read_values},
      Keyword{"exclusiveMaximum", &SchemaReader::read_bound},
      Keyword{"exclusiveMinimum", &SchemaReader::read_bound},
      Keyword{"format", &SchemaReader::read_string},
      Keyword{"if", &SchemaReader::read_choice},
      Keyword{"items", &SchemaReader::read_items},
      Keyword{"maxContains", &SchemaReader::read_item_keyword},
      Keyword{"maxItems", &SchemaReader::read_item_keyword},
      Keyword{"maxLength", &SchemaReader::read_string},
      Keyword{"maxProperties", &SchemaReader::read_member_keyword},
      Keyword{"maximum", &SchemaReader::read_bound},
      Keyword{"minContains", &SchemaReader::read_item_keyword},
      Keyword{"minItems", &SchemaReader::read_item_keyword},
      Keyword{"minLength", &SchemaReader::read_string},
      Keyword{"minProperties", &SchemaReader::read_member_keyword},
      Keyword{"minimum", &SchemaReader::read_bound},
      Keyword{"multipleOf", &SchemaReader::read_bound},
      Keyword{"not", &SchemaReader::read_choice},
      Keyword{"oneOf", &SchemaReader::read_choice},
      Keyword{"pattern", &SchemaReader::read_string},
      Keyword{"patternProperties", &SchemaReader::read_member_keyword},
      Keyword{"prefixItems", &SchemaReader::read_items},
      Keyword{"properties", &SchemaReader::read_member_keyword},
      Keyword{"propertyNames", &SchemaReader::read_member_keyword},
      Keyword{"required", &SchemaReader::read_member_keyword},
      Keyword{"type", &SchemaReader::read_values},
      Keyword{"unevaluatedItems", &SchemaReader::read_item_keyword},
      Keyword{"unevaluatedProperties", &SchemaReader::read_member_keyword},
      Keyword{"uniqueItems", &SchemaReader::read_item_keyword},
  };
  static_assert(std::ranges::is_sorted(kKeywords, {}, &Keyword::name));
  return kKeywords;
}

SchemaReader::SchemaReader(Goals& goals, Formats& formats, const SchemaIndex& index)
    : goals_(goals), formats_(formats), index_(index) {}

// Schemas get a number when they are first referred to, and are read later.
SchemaNumber SchemaReader::number_of(const SchemaIndex::Place& place, Scope scope,
                                     SchemaNumber parent, std::string_view step) {
  scope = entered(scope, place.resource);
  const uint64_t key = reinterpret_cast<uintptr_t>(place.json) ^ (uint64_t{scope} << 48);
  const auto [at, is_new] = numbers_.emplace(key, static_cast<SchemaNumber>(nodes_.size()));
  if (is_new) nodes_.push_back({place.json, place.resource, scope, parent, step, {}});
  return at->second;
}

// Scopes only matter where a dynamic reference may ask for them.
SchemaReader::Scope SchemaReader::entered(Scope scope, uint32_t resource) {
  if (!index_.has_dynamic_anchors()) return 0;
  std::vector<uint32_t> passed = scopes_[scope];
  if (std::ranges::find(passed, resource) != passed.end()) return scope;
  passed.push_back(resource);
  const auto at = std::ranges::find(scopes_, passed);
  if (at != scopes_.end()) return static_cast<Scope>(at - scopes_.begin());
  scopes_.push_back(std::move(passed));
  return static_cast<Scope>(scopes_.size() - 1);
}

SchemaNumber SchemaReader::child(SchemaNumber at, const Json& json, std::string_view step) {
  const Entry& parent = nodes_[at];
  return number_of({&json, index_.resource_at(json, parent.resource)}, parent.scope, at, step);
}

Result<std::vector<SchemaNumber>> SchemaReader::children(SchemaNumber at, const Json& list,
                                                         std::string_view step) {
  if (!list.is_array() || list.empty()) return wrong(at, step, "a list of schemas");
  if (list.size() > kMaxSchemas) return too_many_schemas();
  std::vector<SchemaNumber> made;
  for (const Json& item : list) made.push_back(child(at, item, step));
  return made;
}

// A JSON pointer as a fragment, from the root or the last reference.
std::string SchemaReader::place_text(SchemaNumber at, std::string_view keyword) const {
  std::vector<std::string> steps = {escaped_token(keyword)};
  for (SchemaNumber number = at; number != kNoSchema; number = nodes_[number].parent) {
    const Entry& entry = nodes_[number];
    if (!entry.step.empty()) steps.push_back(escaped_token(entry.step));
  }
  std::string made = "#";
  for (size_t i = steps.size(); i-- > 0;) made += "/" + steps[i];
  return made;
}

tl::unexpected<Status> SchemaReader::wrong(SchemaNumber at, std::string_view keyword,
                                           std::string_view wanted) {
  return fail(Code::corrupt, "{}: must be {}", place_text(at, keyword), wanted);
}

void SchemaReader::note(SchemaNumber at, std::string_view keyword, std::string reason) {
  notes_.push_back({place_text(at, keyword), std::string(keyword), std::move(reason)});
}

Result<SchemaNumber> SchemaReader::read(const SchemaIndex::Place& place) {
  const SchemaNumber root = number_of(place, 0, kNoSchema, "");
  for (; n_read_ < nodes_.size(); ++n_read_) {
    if (n_read_ == kMaxSchemas) {
      return too_many_schemas();
    }
    TRY(read_node(static_cast<SchemaNumber>(n_read_)));
  }
  TRY(check_loops());
  if (goals_.overflowed()) return fail(Code::unsupported, "the schema is too large");
  return root;
}

Status SchemaReader::read_node(SchemaNumber at) {
  const Json& schema = json(at);
  if (schema.is_boolean()) {
    made(at).is_never = schema == false;
    made(at).is_trivial = schema == true;
    return {};
  }
  if (!schema.is_object()) {
    std::string place = place_text(at, "");
    place.pop_back();
    return Status(Code::corrupt, place + ": a schema must be an object or a boolean");
  }
  // Before draft 2019-09, nothing beside a reference counts.
  const Json* reference = schema.find("$ref");
  if (reference != nullptr && reference->is_string() && draft(at) <= SchemaDraft::draft7) {
    return read_keyword(at, "$ref", *reference);
  }
  for (const auto& [name, value] : schema.items()) TRY(read_keyword(at, name, value));
  return read_additional(at);
}

// Keywords of the table are read, annotations pass, all else is noted.
Status SchemaReader::read_keyword(SchemaNumber at, std::string_view name, const Json& value) {
  const auto known = std::ranges::lower_bound(keywords(), name, {}, &Keyword::name);
  if (known != keywords().end() && known->name == name) {
    made(at).is_trivial = false;
    return (this->*known->read)(at, name, value);
  }
  if (std::ranges::find(kAnnotations, name) == kAnnotations.end()) {
    note(at, name, "not a keyword");
  }
  return {};
}

// A number of characters, items or members; larger ones than can occur are one.
Result<uint32_t> SchemaReader::count(SchemaNumber at, std::string_view keyword, const Json& value) {
  constexpr uint32_t kMost = Languages::kUnlimited - 1;
  const bool is_whole =
      value.is_number_unsigned() || value.is_big_integer() ||
      (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() < 1e18 &&
       value.get<double>() == static_cast<double>(static_cast<int64_t>(value.get<double>())));
  if (!is_whole) return wrong(at, keyword, "an integer from 0 on");
  const double number = value.get<double>();
  return number < kMost ? static_cast<uint32_t>(number) : kMost;
}

Result<Language> SchemaReader::pattern(SchemaNumber at, std::string_view keyword,
                                       std::string_view text) {
  const auto read = read_pattern(text, {});
  if (!read) {
    return tl::unexpected(with_context(place_text(at, keyword), Status(read.error())));
  }
  const auto made =
      language_of(goals_.languages(), *read, goals_.text().alphabet(), PatternMatch::anywhere);
  if (!made) return tl::unexpected(with_context(place_text(at, keyword), Status(made.error())));
  return *made;
}

// Keywords that apply other schemas to the same value.
Status SchemaReader::read_choice(SchemaNumber at, std::string_view name, const Json& value) {
  if (name == "not") {
    made(at).none.push_back(child(at, value, "not"));
    return {};
  }
  if (name == "if") {
    made(at).condition = child(at, value, "if");
    const Json* then_json = json(at).find("then");
    const Json* else_json = json(at).find("else");
    if (then_json != nullptr) made(at).then_schema = child(at, *then_json, "then");
    if (else_json != nullptr) made(at).else_schema = child(at, *else_json, "else");
    return {};
  }
  std::vector<SchemaNumber> list = TRY(children(at, value, name));
  SchemaNode& node = made(at);
  if (name == "allOf") {
    node.all.insert(node.all.end(), list.begin(), list.end());
  } else {
    (name == "anyOf" ? node.any : node.one).push_back(std::move(list));
  }
  return {};
}

// A reference applies its target as allOf does.
Status SchemaReader::read_reference(SchemaNumber at, std::string_view name, const Json& value) {
  if (!value.is_string()) return wrong(at, name, "a text").value();
  const Entry& from = nodes_[at];
  SchemaIndex::Place to = index_.find(from.resource, value.text());
  if (to.json == nullptr) {
    return Status(Code::unsupported, fmt::format("{}: \"{}\" is not in the schemas given",
                                                 place_text(at, name), value.text()));
  }
  // A dynamic reference to a dynamic anchor means the outermost one of that name.
  if (name != "$ref") {
    const std::string_view text = value.text();
    const size_t hash = text.find('#');
    const std::string_view anchor = hash == std::string_view::npos ? "" : text.substr(hash + 1);
    if (index_.find_dynamic(to.resource, anchor).json == to.json) {
      for (const uint32_t resource : scopes_[from.scope]) {
        const SchemaIndex::Place outer = index_.find_dynamic(resource, anchor);
        if (outer.json == nullptr) continue;
        to = outer;
        break;
      }
    }
  }
  const SchemaNumber number = number_of(to, from.scope, kNoSchema, value.text());
  made(at).all.push_back(number);
  return {};
}

// Schemas that apply to the same value must not refer to each other in a circle.
Status SchemaReader::check_loops() {
  enum : uint8_t { unseen, open, done };
  std::vector<uint8_t> state(nodes_.size(), unseen);
  const auto next = [&](SchemaNumber at) {
    const SchemaNode& n = nodes_[at].node;
    std::vector<SchemaNumber> list = n.all;
    list.insert(list.end(), n.none.begin(), n.none.end());
    for (const auto& part : n.any) list.insert(list.end(), part.begin(), part.end());
    for (const auto& part : n.one) list.insert(list.end(), part.begin(), part.end());
    for (const SchemaNumber part : {n.condition, n.then_schema, n.else_schema}) {
      if (part != kNoSchema) list.push_back(part);
    }
    for (const auto& [name, part] : n.members.dependent_schemas) list.push_back(part);
    return list;
  };
  for (SchemaNumber root = 0; root < nodes_.size(); ++root) {
    if (state[root] != unseen) continue;
    std::vector<std::pair<SchemaNumber, std::vector<SchemaNumber>>> path;
    path.emplace_back(root, next(root));
    state[root] = open;
    while (!path.empty()) {
      auto& [at, list] = path.back();
      if (list.empty()) {
        state[at] = done;
        path.pop_back();
        continue;
      }
      const SchemaNumber to = list.back();
      list.pop_back();
      if (state[to] == open) {
        return Status(Code::unsupported, place_text(to, "") + ": refers to itself without an end");
      }
      if (state[to] == done) continue;
      state[to] = open;
      path.emplace_back(to, next(to));
    }
  }
  return {};
}

}  // namespace ruv
