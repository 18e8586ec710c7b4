// What may follow a value: attributes, items, slices, calls, filters and tests.
#include "chat/jinja/parser.h"

namespace ruv::jinja {

// Filters and tests bind looser than a sign, attributes and calls tighter: -x|abs is (-x)|abs,
// -x.y is -(x.y).
Result<ExprPtr> TemplateParser::postfixed(ExprPtr subject, bool with_filters) {
  auto node = std::make_unique<PostfixNode>(subject->place);
  bool filtering = false;
  while (true) {
    if (!filtering && (current().is_sign(".") || current().is_sign("["))) {
      node->steps.push_back(TRY(subscript()));
    } else if (current().is_sign("(")) {
      node->steps.push_back(TRY(call()));
    } else if (with_filters && skip_sign("|")) {
      filtering = true;
      node->steps.push_back(TRY(filter()));
    } else if (with_filters && current().is_name("is")) {
      filtering = true;
      node->steps.push_back(TRY(test()));
    } else {
      break;
    }
  }
  if (node->steps.empty()) return subject;
  node->subject = std::move(subject);
  return node;
}

// [index] or [start:stop:stride].
Result<StepPtr> TemplateParser::subscript() {
  const Place place = current().place;
  if (skip_sign(".")) {
    if (current().kind == LexemeKind::integer) {
      auto step = std::make_unique<ItemStep>(place);
      step->index = TRY(whole_number());
      return step;
    }
    auto step = std::make_unique<AttributeStep>(place);
    step->name = TRY(expect_name());
    return step;
  }
  advance();
  // Jinja reads x[] as x[()].
  if (skip_sign("]")) {
    auto empty = std::make_unique<SequenceNode>(place);
    empty->kind = SequenceKind::tuple;
    auto step = std::make_unique<ItemStep>(place);
    step->index = std::move(empty);
    return step;
  }
  ExprPtr start;
  if (!current().is_sign(":")) start = TRY(tuple_or_expression());
  if (skip_sign("]")) {
    auto step = std::make_unique<ItemStep>(place);
    step->index = std::move(start);
    return step;
  }
  TRY(expect_sign(":"));
  auto step = std::make_unique<SliceStep>(place);
  step->start = std::move(start);
  if (!current().is_sign(":") && !current().is_sign("]")) step->stop = TRY(expression());
  if (skip_sign(":") && !current().is_sign("]")) step->stride = TRY(expression());
  TRY(expect_sign("]"));
  return step;
}

Result<StepPtr> TemplateParser::call() {
  auto step = std::make_unique<CallStep>(current().place);
  step->arguments = TRY(arguments());
  return step;
}

// Positional, named, *sequence and **mapping, in the orders that Python allows.
Result<ArgumentNodes> TemplateParser::arguments() {
  ArgumentNodes out;
  TRY(expect_sign("("));
  bool first = true;
  while (!current().is_sign(")")) {
    if (!first) TRY(expect_sign(","));
    if (current().is_sign(")")) break;
    first = false;
    if (current().is_sign("*") && !out.star && !out.double_star) {
      advance();
      out.star = TRY(expression());
    } else if (current().is_sign("**") && !out.double_star) {
      advance();
      out.double_star = TRY(expression());
    } else if (current().kind == LexemeKind::name && following().is_sign("=") && !out.double_star) {
      std::string name = current().text;
      for (const auto& earlier : out.named)
        if (earlier.first == name) return error(fmt::format("keyword argument repeated: {}", name));
      advance();
      advance();
      out.named.emplace_back(std::move(name), TRY(expression()));
    } else if (out.named.empty() && !out.star && !out.double_star) {
      out.positional.push_back(TRY(expression()));
    } else {
      return error("a positional argument cannot follow a named one");
    }
  }
  TRY(expect_sign(")"));
  return out;
}

// Filters and tests of extensions have dots in their names.
Result<std::string> TemplateParser::dotted_name() {
  std::string name = TRY(expect_name());
  while (skip_sign(".")) name += "." + TRY(expect_name());
  return name;
}

// Jinja refuses an unknown filter at once, except under a condition, where it is an error only when
// it is reached: templates test "if …" before they use what not every engine has.
void TemplateParser::note_missing(Place place, std::string what) {
  if (frames_[frame_].branches == 0) missing_.emplace_back(place, std::move(what));
}

// After the bar.
Result<StepPtr> TemplateParser::filter() {
  auto step = std::make_unique<FilterStep>(current().place);
  const Place place = current().place;
  std::string name = TRY(dotted_name());
  step->filter = find_filter(name);
  if (!step->filter) {
    note_missing(place, fmt::format("no filter named '{}'", name));
    step->name = std::move(name);
  }
  if (current().is_sign("(")) step->arguments = TRY(arguments());
  return step;
}

// After "is", with an optional "not".
Result<StepPtr> TemplateParser::test() {
  auto step = std::make_unique<TestStep>(current().place);
  advance();
  step->negated = skip_name("not");
  const Place place = current().place;
  std::string name = TRY(dotted_name());
  step->test = find_test(name);
  if (!step->test) {
    note_missing(place, fmt::format("no test named '{}'", name));
    step->name = std::move(name);
  }
  step->arguments = TRY(test_arguments());
  return step;
}

// In brackets, or one plain value: "is divisibleby 3".
Result<ArgumentNodes> TemplateParser::test_arguments() {
  if (current().is_sign("(")) return arguments();
  ArgumentNodes out;
  const Lexeme& next = current();
  const bool value = next.kind == LexemeKind::name || next.kind == LexemeKind::string ||
                     next.kind == LexemeKind::integer || next.kind == LexemeKind::real ||
                     next.is_sign("[") || next.is_sign("{");
  static constexpr std::string_view kNotValues[] = {"else", "or", "and"};
  for (const std::string_view word : kNotValues)
    if (next.is_name(word)) return out;
  if (!value) return out;
  if (next.is_name("is")) return error("tests cannot be chained with is");
  // Jinja takes every other name for an argument, so "x is defined if y" is an error there too.
  out.positional.push_back(TRY(postfixed(TRY(primary()), false)));
  return out;
}

// The filters of {% filter f|g %} and {% set x | f %}, over the text of the block.
Result<ExprPtr> TemplateParser::filters_over_captured(bool first_is_open) {
  auto node = std::make_unique<PostfixNode>(current().place);
  node->subject = std::make_unique<CapturedNode>(current().place);
  // They belong to the scope of the block, which no condition guards.
  const int branches = std::exchange(frames_[frame_].branches, 0);
  if (first_is_open) node->steps.push_back(TRY(filter()));
  while (skip_sign("|")) node->steps.push_back(TRY(filter()));
  frames_[frame_].branches = branches;
  return node;
}

}  // namespace ruv::jinja
