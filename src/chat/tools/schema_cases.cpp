#include "chat/tools/schema_cases.h"

#include <algorithm>
#include <span>

namespace ruv {
namespace {

using Keywords = std::span<const std::string_view>;

// Schemas in each other without a value between them, and cases in all.
constexpr int kMaxCaseDepth = 32;
constexpr size_t kMaxCases = 256;

constexpr std::string_view kNotes[] = {"title",    "description", "default",  "examples",
                                       "$comment", "deprecated",  "readOnly", "writeOnly",
                                       "$schema",  "$id",         "$defs",    "definitions",
                                       "nullable", "type",        "enum",     "const"};
constexpr std::string_view kOfTexts[] = {"minLength", "maxLength", "pattern", "format"};
constexpr std::string_view kOfNumbers[] = {"minimum",          "maximum",    "exclusiveMinimum",
                                           "exclusiveMaximum", "multipleOf", "format"};
constexpr std::string_view kOfLists[] = {"items", "minItems", "maxItems"};
constexpr std::string_view kOfObjects[] = {"properties", "required", "additionalProperties"};

bool is_keyword_of(Keywords words, std::string_view key) {
  return std::ranges::find(words, key) != words.end();
}

bool has_any_of(const Json& schema, Keywords words) {
  return std::ranges::any_of(words, [&](std::string_view key) { return schema.contains(key); });
}

class CaseReader {
 public:
  CaseReader(const Json* root, const std::string& path) : root_(root), path_(path) {}

  Status read(const Json& schema, int depth) {
    if (schema.is_boolean() && schema.get<bool>()) {
      cases_.push_back({TypeSet::all(), &empty_schema()});
      return {};
    }
    if (!schema.is_object()) return fail(Code::invalid, "{}: no schema", path_);
    if (depth == kMaxCaseDepth || cases_.size() > kMaxCases) {
      return fail(Code::unsupported, "{}: too many schemas in each other", path_);
    }
    for (const char* key : {"$ref", "allOf", "anyOf", "oneOf"}) {
      if (const Json* inner = schema.find(key)) return read_inner(schema, key, *inner, depth);
    }
    return read_plain(schema);
  }

  std::vector<SchemaCase> take() { return std::move(cases_); }

 private:
  static const Json& empty_schema() {
    static const Json kEmpty = Json::object();
    return kEmpty;
  }

  tl::unexpected<Status> unsupported(std::string_view key) const {
    return fail(Code::unsupported, "{}: the format of the model's calls cannot be held to \"{}\"",
                path_, key);
  }

  // Beside a keyword that leads to other schemas only notes may be.
  Status read_inner(const Json& schema, std::string_view key, const Json& inner, int depth) {
    for (const auto& [other, value] : schema.items()) {
      const bool says_nothing = is_keyword_of(kNotes, other) && other != "enum" && other != "const";
      const bool is_same_type = other == "type" && (key == "anyOf" || key == "oneOf");
      if (other != key && (!says_nothing || (other == "type" && !is_same_type))) {
        return unsupported(other);
      }
    }
    if (key == "$ref") {
      const Json* there = schema_at(inner, root_);
      return there != nullptr ? read(*there, depth + 1) : Status(unsupported("$ref"));
    }
    if (!inner.is_array() || inner.empty()) return fail(Code::invalid, "{}: no schema", path_);
    if (key == "allOf") {
      return inner.size() == 1 ? read(inner.front(), depth + 1) : Status(unsupported("allOf"));
    }
    const size_t begin = cases_.size();
    for (const Json& each : inner) {
      const size_t before = cases_.size();
      TRY(read(each, depth + 1));
      if (key == "oneOf" && overlaps(begin, before)) return unsupported("oneOf");
    }
    return restrict_types(schema, begin);
  }

  // Whether cases from `middle` on have a type that one of those before has.
  bool overlaps(size_t begin, size_t middle) const {
    for (size_t i = middle; i < cases_.size(); ++i) {
      for (size_t j = begin; j < middle; ++j) {
        if (!(cases_[i].types & cases_[j].types).empty()) return true;
      }
    }
    return false;
  }

  // A type beside the alternatives must be that of all of them.
  Status restrict_types(const Json& schema, size_t begin) const {
    if (!schema.contains("type")) return {};
    const Json only_type = {{"type", schema.at("type")}};
    const TypeSet types = schema_types({&only_type, root_});
    for (size_t i = begin; i < cases_.size(); ++i) {
      if ((cases_[i].types & types) != cases_[i].types) return unsupported("type");
    }
    return {};
  }

  Status read_plain(const Json& schema) {
    for (const auto& [key, value] : schema.items()) {
      if (!is_keyword_of(kNotes, key) && !is_keyword_of(kOfTexts, key) &&
          !is_keyword_of(kOfNumbers, key) && !is_keyword_of(kOfLists, key) &&
          !is_keyword_of(kOfObjects, key)) {
        return unsupported(key);
      }
    }
    const TypeSet types = plain_types(schema);
    if (schema.contains("enum") || schema.contains("const")) return read_values(schema, types);
    if (types.is_all()) {
      for (const Keywords words : {Keywords(kOfTexts), Keywords(kOfNumbers)}) {
        if (has_any_of(schema, words)) return unsupported("a schema without a type");
      }
      cases_.push_back({types, &schema});
      return {};
    }
    for (uint8_t bit = 1; bit < 128; bit = static_cast<uint8_t>(bit * 2)) {
      const TypeSet one = TypeSet(bit) & types;
      // Whole numbers are numbers.
      const bool is_in_number = bit == TypeSet::integer && types.has(TypeSet::number);
      if (!one.empty() && !is_in_number) cases_.push_back({one, &schema});
    }
    return {};
  }

  // A schema that says something of lists or objects only is meant for these.
  TypeSet plain_types(const Json& schema) const {
    const TypeSet types = schema_types({&schema, root_});
    if (!types.is_all()) return types;
    if (has_any_of(schema, kOfObjects)) return TypeSet(TypeSet::object);
    if (has_any_of(schema, kOfLists)) return TypeSet(TypeSet::array);
    return types;
  }

  // Values that are listed. Keywords beside them would have to be checked, too.
  Status read_values(const Json& schema, TypeSet types) {
    for (const Keywords words :
         {Keywords(kOfTexts), Keywords(kOfNumbers), Keywords(kOfLists), Keywords(kOfObjects)}) {
      for (const std::string_view key : words) {
        if (schema.contains(key)) return unsupported(key);
      }
    }
    const Json* only = schema.find("const");
    const Json* list = schema.find("enum");
    if (only != nullptr && list != nullptr) return unsupported("const");
    SchemaCase made{types, &schema, std::vector<Json>()};
    if (only != nullptr) made.values->push_back(*only);
    if (list != nullptr && list->is_array()) {
      for (const Json& value : *list) {
        if (!(types & type_of_value(value)).empty()) made.values->push_back(value);
      }
    }
    if (made.values->empty()) return fail(Code::invalid, "{}: no value is allowed", path_);
    cases_.push_back(std::move(made));
    return {};
  }

  const Json* root_;
  const std::string& path_;
  std::vector<SchemaCase> cases_;
};

}  // namespace

Result<std::vector<SchemaCase>> schema_cases(SchemaPlace place, const std::string& path) {
  CaseReader reader(place.root, path);
  if (place.schema == nullptr) return fail(Code::invalid, "{}: no schema", path);
  TRY(reader.read(*place.schema, 0));
  return reader.take();
}

}  // namespace ruv
