// Texts are found by walking the automaton of a language, arrays and objects by walking their
// steps. Members have no order, so keys are tried in that of their numbers only.
#include "grammar/goal/value_lists.h"

#include <array>

#include "grammar/json/number_language.h"

namespace ruv {
namespace {

// Steps of a walk, and lists inside lists.
constexpr size_t kMaxWalk = 20'000;
constexpr size_t kMaxOpenLists = 32;

// Numbers without zeros at the end of a fraction.
Language shortest_numbers(Languages& l) {
  const Language digit = l.byte_of(ByteSet::of('0', '9'));
  const Language ends_in_zero =
      l.concat(std::array{l.star(l.byte_of(ByteSet::of('0', '9') | ByteSet::of('-'))), l.text("."),
                          l.star(digit), l.text("0")});
  return l.but(plain_number(l), ends_in_zero);
}

}  // namespace

ValueLists::ValueLists(Languages& languages, ObjectSteps& objects, ArraySteps& arrays,
                       JudgementBudget& budget, ShapeOf shape_of, SeenWith seen_with)
    : l_(languages),
      objects_(objects),
      arrays_(arrays),
      budget_(budget),
      shape_of_(std::move(shape_of)),
      seen_with_(std::move(seen_with)),
      canonical_strings_(l_.star(
          JsonAlphabet(JsonEscapes::needed).character(l_, CodePointSet::of(0, kLastCodePoint)))),
      canonical_numbers_(shortest_numbers(l_)) {}

// A goal that is met again inside its own values has no end of them.
ValueLists::Values ValueLists::list(Goal goal) {
  const auto known = known_.find(goal);
  if (known != known_.end()) return known->second;
  if (open_.size() >= kMaxOpenLists || !open_.insert(goal).second) return std::nullopt;
  Values made;
  const bool is_final = budget_.is_final_after([&] { made = list_shape(shape_of_(goal)); });
  open_.erase(goal);
  if (is_final && open_.empty()) known_.emplace(goal, made);
  return made;
}

ValueLists::Values ValueLists::list_shape(const ValueShape& shape) {
  if (shape.numbers.others == Truth::yes) return std::nullopt;
  std::vector<Json> values;
  if (shape.null) values.push_back(nullptr);
  if (shape.off) values.push_back(false);
  if (shape.on) values.push_back(true);
  if (!add_texts(l_.all_of(shape.numbers.yes, canonical_numbers_), false, values) ||
      !add_texts(l_.all_of(shape.strings, canonical_strings_), true, values) ||
      !add_arrays(shape.arrays, values) || !add_objects(shape.objects, values)) {
    return std::nullopt;
  }
  return values;
}

bool ValueLists::add_texts(Language language, bool are_strings, std::vector<Json>& values) {
  std::vector<std::pair<Language, std::string>> open = {{language, are_strings ? "\"" : ""}};
  for (size_t n = 0; !open.empty(); ++n) {
    if (n > kMaxWalk || open.size() + values.size() > kMaxValues) return false;
    const Language at = open.back().first;
    const std::string text = std::move(open.back().second);
    open.pop_back();
    if (l_.is_nothing(at)) continue;
    if (!budget_.spend(0)) return false;
    if (l_.has_empty(at)) {
      const auto value = parse_json(are_strings ? text + "\"" : text, "value");
      if (!value) return false;
      values.push_back(*value);
    }
    const std::span<const Languages::Arc> span = l_.arcs(at);
    for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
      if (l_.is_nothing(arc.next)) continue;
      arc.bytes.for_each(
          [&](uint8_t byte) { open.emplace_back(arc.next, text + static_cast<char>(byte)); });
    }
  }
  return values.size() <= kMaxValues;
}

bool ValueLists::add_arrays(Formula formula, std::vector<Json>& values) {
  struct Begun {
    Formula formula;
    Goal seen;
    Json array;
  };
  std::vector<Begun> open;
  if (formula != Formula::no) open.push_back({formula, Goal::no, Json::array()});
  for (size_t n = 0; !open.empty(); ++n) {
    if (n > kMaxWalk || open.size() + values.size() > kMaxValues) return false;
    const Begun at = std::move(open.back());
    open.pop_back();
    if (arrays_.may_end(at.formula)) values.push_back(at.array);
    for (const GoalStep& step : arrays_.find_steps(at.formula, at.seen)) {
      const Values items = list(step.value);
      if (!items) return false;
      for (const Json& item : *items) {
        Json longer = at.array;
        longer.push_back(item);
        open.push_back({step.next, seen_with_(at.seen, item), std::move(longer)});
      }
    }
  }
  return values.size() <= kMaxValues;
}

bool ValueLists::add_objects(Formula formula, std::vector<Json>& values) {
  struct Begun {
    Formula formula;
    std::optional<KeyName> last;
    Json object;
  };
  std::vector<Begun> open;
  if (formula != Formula::no) open.push_back({formula, std::nullopt, Json::object()});
  for (size_t n = 0; !open.empty(); ++n) {
    if (n > kMaxWalk || open.size() + values.size() > kMaxValues) return false;
    const Begun at = std::move(open.back());
    open.pop_back();
    const ObjectSteps::Plan plan = objects_.make_plan(at.formula);
    if (!plan.open.empty()) return false;
    if (plan.may_end) values.push_back(at.object);
    for (const KeyName name : plan.names) {
      if (at.last && name <= *at.last) continue;
      for (const GoalStep& step : objects_.find_steps(at.formula, name)) {
        const Values members = list(step.value);
        if (!members) return false;
        for (const Json& member : *members) {
          Json larger = at.object;
          larger[objects_.keys().key(name)] = member;
          open.push_back({step.next, name, std::move(larger)});
        }
      }
    }
  }
  return values.size() <= kMaxValues;
}

}  // namespace ruv
