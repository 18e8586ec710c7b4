// SchemaNode: one schema, its keywords read and checked, its patterns compiled. Subschemas are
// numbers of other nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grammar/goal/goals.h"

namespace ruv {

using SchemaNumber = uint32_t;
inline constexpr SchemaNumber kNoSchema = UINT32_MAX;

// The types of "type", as bits.
enum SchemaType : uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kNumberType = 8,
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kAllTypes = 127,
};

// Keywords of objects. Keys are numbers of KeySets; each list is in the order of the document.
struct MemberKeywords {
  std::vector<std::pair<KeyName, SchemaNumber>> properties;
  std::vector<std::pair<KeySet, SchemaNumber>> patterns;
  SchemaNumber additional = kNoSchema;
  SchemaNumber names = kNoSchema;
  SchemaNumber unevaluated = kNoSchema;
  std::vector<KeyName> required;
  uint32_t min = 0;
  std::optional<uint32_t> max;
  std::vector<std::pair<KeyName, std::vector<KeyName>>> dependent_required;
  std::vector<std::pair<KeyName, SchemaNumber>> dependent_schemas;
};

// Keywords of arrays. `prefix` are the schemas of the first items, `rest` that of all others.
struct ItemKeywords {
  std::vector<SchemaNumber> prefix;
  SchemaNumber rest = kNoSchema;
  SchemaNumber contains = kNoSchema;
  SchemaNumber unevaluated = kNoSchema;
  uint32_t min_contains = 1;
  std::optional<uint32_t> max_contains;
  uint32_t min = 0;
  std::optional<uint32_t> max;
  bool unique = false;
  bool contains_evaluates = true;  // items that `contains` matches count as evaluated
};

// A schema is the conjunction of its members.
struct SchemaNode {
  uint8_t types = kAllTypes;
  bool is_trivial = true;         // allows everything
  bool is_never = false;          // the schema false
  std::vector<Json> values = {};  // of enum and const; only with has_values
  bool has_values = false;
  std::vector<NumberSet> numbers = {};
  std::vector<Language> strings = {};
  uint32_t min_length = 0;
  std::optional<uint32_t> max_length = {};
  MemberKeywords members = {};
  ItemKeywords items = {};
  std::vector<SchemaNumber> all = {};  // allOf and references
  std::vector<std::vector<SchemaNumber>> any = {};
  std::vector<std::vector<SchemaNumber>> one = {};
  std::vector<SchemaNumber> none = {};  // not
  SchemaNumber condition = kNoSchema;
  SchemaNumber then_schema = kNoSchema;
  SchemaNumber else_schema = kNoSchema;
};

}  // namespace ruv
