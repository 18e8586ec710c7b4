// unevaluatedProperties and unevaluatedItems ask which of the schemas beside them hold. A schema
// with one of them becomes all combinations of these that a value can be of; each has its own list
// of what is evaluated.
#include <array>

#include "grammar/schema/schema_shapes.h"

namespace ruv {
namespace {

constexpr size_t kMaxVariants = 512;
constexpr uint32_t kMaxVariantDepth = 64;

bool is_impossible(const ValueShape& shape) {
  return !shape.null && !shape.on && !shape.off && shape.numbers.yes == Language::nothing &&
         shape.numbers.others != Truth::yes && shape.strings == Language::nothing &&
         shape.objects == Formula::no && shape.arrays == Formula::no;
}

}  // namespace

// Both hold: conditions are joined, and what is evaluated is united.
SchemaShapes::Variants SchemaShapes::product(const Variants& a, const Variants& b) {
  Variants made;
  for (const Variant& left : a) {
    for (const Variant& right : b) {
      Variant variant = left;
      variant.shape = both(left.shape, right.shape);
      if (is_impossible(variant.shape)) continue;
      variant.names.insert(variant.names.end(), right.names.begin(), right.names.end());
      variant.sets.insert(variant.sets.end(), right.sets.begin(), right.sets.end());
      variant.items.insert(variant.items.end(), right.items.begin(), right.items.end());
      variant.n_items = std::max(variant.n_items, right.n_items);
      variant.all_members = variant.all_members || right.all_members;
      variant.all_items = variant.all_items || right.all_items;
      made.push_back(std::move(variant));
      if (made.size() > kMaxVariants) {
        goals_.give_up();
        return made;
      }
    }
  }
  return made;
}

// What the keywords of the schema itself evaluate.
SchemaShapes::Variant SchemaShapes::own_variant(const SchemaNode& node) {
  Variant made = {.shape = own_shape(node)};
  for (const auto& [name, schema] : node.members.properties) made.names.push_back(name);
  for (const auto& [set, schema] : node.members.patterns) made.sets.push_back(set);
  made.all_members = node.members.additional != kNoSchema;
  made.n_items = static_cast<uint32_t>(node.items.prefix.size());
  made.all_items = node.items.rest != kNoSchema;
  if (node.items.contains != kNoSchema && node.items.contains_evaluates) {
    made.items.push_back(goal(node.items.contains));
  }
  return made;
}

SchemaShapes::Variants SchemaShapes::variants(SchemaNumber schema, uint32_t depth) {
  const SchemaNode& node = reader_.node(schema);
  if (node.is_never) return {};
  if (depth > kMaxVariantDepth) {
    goals_.give_up();
    return {};
  }
  Variants made = variants(node, depth);
  for (Variant& variant : made) {
    if (node.members.unevaluated != kNoSchema || node.items.unevaluated != kNoSchema) {
      variant.shape = evaluated(node, variant);
    }
    variant.all_members = variant.all_members || node.members.unevaluated != kNoSchema;
    variant.all_items = variant.all_items || node.items.unevaluated != kNoSchema;
  }
  return made;
}

// At least one of the list: each holds or does not.
SchemaShapes::Variants SchemaShapes::any_of_variants(const std::vector<SchemaNumber>& list,
                                                     uint32_t depth) {
  struct Chosen {
    Variants variants;
    bool some;
  };
  std::vector<Chosen> chosen = {{{{.shape = goals_.algebra().everything()}}, false}};
  for (const SchemaNumber part : list) {
    const Variants holds = variants(part, depth + 1);
    const Variants fails = {{.shape = goals_.algebra().negation(applied(part))}};
    std::vector<Chosen> next = {{{}, false}, {{}, true}};
    for (const Chosen& before : chosen) {
      for (Variant& v : product(before.variants, holds)) next[1].variants.push_back(std::move(v));
      for (Variant& v : product(before.variants, fails)) {
        next[before.some ? 1 : 0].variants.push_back(std::move(v));
      }
    }
    chosen = std::move(next);
  }
  return chosen.back().variants;
}

// Exactly one of the list: it holds and the others do not.
SchemaShapes::Variants SchemaShapes::one_of_variants(const std::vector<SchemaNumber>& list,
                                                     uint32_t depth) {
  Variants made;
  for (size_t i = 0; i < list.size(); ++i) {
    Variants one = variants(list[i], depth + 1);
    for (size_t j = 0; j < list.size(); ++j) {
      if (j == i) continue;
      one = product(one, {{.shape = goals_.algebra().negation(applied(list[j]))}});
    }
    for (Variant& variant : one) made.push_back(std::move(variant));
  }
  return made;
}

// A product over all that the schema applies to the same value.
SchemaShapes::Variants SchemaShapes::variants(const SchemaNode& node, uint32_t depth) {
  Variants made = {own_variant(node)};
  for (const SchemaNumber part : node.all) made = product(made, variants(part, depth + 1));
  for (const auto& list : node.any) made = product(made, any_of_variants(list, depth));
  for (const auto& list : node.one) made = product(made, one_of_variants(list, depth));
  for (const SchemaNumber part : node.none) {
    made = product(made, {{.shape = goals_.algebra().negation(applied(part))}});
  }
  const Variants anything = {{.shape = goals_.algebra().everything()}};
  if (node.condition != kNoSchema) {
    const ValueShape refused = goals_.algebra().negation(applied(node.condition));
    const auto or_anything = [&](SchemaNumber part) {
      return part == kNoSchema ? anything : variants(part, depth + 1);
    };
    Variants ways = product(variants(node.condition, depth + 1), or_anything(node.then_schema));
    for (Variant& v : product({{.shape = refused}}, or_anything(node.else_schema))) {
      ways.push_back(std::move(v));
    }
    made = product(made, ways);
  }
  for (const auto& [trigger, part] : node.members.dependent_schemas) {
    Formulas& f = goals_.objects().formulas();
    Variants ways = {{.shape = of_objects(f.negation(has(trigger)))}};
    ValueShape present = goals_.algebra().nothing();
    present.objects = has(trigger);
    for (Variant& v : product({{.shape = present}}, variants(part, depth + 1))) {
      ways.push_back(std::move(v));
    }
    made = product(made, ways);
  }
  return made;
}

// The variant with what its unevaluated members and items must be.
ValueShape SchemaShapes::evaluated(const SchemaNode& node, const Variant& variant) {
  ValueShape made = variant.shape;
  if (node.members.unevaluated != kNoSchema && !variant.all_members) {
    const KeySet rest = goals_.keys().others(variant.names, variant.sets);
    const Formula each = goals_.objects().each(rest, goal(node.members.unevaluated));
    made.objects = goals_.objects().formulas().all_of(made.objects, each);
  }
  if (node.items.unevaluated != kNoSchema && !variant.all_items) {
    std::vector<Goal> allowed = variant.items;
    allowed.push_back(goal(node.items.unevaluated));
    const Formula each =
        goals_.arrays().each(variant.n_items, ArraySteps::kEnd, goals_.any_of(allowed));
    made.arrays = goals_.arrays().formulas().all_of(made.arrays, each);
  }
  return made;
}

}  // namespace ruv
