// The parsed form of a template: a tree of expressions and statements that evaluate themselves.
//
// Expressions return a Datum; statements write output and say what happens next (Flow). Nodes are
// immutable after parsing and hold no state of a rendering, so one program can be rendered by
// several threads; everything that changes is in TemplateRun. Chains (a + b + c, x|f|g, a.b.c) are
// flat lists, so the tree is only as deep as the brackets and blocks of the source, which the
// parser limits.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/lexer.h"
#include "chat/jinja/object.h"

namespace ruv::jinja {

// An expression. `place` is where it begins in the source, for error messages.
class ExprNode {
 public:
  explicit ExprNode(Place at) : place(at) {}
  virtual ~ExprNode() = default;
  // Reached through TemplateRun::evaluate, which counts steps and depth and places errors.
  virtual Result<Datum> evaluate(TemplateRun& run) const = 0;
  Place place;
};
using ExprPtr = std::unique_ptr<ExprNode>;

// The index of a name in TemplateProgram::names.
using NameId = int32_t;

// The arguments of a call, in the order in which Python evaluates them.
struct ArgumentNodes {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;         // *sequence
  ExprPtr double_star;  // **mapping
};

// Operators with numbers as results (add and multiply also join and repeat).
enum class MathOp : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class CompareOp : uint8_t {
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

// A literal.
struct ConstantNode final : ExprNode {
  ConstantNode(Place at, Datum v) : ExprNode(at), value(std::move(v)) {}
  Result<Datum> evaluate(TemplateRun&) const override { return value; }
  Datum value;
};

// A variable, looked up in the scopes and then in the context.
struct NameNode final : ExprNode {
  NameNode(Place at, NameId n) : ExprNode(at), name(n) {}
  Result<Datum> evaluate(TemplateRun& run) const override;
  NameId name;
};

// [a, b] or (a, b).
struct SequenceNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  SequenceKind kind = SequenceKind::list;  // or tuple
  std::vector<ExprPtr> items;
};

// {key: value, …}.
struct DictNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};

// value if conditions[0] if conditions[1] … [else otherwise]. The last condition is tested first,
// and `otherwise` belongs to it.
struct ConditionalNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr value;
  std::vector<ExprPtr> conditions;
  ExprPtr otherwise;
};

// a and b and c, or a or b or c: stops at the operand that decides, and returns it.
struct LogicNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  bool is_and = true;
  std::vector<ExprPtr> operands;
};

// not a.
struct NotNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr operand;
};

// -a, or +a.
struct SignNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  bool negative = true;
  ExprPtr operand;
};

// first op[0] operand[0] op[1] operand[1] …, from the left.
struct MathNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr first;
  std::vector<std::pair<MathOp, ExprPtr>> others;
};

// a < b < c: true when every neighbouring pair is.
struct CompareNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> others;
};

// a ~ b ~ c.
struct JoinNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  std::vector<ExprPtr> operands;
};

// The text of a filter block or of a set block, as the subject of its filters.
struct CapturedNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
};

// An operation applied to a value: .name, [index], (arguments), |filter, "is test".
class PostfixStep {
 public:
  explicit PostfixStep(Place at) : place(at) {}
  virtual ~PostfixStep() = default;
  // The result for `subject`, the value to its left.
  virtual Result<Datum> apply(TemplateRun& run, const Datum& subject) const = 0;
  Place place;
};
using StepPtr = std::unique_ptr<PostfixStep>;

// subject.name: an attribute, else an item of that name.
struct AttributeStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  std::string name;
};

// subject[index]: an item, else an attribute of that name.
struct ItemStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ExprPtr index;
};

// subject[start:stop:stride].
struct SliceStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ExprPtr start, stop, stride;  // null where left out
};

// subject(arguments).
struct CallStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ArgumentNodes arguments;
};

// subject|name(arguments).
struct FilterStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  const BuiltinRow* filter = nullptr;  // null: there is none of that name
  std::string name;                    // set when `filter` is null
  ArgumentNodes arguments;
};

// subject is [not] name(arguments).
struct TestStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  const BuiltinRow* test = nullptr;  // null: there is none of that name
  std::string name;                  // set when `test` is null
  bool negated = false;
  ArgumentNodes arguments;
};

