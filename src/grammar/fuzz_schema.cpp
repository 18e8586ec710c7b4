// Reads hostile schemas and holds documents to them: input is a byte with the draft, a schema, a
// zero byte, a document. Nothing may take long or fail other than with a Status; a byte of the
// document may come where the mask says so; no answer that was begun runs into a dead end. Where a
// plain validator reads the schema too, both must say the same of the document.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/form/form.h"
#include "grammar/schema/test_validator.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

constexpr size_t kMaxSchema = 4096;
constexpr size_t kMaxDocument = 200;

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, name) != list.end();
}

// The validator computes with binary fractions.
bool has_short_numbers(const Json& json) {
  if (json.is_array()) return std::ranges::all_of(json.elements(), has_short_numbers);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (!has_short_numbers(value)) return false;
    }
    return true;
  }
  return !json.is_number() ||
         (json.dump().size() <= 4 && json.dump().find('e') == std::string::npos);
}

// Whether a schema of draft 2020-12 is one that the validator reads: it was written for keywords of
// one draft, references to "#", and patterns of its own tests.
bool is_plain_schema(const Json& schema, bool is_root) {
  if (schema.is_boolean()) return true;
  if (!schema.is_object()) return false;
  const auto plain = [](const Json& part) { return is_plain_schema(part, false); };
  for (const auto& [name, value] : schema.items()) {
    if (is_any_of(name, {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
                         "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
                         "maxItems", "minContains", "maxContains", "minProperties", "maxProperties",
                         "required", "uniqueItems", "dependentRequired"})) {
      if (!has_short_numbers(value)) return false;
    } else if (is_any_of(name,
                         {"items", "contains", "additionalProperties", "propertyNames", "not", "if",
                          "then", "else", "unevaluatedItems", "unevaluatedProperties"})) {
      if (!plain(value)) return false;
    } else if (is_any_of(name, {"allOf", "anyOf", "oneOf", "prefixItems"})) {
      if (!value.is_array() || !std::ranges::all_of(value.elements(), plain)) return false;
    } else if (is_any_of(name, {"properties", "dependentSchemas", "$defs"})) {
      if (!value.is_object() || (name == "$defs" && !is_root)) return false;
      for (const auto& [key, part] : value.items()) {
        if (!plain(part)) return false;
      }
    } else if (name == "$ref") {
      if (!value.is_string() || value.text() != "#") return false;
    } else {
      return false;
    }
  }
  return true;
}

struct FuzzWorld {
  std::shared_ptr<const Tokenizer> tokenizer = test_tokenizer(byte_test_spec({}));
  std::shared_ptr<TokenPrefixes> prefixes = std::make_shared<TokenPrefixes>(*tokenizer);
};

// Reads the document as far as it fits. Nothing: that was too much work.
std::optional<bool> holds(const FuzzWorld& world, const Form& form, std::string_view document) {
  const Lock guard(form.space().mutex());
  FormReader reader = form.reader();
  for (const char byte : document) {
    TokenMask mask(world.tokenizer->vocab_size());
    reader.allow(mask);
    if (reader.gave_up() || form.is_worn()) return std::nullopt;
    bool is_stuck = !reader.may_end();
    for (Token id = 0; id < 256 && is_stuck; ++id) is_stuck = !mask.has(id);
    CHECK(!is_stuck);
    const bool may_come = mask.has(static_cast<uint8_t>(byte));
    const bool came = reader.accept({&byte, 1});
    if (reader.gave_up() || form.is_worn()) return std::nullopt;
    CHECK(came == may_come);
    if (!came) return false;
  }
  const bool may_end = reader.may_end();
  if (const auto ending = reader.ending(kMaxDocument)) {
    CHECK(may_end ? ending->empty() : reader.accept(*ending) && reader.may_end());
  }
  return may_end;
}

}  // namespace
}  // namespace ruv

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruv;
  static const FuzzWorld world;
  if (size < 1) return 0;
  const auto draft = static_cast<SchemaDraft>(data[0] % 5);
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = std::min(input.find('\0'), input.size());
  const auto schema = parse_json(input.substr(0, std::min(end, kMaxSchema)), "schema");
  if (!schema) return 0;
  const std::string_view document =
      input.substr(std::min(end + 1, input.size())).substr(0, kMaxDocument);
  const auto space = std::make_shared<FormSpace>(world.prefixes, world.tokenizer->vocab_size());
  const Form::Made form = Form::of_schema(space, *schema, {.style = {}, .draft = draft});
  std::optional<bool> accepted = false;
  if (form) {
    accepted = holds(world, **form, document);
  } else if (form.error().message() != "no value satisfies the schema") {
    return 0;
  }
  const auto value = parse_json(document, "document");
  // Forms differ where they mean to: keys that come twice, spellings of numbers and spaces.
  if (!accepted || !value || !has_short_numbers(*value)) return 0;
  if (draft != SchemaDraft::draft2020 || !is_plain_schema(*schema, true)) return 0;
  const bool valid = TestValidator(*schema, 2020).valid(*value);
  if (*accepted) CHECK(valid);
  if (value->dump() == document && valid) CHECK(*accepted);
  return 0;
}
