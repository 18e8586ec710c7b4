// The nodes of JSON. What is asked of an object or array travels from node to node as a formula;
// the keys and values that came are read from the text where their end is met.
#include <algorithm>

#include "grammar/form/expansion.h"

namespace ruv {

// The text since a place, which is kept while some node needs it.
std::string_view FormReader::Expansion::text_from(uint32_t mark) const {
  return std::string_view(reader_.text_).substr(mark - reader_.text_begin_);
}

// All scalars are one head; objects and arrays begin heads of their own.
void FormReader::Expansion::run_value(const Node& node) {
  const Goals::Start start = parts_.goals->start(static_cast<Goal>(node.a));
  JsonText& text = parts_.goals->text();
  if (!add_long_string(start, node)) add(start.scalars, node.parent);
  if (start.objects != Formula::no) {
    add(text.open('{'), nodes_.make({.kind = Kind::object_open,
                                     .a = static_cast<uint32_t>(start.objects),
                                     .parent = node.parent}));
  }
  if (start.arrays != Formula::no) {
    add(text.open('['), nodes_.make({.kind = Kind::array_open,
                                     .a = static_cast<uint32_t>(start.arrays),
                                     .parent = node.parent}));
  }
}

// Characters are counted from the first quote on, which counts as one more. False: the limits of
// length are within reach of a token, or there are none.
bool FormReader::Expansion::add_long_string(const Goals::Start& start, const Node& node) {
  LongStrings& strings = *reader_.scratch_->strings;
  if (!start.length || !strings.is_long(*start.length)) return false;
  const LongStrings::Length& length = *start.length;
  const FormNode end = nodes_.make({.kind = Kind::string_end, .parent = node.parent});
  const bool is_limited = length.max != Languages::kUnlimited;
  add(start.others, node.parent);
  const uint32_t min = std::min(length.min, Languages::kUnlimited - 1) + 1;
  add(Head{strings.whole(length), end, min, is_limited ? length.max + 1 : length.max});
  return true;
}

// An empty object ends at once: no spaces between its braces but those that were read.
void FormReader::Expansion::run_object_open(const Node& node) {
  const ObjectSteps::Plan& plan = parts_.goals->objects().plan(static_cast<Formula>(node.a));
  if (plan.may_end) add(parts_.goals->languages().text("}"), node.parent);
  if (!plan.may_go_on()) return;
  run_key_start({.kind = Kind::key_start,
                 .a = node.a,
                 .b = static_cast<uint32_t>(Language::nothing),
                 .c = static_cast<uint32_t>(plan.named),
                 .parent = node.parent});
}

const std::vector<KeyChoices::Keys>& FormReader::Expansion::keys_of(const Node& node) {
  return reader_.scratch_->keys.find(*parts_.goals, static_cast<Formula>(node.a),
                                     static_cast<Language>(node.b), static_cast<Language>(node.c));
}

void FormReader::Expansion::run_key_start(const Node& node) {
  for (const KeyChoices::Keys& keys : keys_of(node)) {
    Node end = node;
    end.kind = node.d == 0 ? Kind::key_end : Kind::unsure;
    end.d = keys.cell;
    end.mark = position();
    add(keys.keys, nodes_.make(end));
  }
}

// Named keys that may come after the key `name`. Mostly those that could come before it, so that
// their language, and the masks that are known of it, stay the same but for the keys that came.
Language FormReader::Expansion::named_after(const Node& node, Formula next, KeyName name) {
  const ObjectSteps::Plan& before = parts_.goals->objects().plan(static_cast<Formula>(node.a));
  const ObjectSteps::Plan& after = parts_.goals->objects().plan(next);
  size_t i = 0;
  bool same = true;
  for (const KeyName at : before.names) {
    if (i < after.names.size() && after.names[i] == at) {
      ++i;
    } else {
      same = same && at == name;
    }
  }
  return same && i == after.names.size() ? static_cast<Language>(node.c) : after.named;
}

// What follows a member.
FormNode FormReader::Expansion::member_end(const Node& node, const GoalStep& step, Language seen,
                                           KeyName name, bool is_sure) {
  return nodes_.make({.kind = Kind::member_end,
                      .a = static_cast<uint32_t>(step.next),
                      .b = static_cast<uint32_t>(seen),
                      .c = static_cast<uint32_t>(named_after(node, step.next, name)),
                      .d = is_sure ? 0U : 1U,
                      .parent = node.parent});
}

void FormReader::Expansion::add_member(const GoalStep& step, FormNode after) {
  add(parts_.goals->text().colon(),
      nodes_.make({.kind = Kind::value, .a = static_cast<uint32_t>(step.value), .parent = after}));
}

void FormReader::Expansion::run_key_end(const Node& node) {
  node.d == 0 ? run_named_key_end(node) : run_other_key_end(node);
}

// Which member it is follows from the text.
void FormReader::Expansion::run_named_key_end(const Node& node) {
  if (!is_known(node.mark)) {
    is_unsure_ = true;
    return;
  }
  Goals& goals = *parts_.goals;
  std::string_view spelling = text_from(node.mark);
  const auto key = unescape_json(spelling.substr(1, spelling.size() - 2));
  if (!key) return;
  const KeyName name = goals.keys().find(*key);
  if (name == KeyName::other) return;
  const Language seen =
      goals.languages().any_of(static_cast<Language>(node.b), goals.keys().quoted(name));
  for (const GoalStep& step : goals.objects().steps(static_cast<Formula>(node.a), name)) {
    add_member(step, member_end(node, step, seen, name, true));
  }
}

// What follows such a key does not depend on it, but it must not come again: where it is not known,
// or not worth a look, the end of the next key is not sure.
void FormReader::Expansion::run_other_key_end(const Node& node) {
  Goals& goals = *parts_.goals;
  const auto& steps = goals.objects().steps(static_cast<Formula>(node.a), node.d - 1);
  auto seen = static_cast<Language>(node.b);
  const bool is_sure = is_known(node.mark) && !reader_.is_coarse_;
  if (is_sure) {
    const std::string_view spelling = text_from(node.mark);
    const auto key = unescape_json(spelling.substr(1, spelling.size() - 2));
    if (!key) return;
    seen = goals.languages().any_of(seen, goals.text().quoted(goals.text().string(*key)));
  }
  for (const GoalStep& step : steps) {
    add_member(step, member_end(node, step, seen, KeyName::other, is_sure));
  }
}

// A comma needs a key that may come after it, so that nothing ends there.
void FormReader::Expansion::run_member_end(const Node& node) {
  Goals& goals = *parts_.goals;
  const ObjectSteps::Plan& plan = goals.objects().plan(static_cast<Formula>(node.a));
  if (plan.may_end) add(goals.text().close('}'), node.parent);
  if (keys_of(node).empty()) return;
  Node start = node;
  start.kind = Kind::key_start;
  add(goals.text().comma(), nodes_.make(start));
}

void FormReader::Expansion::run_array_open(const Node& node) {
  if (parts_.goals->arrays().may_end(static_cast<Formula>(node.a))) {
    add(parts_.goals->languages().text("]"), node.parent);
  }
  run_item_start({.kind = Kind::item_start,
                  .a = node.a,
                  .b = static_cast<uint32_t>(Goal::no),
                  .parent = node.parent});
}

// Each step is a goal of the item and what is asked after it.
void FormReader::Expansion::run_item_start(const Node& node) {
  ArraySteps& arrays = parts_.goals->arrays();
  const auto steps = arrays.steps(static_cast<Formula>(node.a), static_cast<Goal>(node.b));
  for (const GoalStep& step : steps) {
    const FormNode end =
        nodes_.make({.kind = Kind::item_end,
                     .a = static_cast<uint32_t>(step.next),
                     .b = node.b,
                     .mark = arrays.asks_distinct(step.next) ? position() : FormNodes::kNoMark,
                     .parent = node.parent});
    const FormNode after = node.d == 0 ? end : nodes_.make({.kind = Kind::unsure});
    open(nodes_.make(
        {.kind = Kind::value, .a = static_cast<uint32_t>(step.value), .parent = after}));
  }
}

// Whether the next item may be several strings and nothing else, none of them needed later: then an
// unknown value that must not come again leaves some string wherever several can follow.
bool FormReader::Expansion::takes_new_strings(Formula formula, Goal seen) const {
  Goals& goals = *parts_.goals;
  Languages& l = goals.languages();
  if (goals.text().style().escapes != JsonEscapes::needed) return false;
  if (!goals.arrays().is_distinct(formula)) return false;
  const std::vector<GoalStep> steps = goals.arrays().steps(formula, seen);
  return std::ranges::all_of(steps, [&](const GoalStep& step) {
    const Goals::Start& start = goals.start(step.value);
    if (start.objects != Formula::no || start.arrays != Formula::no) return false;
    if (!goals.arrays().may_end(step.next) || !l.has_several(start.scalars)) return false;
    return std::ranges::all_of(l.arcs(start.scalars), [](const Languages::Arc& arc) {
      return arc.bytes == ByteSet::of('"');
    });
  });
}

// Values that must not come again are remembered as constants.
void FormReader::Expansion::run_item_end(const Node& node) {
  Goals& goals = *parts_.goals;
  auto seen = static_cast<Goal>(node.b);
  const auto formula = static_cast<Formula>(node.a);
  const bool is_sure = node.mark == FormNodes::kNoMark || is_known(node.mark);
  if (!is_sure && !takes_new_strings(formula, seen)) {
    is_unsure_ = true;
    return;
  }
  if (is_sure && node.mark != FormNodes::kNoMark) {
    const auto value = parse_json(text_from(node.mark), "item");
    if (!value) return;
    seen = goals.any_of(std::array{seen, goals.constant(*value)});
  }
  if (goals.arrays().may_end(formula)) add(goals.text().close(']'), node.parent);
  if (goals.arrays().steps(formula, seen).empty()) return;
  add(goals.text().comma(), nodes_.make({.kind = Kind::item_start,
                                         .a = node.a,
                                         .b = static_cast<uint32_t>(seen),
                                         .d = is_sure ? 0U : 1U,
                                         .parent = node.parent}));
}

}  // namespace ruv
