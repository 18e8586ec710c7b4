// TemplateRun: one rendering of a template. Holds the scopes, the output being written and the
// remaining budget; the nodes evaluate themselves with it. Used by one thread, once.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chat/jinja/nodes.h"

namespace ruv::jinja {

// The variables of a block; names are looked up through the parents. A scope that a macro remembers
// (`kept`) lives until the run ends.
struct NameScope {
  NameScope* parent = nullptr;
  std::vector<std::pair<NameId, Datum>> variables;
  bool kept = false;
};

// Iterates over what a for loop or a filter iterates: sequences, the keys of a dict, the characters
// of a text. A generator is consumed as it is walked.
class DatumWalk {
 public:
  // Fails: corrupt, "'int' object is not iterable".
  static Result<DatumWalk> over(const Datum& value, RenderMeter& meter);
  // The next item, nothing at the end. Fails: as the function that makes a generator's items.
  Result<std::optional<Datum>> next();
  // Items in all, or nothing for a generator.
  std::optional<size_t> size() const;

 private:
  SequencePtr sequence_;
  size_t at_ = 0;
};

// All items at once.
Result<std::vector<Datum>> items_of(const Datum& value, RenderMeter& meter);

// Python's obj[key] as Jinja defines it (items first), and obj.name (attributes first). A missing
// one is undefined. Fails: corrupt, when the subject itself is undefined.
Result<Datum> item_of(TemplateRun& run, const Datum& subject, const Datum& key);
Result<Datum> attribute_of(TemplateRun& run, const Datum& subject, std::string_view name);

// The operators of Python on Datums. Fail: corrupt (kinds that the operator does not take).
Result<Datum> arithmetic(MathOp op, const Datum& a, const Datum& b, RenderMeter& meter);
Result<Datum> signed_number(const Datum& value, bool negative, RenderMeter& meter);
Result<bool> compare(CompareOp op, const Datum& a, const Datum& b, RenderMeter& meter);
Result<bool> contains(const Datum& container, const Datum& item, RenderMeter& meter);

class TemplateRun {
 public:
  TemplateRun(const TemplateProgram& program, RenderMeter meter, int64_t now_unix_s)
      : program_(program), meter_(meter), now_unix_s_(now_unix_s), context_(program.names.size()) {}
  ~TemplateRun();
  TemplateRun(const TemplateRun&) = delete;
  TemplateRun& operator=(const TemplateRun&) = delete;

  // Sets a variable of the context; names that the template never mentions are ignored.
  void define(std::string_view name, Datum value);
  bool mentions(std::string_view name) const;
  // Renders the template. Call once.
  Result<MarkedText> render();
  // The ranges of the rendered text that generation blocks wrote, in order, without overlaps.
  // Blocks in macros and set blocks are not counted, since the position of their text is not known.
  const std::vector<std::pair<size_t, size_t>>& generations() const { return generations_; }

  RenderMeter& meter() { return meter_; }
  int64_t now_unix_s() const { return now_unix_s_; }

  // Counts a step and the depth, and puts the place before an error.
  Result<Datum> evaluate(const ExprNode& node);
  Result<Flow> execute(const StatementList& statements);
  // Executes statements in the scope that was just made for them.
  Result<Flow> execute(const ScopeBody& body);
  // Puts a place before an error, unless a deeper one is there already.
  Status placed(Place place, Status status);
  Result<CallArguments> evaluate_arguments(const ArgumentNodes& nodes);

  // The value of a name, or an undefined value.
  Datum lookup(NameId name);
  Datum undefined_name(NameId name) const;
  Status assign(const AssignTarget& target, const Datum& value);
  // Sets a variable of the current scope.
  void set(NameId name, Datum value);

  // The offset at which a generation block begins; nothing inside a macro or a set block.
  std::optional<size_t> generation_begin() const;
  void generation_end(size_t begin);
  Status write(const MarkedText& text);
  Status write(std::string_view template_text);
  // Runs `body` with its output going to a text of its own.
  template <class F>
  Result<TextPtr> captured(F&& body) {
    MarkedText text;
    MarkedText* const outer = std::exchange(out_, &text);
    const Status status = body();
    out_ = outer;
    if (!status.ok()) return tl::unexpected<Status>(status);
    return std::make_shared<const MarkedText>(std::move(text));
  }
  // Runs `body` in a new scope under `parent`.
  template <class F>
  auto scoped(NameScope* parent, F&& body) {
    std::shared_ptr<NameScope> scope;
    return scoped(parent, scope, body);
  }
  // The same, reusing the memory of `scope` if no macro keeps it; for the iterations of a loop.
  template <class F>
  auto scoped(NameScope* parent, std::shared_ptr<NameScope>& scope, F&& body) {
    if (scope && !scope->kept) {
      scope->variables.clear();
    } else {
      scope = std::make_shared<NameScope>();
    }
    scope->parent = parent;
    NameScope* const outer = std::exchange(scope_, scope.get());
    live_.push_back(scope);
    auto result = body();
    live_.pop_back();
    scope_ = outer;
    return result;
  }
  NameScope* scope() { return scope_; }
  // Keeps the current scope and all around it alive until the run ends.
  void keep_scopes();
  // Statements in their own scope, captured; break and continue end with it.
  Result<TextPtr> capture_block(const ScopeBody& body);

  Result<Datum> call(const Datum& callee, const CallArguments& arguments);
  Result<Datum> call_macro(const MacroBody& macro, NameScope* defined_in,
                           const CallArguments& arguments);
  std::shared_ptr<NamespaceObject> make_namespace();
  // The undefined value "'str object' has no attribute 'x'". The last one is cached, since loops
  // repeat it.
  Datum missing_attribute(const Datum& subject, std::string_view name);

  // The text to which the filters of a filter block or set block are applied.
  Datum captured_text;
  const TemplateProgram& program() const { return program_; }

  // Counts the depth of evaluation while it lives.
  struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
    ~Deeper() { --depth_; }
    int& depth_;
  };
  // Fails: invalid, when nodes are nested too deeply.
  Status check_depth() const;

 private:
  const TemplateProgram& program_;
  RenderMeter meter_;
  int64_t now_unix_s_;
  std::vector<std::optional<Datum>> context_;  // by NameId
  NameScope root_;
  NameScope* scope_ = &root_;
  std::vector<std::shared_ptr<NameScope>> live_;
  std::vector<std::shared_ptr<NameScope>> kept_;
  std::vector<std::shared_ptr<NamespaceObject>> namespaces_;
  MarkedText* out_ = nullptr;
  const MarkedText* rendered_ = nullptr;  // what out_ is outside of macros and set blocks
  std::vector<std::pair<size_t, size_t>> generations_;
  int depth_ = 0;
  int macro_depth_ = 0;
  bool error_placed_ = false;
  struct Missing {
    std::string type, name;
    Datum undefined;
  };
  Missing last_missing_;
};

}  // namespace ruv::jinja
