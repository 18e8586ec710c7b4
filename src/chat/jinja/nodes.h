// The parsed form of a template: a tree of expressions and statements that evaluate themselves.
// Chains (a + b + c, x|f|g, a.b.c) are flat lists, so the tree is only as deep as the brackets.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/lexer.h"
#include "chat/jinja/object.h"

namespace ruv::jinja {

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

struct ArgumentNodes {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;         // *sequence
  ExprPtr double_star;  // **mapping
};

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

struct ConstantNode final : ExprNode {
  ConstantNode(Place at, Datum v) : ExprNode(at), value(std::move(v)) {}
  Result<Datum> evaluate(TemplateRun&) const override { return value; }
  Datum value;
};

struct NameNode final : ExprNode {
  NameNode(Place at, NameId n) : ExprNode(at), name(n) {}
  Result<Datum> evaluate(TemplateRun& run) const override;
  NameId name;
};

struct SequenceNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  SequenceKind kind = SequenceKind::list;  // or tuple
  std::vector<ExprPtr> items;
};

struct DictNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};

// value if conditions[0] if … [else otherwise]: the last condition is asked first and is the one
// that `otherwise` answers.
struct ConditionalNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr value;
  std::vector<ExprPtr> conditions;
  ExprPtr otherwise;
};

struct LogicNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  bool is_and = true;
  std::vector<ExprPtr> operands;
};

struct NotNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr operand;
};

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

// What stands after a value: .name [index] (arguments) |filter "is test".
class PostfixStep {
 public:
  explicit PostfixStep(Place at) : place(at) {}
  virtual ~PostfixStep() = default;
  virtual Result<Datum> apply(TemplateRun& run, const Datum& subject) const = 0;
  Place place;
};
using StepPtr = std::unique_ptr<PostfixStep>;

struct AttributeStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  std::string name;
};

struct ItemStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ExprPtr index;
};

struct SliceStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ExprPtr start, stop, stride;  // null where left out
};

struct CallStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  ArgumentNodes arguments;
};

struct FilterStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  const BuiltinRow* filter = nullptr;  // null: there is none of that name
  std::string name;                    // set when `filter` is null
  ArgumentNodes arguments;
};

struct TestStep final : PostfixStep {
  using PostfixStep::PostfixStep;
  Result<Datum> apply(TemplateRun& run, const Datum& subject) const override;
  const BuiltinRow* test = nullptr;  // null: there is none of that name
  std::string name;                  // set when `test` is null
  bool negated = false;
  ArgumentNodes arguments;
};

struct PostfixNode final : ExprNode {
  using ExprNode::ExprNode;
  Result<Datum> evaluate(TemplateRun& run) const override;
  ExprPtr subject;
  std::vector<StepPtr> steps;
};

// What to do after a statement: go on, or leave or repeat the loop around it.
enum class Flow : uint8_t { next, break_loop, continue_loop };

class StatementNode {
 public:
  explicit StatementNode(Place at) : place(at) {}
  virtual ~StatementNode() = default;
  virtual Result<Flow> execute(TemplateRun& run) const = 0;
  Place place;
};
using StatementPtr = std::unique_ptr<const StatementNode>;
using StatementList = std::vector<StatementPtr>;

// The statements of a scope. Jinja decides while compiling where a name lives: one that the scope
// sets before it reads it is undefined until then, whatever the context holds.
struct ScopeBody {
  StatementList statements;
  std::vector<NameId> unset;
};

// What an assignment fills: a name, a member of a namespace, or several of them.
struct AssignTarget {
  Place place;
  NameId name = -1;
  std::string member;               // set ns.member
  std::vector<AssignTarget> parts;  // a, b = …
  bool is_tuple = false;
};

// Parameters of a macro or a call block.
struct MacroParameter {
  NameId name = -1;
  std::string text;
  ExprPtr fallback;  // null: must be given, or is undefined
};

struct MacroBody {
  std::string name;  // empty: the body of a call block
  std::vector<MacroParameter> parameters;
  ScopeBody body;
  // The body reads these names, so calls may bring what they hold.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;

  bool names_parameter(std::string_view text) const {
    for (const MacroParameter& parameter : parameters)
      if (parameter.text == text) return true;
    return false;
  }
};

struct TextNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  std::string text;
};

struct PrintNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr value;
};

struct IfNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  std::vector<std::pair<ExprPtr, StatementList>> branches;
  StatementList otherwise;
};

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

struct SetNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  AssignTarget target;
  ExprPtr value;
};

struct SetBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  AssignTarget target;
  ExprPtr filtered;  // over CapturedNode; null: no filter
  ScopeBody body;
};

struct FilterBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr filtered;
  ScopeBody body;
};

struct MacroNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  NameId name = -1;
  MacroBody macro;
};

struct CallBlockNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  ExprPtr callee;
  ArgumentNodes arguments;
  MacroBody caller;
};

// with a = 1, b = 2; also the scope of a generation block, which marks what the assistant said.
struct WithNode final : StatementNode {
  using StatementNode::StatementNode;
  Result<Flow> execute(TemplateRun& run) const override;
  std::vector<std::pair<AssignTarget, ExprPtr>> values;
  ScopeBody body;
  bool is_generation = false;
};

struct LoopControlNode final : StatementNode {
  LoopControlNode(Place at, Flow f) : StatementNode(at), flow(f) {}
  Result<Flow> execute(TemplateRun&) const override { return flow; }
  Flow flow;
};

// A whole template. Names are numbered so that scopes compare integers.
struct TemplateProgram {
  std::vector<std::string> names;
  ScopeBody body;
  bool has_generation = false;  // some {% generation %} block
  bool reads_self = false;      // `self` is the template, not a variable
  NameId loop = -1, caller = -1, varargs = -1, kwargs = -1, self = -1;
};

// Fails: corrupt with line and column, unsupported (a tag, filter or test we lack).
Result<TemplateProgram> parse_template(std::string_view source);

}  // namespace ruv::jinja
