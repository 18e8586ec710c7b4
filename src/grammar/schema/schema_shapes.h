// SchemaShapes: what schemas ask of values.
#pragma once

#include "grammar/schema/schema_reader.h"

namespace ruv {

class SchemaShapes final : public Goals::Source {
 public:
  // References must outlive the object.
  SchemaShapes(Goals& goals, const SchemaReader& reader) : goals_(goals), reader_(reader) {}

  ValueShape shape_of(uint32_t schema) override;
  // The goal of a schema's values.
  Goal goal(SchemaNumber schema);

 private:
  // One way in which a value can satisfy a schema, and what is evaluated then: the members and
  // items that keywords of schemas that hold apply to.
  struct Variant {
    ValueShape shape;
    std::vector<KeyName> names = {};
    std::vector<KeySet> sets = {};
    uint32_t n_items = 0;
    std::vector<Goal> items = {};  // items of these goals
    bool all_members = false;
    bool all_items = false;
  };
  using Variants = std::vector<Variant>;

  // What the keywords of a schema ask, without those that apply other schemas to the same value.
  ValueShape own_shape(const SchemaNode& node, uint8_t types = kAllTypes);
  // The same with those, whose shapes are found by `applied`; without dependent schemas.
  using Apply = std::function<ValueShape(SchemaNumber)>;
  ValueShape combined(const SchemaNode& node, ValueShape own, const Apply& applied);
  // The strings of a schema.
  const ValueShape& string_shape(SchemaNumber schema);
  // All values of these types (SchemaType).
  ValueShape typed(uint8_t types);
  // What is asked of objects, and of arrays.
  Formula members(const MemberKeywords& keywords);
  Formula items(const ItemKeywords& keywords);
  ValueShape applied(SchemaNumber schema) { return goals_.shape(goal(schema)); }
  // Any value, but of objects only those that satisfy the formula.
  ValueShape of_objects(Formula formula);
  ValueShape both(const ValueShape& a, const ValueShape& b);
  ValueShape either(const ValueShape& a, const ValueShape& b);
  // The object has a member of this name.
  Formula has(KeyName name);

  // Where unevaluatedProperties or unevaluatedItems ask which schemas hold.
  // All ways in which values can be of the schema. `depth` counts schemas that apply each other.
  Variants variants(SchemaNumber schema, uint32_t depth);
  Variants variants(const SchemaNode& node, uint32_t depth);
  Variants product(const Variants& a, const Variants& b);
  Variants one_of_variants(const std::vector<SchemaNumber>& list, uint32_t depth);
  Variants any_of_variants(const std::vector<SchemaNumber>& list, uint32_t depth);
  // The schema without those that it applies.
  Variant own_variant(const SchemaNode& node);
  ValueShape evaluated(const SchemaNode& node, const Variant& variant);

  Goals& goals_;
  const SchemaReader& reader_;
  std::unordered_map<SchemaNumber, ValueShape> string_shapes_;
  uint32_t string_depth_ = 0;
  bool strings_are_cut_ = false;
};

}  // namespace ruv