// A value and the operations that follow it, applied from left to right.
struct PostfixNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr subject;
  std::vector<StepPtr> steps;
};

// What happens after a statement: the next one, or leaving or repeating the enclosing loop.
enum class Flow : uint8_t { next, break_loop, continue_loop };

// A statement. Output goes to the run's current text.
class StatementNode {
 public:
  explicit StatementNode(Place at) : place(at) {}
  virtual ~StatementNode() = default;
  virtual Result<Flow> execute(TemplateRun& run) const = 0;
  Place place;
};
using StatementPtr = std::unique_ptr<const StatementNode>;
using StatementList = std::vector<StatementPtr>;

// The statements of a scope. Jinja decides at compile time where a name lives: a name that the
// scope sets before it reads it is undefined until then, whatever the context holds (`unset`).
struct ScopeBody {
  StatementList statements;
  std::vector<NameId> unset;
};

// The target of an assignment: a name, a member of a namespace, or a tuple of targets.
struct AssignTarget {
  Place place;
  NameId name = -1;
  std::string member;               // set ns.member
  std::vector<AssignTarget> parts;  // a, b = …
  bool is_tuple = false;
};

// One parameter of a macro or a call block; `name` is its variable and `text` its spelling, for
// named arguments.
struct MacroParameter {
  NameId name = -1;
  std::string text;
  ExprPtr fallback;  // null: must be given, or is undefined
};

// A macro or the body of a call block: parameters and statements.
struct MacroBody {
  std::string name;  // empty: the body of a call block
  std::vector<MacroParameter> parameters;
  ScopeBody body;
  // Whether the body reads these names; only then are they collected by a call.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;

  // Whether a parameter has this name.
  bool names_parameter(std::string_view text) const {
    for (const MacroParameter& parameter : parameters)
      if (parameter.text == text) return true;
    return false;
  }
};

// Text outside tags.
struct TextNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  std::string text;
};

// {{ value }}.
struct PrintNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr value;
};

// {% if %} … {% elif %} … {% else %}: the first branch whose condition is true.
struct IfNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  // Conditions with their statements, in order.
  std::vector<std::pair<ExprPtr, StatementList>> branches;
  StatementList otherwise;
};

// {% for target in iterable if condition recursive %} … {% else %}. loop.h runs it.
struct ForNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  AssignTarget target;
  ExprPtr iterable;
  ExprPtr condition;  // null: every item
  bool recursive = false;
  ScopeBody body;
  ScopeBody otherwise;
};

// {% set target = value %}.
struct SetNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  AssignTarget target;
  ExprPtr value;
};

// {% set name | filters %} … {% endset %}: the target is the rendered body.
struct SetBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  AssignTarget target;
  ExprPtr filtered;  // over CapturedNode; null: no filter
  ScopeBody body;
};

// {% filter … %} … {% endfilter %}: writes the filtered body.
struct FilterBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr filtered;
  ScopeBody body;
};

// {% macro name(…) %}: defines a callable that returns its rendered body.
struct MacroNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  NameId name = -1;
  MacroBody macro;
};

// {% call(…) callee(…) %} … {% endcall %}: calls a macro, which can render the block with caller().
struct CallBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr callee;
  ArgumentNodes arguments;
  MacroBody caller;
};

// {% with a = 1, b = 2 %}; also the scope of a {% generation %} block, which marks what the
// assistant said.
struct WithNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  std::vector<std::pair<AssignTarget, ExprPtr>> values;
  ScopeBody body;
  bool is_generation = false;
};

// {% break %} and {% continue %}.
struct LoopControlNode final : StatementNode {
  LoopControlNode(Place at, Flow f) : StatementNode(at), flow(f) {}
  Result<Flow> execute(TemplateRun&) const override { return flow; }
  Flow flow;
};

// A whole template. Names are numbered, so that scopes compare integers instead of texts.
struct TemplateProgram {
  std::vector<std::string> names;
  ScopeBody body;
  bool has_generation = false;  // some {% generation %} block
  bool reads_self = false;      // `self` is the template, not a variable
  NameId loop = -1, caller = -1, varargs = -1, kwargs = -1, self = -1;
};

// Parses a template. Fails: corrupt (with line and column), unsupported (an unknown tag, filter or
// test), invalid (too long).
Result<TemplateProgram> parse_template(std::string_view source);

}  // namespace ruv::jinja
