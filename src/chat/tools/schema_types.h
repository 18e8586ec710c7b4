// What JSON Schemas say about the types of values: enough to tell a text from a number where a
// model writes both without quotes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_fwd.h"

namespace ruv {

// A set of JSON's types.
class TypeSet {
 public:
  enum Type : uint8_t {
    null = 1,
    boolean = 2,
    integer = 4,
    number = 8,
    string = 16,
    array = 32,
    object = 64,
  };
  TypeSet() = default;
  explicit TypeSet(uint8_t bits) : bits_(bits) {}
  static TypeSet all() { return TypeSet(127); }

  // Whether a type is in the set, is all of it, and so on.
  bool has(Type type) const { return (bits_ & type) != 0; }
  bool is_only(Type type) const { return bits_ == type; }
  bool is_all() const { return bits_ == 127; }
  bool empty() const { return bits_ == 0; }

  // Union and intersection.
  friend TypeSet operator|(TypeSet a, TypeSet b) {
    return TypeSet(static_cast<uint8_t>(a.bits_ | b.bits_));
  }
  friend TypeSet operator&(TypeSet a, TypeSet b) {
    return TypeSet(static_cast<uint8_t>(a.bits_ & b.bits_));
  }
  friend bool operator==(TypeSet, TypeSet) = default;

 private:
  uint8_t bits_ = 0;
};

// The one type of a value. A whole number is an integer however it is written.
TypeSet type_of_value(const Json& value);

// A schema and the document that its references lead into. Null: anything is allowed.
struct SchemaPlace {
  const Json* schema = nullptr;
  const Json* root = nullptr;
};

// What a reference ("#/$defs/x") leads to in the document; null: not there, or another form of one.
const Json* schema_at(const Json& reference, const Json* root);

// The types that values of the schema can have, by type, enum, const, anyOf, oneOf, allOf, nullable
// and references within the document. What it does not understand restricts nothing. Looks at a
// bounded number of subschemas.
TypeSet schema_types(SchemaPlace place);
// The schema of a member of objects, and of a list's items: of the first alternative that has one.
SchemaPlace member_schema(SchemaPlace place, std::string_view key);
SchemaPlace item_schema(SchemaPlace place);

}  // namespace ruv
