// Expressions of templates. A chain of equal binding becomes one flat node.
#include <initializer_list>

#include "chat/jinja/parser.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

// logic, then "a if b else c".
Result<ExprPtr> TemplateParser::expression(bool with_condition) {
  const Nesting nesting(depth_);
  TRY(check_nesting());
  const Place place = current().place;
  const size_t missing_before = missing_.size();
  ExprPtr value = TRY(logic(false));
  if (!with_condition || !current().is_name("if")) return value;
  auto node = std::make_unique<ConditionalNode>(place);
  node->value = std::move(value);
  while (skip_name("if")) {
    node->conditions.push_back(TRY(logic(false)));
    if (skip_name("else")) {
      node->otherwise = TRY(expression());
      break;
    }
  }
  missing_.resize(missing_before);
  return node;
}

// a, b, c makes a tuple; a alone is a.
Result<ExprPtr> TemplateParser::tuple_or_expression(bool with_condition) {
  const Place place = current().place;
  ExprPtr first = TRY(expression(with_condition));
  if (!current().is_sign(",")) return first;
  auto node = std::make_unique<SequenceNode>(place);
  node->kind = SequenceKind::tuple;
  node->items.push_back(std::move(first));
  while (skip_sign(",")) {
    const Lexeme& next = current();
    if (next.kind == LexemeKind::block_end || next.kind == LexemeKind::variable_end ||
        next.is_sign(")") || next.is_name("recursive"))
      break;
    node->items.push_back(TRY(expression(with_condition)));
  }
  return node;
}

// or binds looser than and.
Result<ExprPtr> TemplateParser::logic(bool is_and) {
  const Place place = current().place;
  const std::string_view word = is_and ? "and" : "or";
  ExprPtr first = is_and ? TRY(negation()) : TRY(logic(true));
  if (!current().is_name(word)) return first;
  auto node = std::make_unique<LogicNode>(place);
  node->is_and = is_and;
  node->operands.push_back(std::move(first));
  while (skip_name(word)) node->operands.push_back(is_and ? TRY(negation()) : TRY(logic(true)));
  return node;
}

Result<ExprPtr> TemplateParser::negation() {
  if (!current().is_name("not")) return comparison();
  const Nesting nesting(depth_);
  TRY(check_nesting());
  auto node = std::make_unique<NotNode>(current().place);
  advance();
  node->operand = TRY(negation());
  return node;
}

// Chains of comparisons, "in" and "not in".
Result<ExprPtr> TemplateParser::comparison() {
  static constexpr std::pair<std::string_view, CompareOp> kSigns[] = {
      {"==", CompareOp::equal},      {"!=", CompareOp::unequal}, {"<", CompareOp::less},
      {"<=", CompareOp::less_equal}, {">", CompareOp::greater},  {">=", CompareOp::greater_equal},
  };
  const Place place = current().place;
  ExprPtr first = TRY(sum());
  auto node = std::make_unique<CompareNode>(place);
  while (true) {
    std::optional<CompareOp> op;
    for (const auto& [sign, meaning] : kSigns)
      if (current().is_sign(sign)) op = meaning;
    if (current().is_name("in")) op = CompareOp::in;
    if (current().is_name("not") && following().is_name("in")) {
      op = CompareOp::not_in;
      advance();
    }
    if (!op) break;
    advance();
    node->others.emplace_back(*op, TRY(sum()));
  }
  if (node->others.empty()) return first;
  node->first = std::move(first);
  return node;
}

template <class Next>
// A chain of operators of equal binding, from the left.
Result<ExprPtr> TemplateParser::math_chain(
    Next next, std::initializer_list<std::pair<std::string_view, MathOp>> signs) {
  const Place place = current().place;
  ExprPtr first = TRY(next());
  auto node = std::make_unique<MathNode>(place);
  while (true) {
    std::optional<MathOp> op;
    for (const auto& [sign, meaning] : signs)
      if (current().is_sign(sign)) op = meaning;
    if (!op) break;
    advance();
    node->others.emplace_back(*op, TRY(next()));
  }
  if (node->others.empty()) return first;
  node->first = std::move(first);
  return node;
}

Result<ExprPtr> TemplateParser::sum() {
  return math_chain([this] { return joined(); }, {{"+", MathOp::add}, {"-", MathOp::subtract}});
}

Result<ExprPtr> TemplateParser::joined() {
  const Place place = current().place;
  ExprPtr first = TRY(product());
  if (!current().is_sign("~")) return first;
  auto node = std::make_unique<JoinNode>(place);
  node->operands.push_back(std::move(first));
  while (skip_sign("~")) node->operands.push_back(TRY(product()));
  return node;
}

Result<ExprPtr> TemplateParser::product() {
  return math_chain([this] { return power(); }, {{"*", MathOp::multiply},
                                                 {"/", MathOp::divide},
                                                 {"//", MathOp::floor_divide},
                                                 {"%", MathOp::modulo}});
}

Result<ExprPtr> TemplateParser::power() {
  return math_chain([this] { return unary(true); }, {{"**", MathOp::power}});
}

// - and + bind tighter than powers on the left, as in Jinja.
Result<ExprPtr> TemplateParser::unary(bool with_filters) {
  if (!current().is_sign("-") && !current().is_sign("+"))
    return postfixed(TRY(primary()), with_filters);
  const Nesting nesting(depth_);
  TRY(check_nesting());
  auto node = std::make_unique<SignNode>(current().place);
  node->negative = current().is_sign("-");
  advance();
  node->operand = TRY(unary(false));
  return postfixed(std::move(node), with_filters);
}

Result<ExprPtr> TemplateParser::whole_number() {
  const Lexeme& word = current();
  Datum value(word.integer);
  if (word.wide_base != 0) {
    auto wide = whole_from_digits(word.text, false, word.wide_base);
    if (!wide) return error(wide.error().message());
    value = std::move(*wide);
  }
  auto node = std::make_unique<ConstantNode>(word.place, std::move(value));
  advance();
  return node;
}

// Literals, names and brackets.
Result<ExprPtr> TemplateParser::primary() {
  const Lexeme& word = current();
  const Place place = word.place;
  switch (word.kind) {
    case LexemeKind::name: {
      advance();
      const std::string& name = word.text;
      if (name == "true" || name == "True")
        return std::make_unique<ConstantNode>(place, Datum(true));
      if (name == "false" || name == "False")
        return std::make_unique<ConstantNode>(place, Datum(false));
      if (name == "none" || name == "None")
        return std::make_unique<ConstantNode>(place, Datum::none());
      const NameId id = id_of(name);
      touch(id);
      note_first_use(id, true);
      return std::make_unique<NameNode>(place, id);
    }
    case LexemeKind::string: {
      std::string value;
      for (; current().kind == LexemeKind::string; advance()) value += current().text;
      return std::make_unique<ConstantNode>(place, Datum::text(value));
    }
    case LexemeKind::integer:
      return whole_number();
    case LexemeKind::real:
      advance();
      return std::make_unique<ConstantNode>(place, Datum(word.real));
    default:
      break;
  }
  if (word.is_sign("(")) return parenthesised();
  if (word.is_sign("[")) return list_literal();
  if (word.is_sign("{")) return dict_literal();
  return unexpected_here();
}

// (a) or a tuple.
Result<ExprPtr> TemplateParser::parenthesised() {
  const Place place = current().place;
  advance();
  if (skip_sign(")")) {
    auto empty = std::make_unique<SequenceNode>(place);
    empty->kind = SequenceKind::tuple;
    return empty;
  }
  ExprPtr inner = TRY(tuple_or_expression());
  TRY(expect_sign(")"));
  return inner;
}

Result<ExprPtr> TemplateParser::list_literal() {
  auto node = std::make_unique<SequenceNode>(current().place);
  advance();
  while (!current().is_sign("]")) {
    if (!node->items.empty()) TRY(expect_sign(","));
    if (current().is_sign("]")) break;
    node->items.push_back(TRY(expression()));
  }
  TRY(expect_sign("]"));
  return node;
}

Result<ExprPtr> TemplateParser::dict_literal() {
  auto node = std::make_unique<DictNode>(current().place);
  advance();
  while (!current().is_sign("}")) {
    if (!node->entries.empty()) TRY(expect_sign(","));
    if (current().is_sign("}")) break;
    ExprPtr key = TRY(expression());
    TRY(expect_sign(":"));
    node->entries.emplace_back(std::move(key), TRY(expression()));
  }
  TRY(expect_sign("}"));
  return node;
}

}  // namespace ruv::jinja
