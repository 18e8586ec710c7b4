// The run itself: scopes, assignment, output, and the checks around every node.
#include "chat/jinja/run.h"

#include <algorithm>

namespace ruv::jinja {

namespace {

// The variable `self`: the template, whose blocks it would name; we have none.
class SelfObject final : public TemplateObject {
 public:
  std::string type_name() const override { return "TemplateReference"; }
  Status append_repr(MarkedText& out, RenderMeter&, int) const override {
    out.append("<TemplateReference None>", false);
    return Status();
  }
};

}  // namespace

TemplateRun::~TemplateRun() {
  // Namespaces and the scopes of macros may form circles; emptying them breaks every one.
  for (const auto& space : namespaces_) space->clear();
  for (const auto& scope : kept_) scope->variables.clear();
  root_.variables.clear();
}

void TemplateRun::define(std::string_view name, Datum value) {
  const auto& names = program_.names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) context_[static_cast<size_t>(found - names.begin())] = std::move(value);
}

bool TemplateRun::mentions(std::string_view name) const {
  return std::find(program_.names.begin(), program_.names.end(), name) != program_.names.end();
}

Result<MarkedText> TemplateRun::render() {
  MarkedText out;
  out_ = &out;
  rendered_ = &out;
  if (program_.reads_self) set(program_.self, Datum(ObjectPtr(std::make_shared<SelfObject>())));
  const Result<Flow> flow = execute(program_.body);
  out_ = nullptr;
  if (!flow) return tl::unexpected<Status>(flow.error());
  return out;
}

// Only the innermost position is added to an error.
Status TemplateRun::placed(Place place, Status status) {
  if (status.ok() || error_placed_) return status;
  error_placed_ = true;
  return Status(status.code(), fmt::format("{}: {}", describe(place), status.message()));
}

// Bounds the machine stack: nodes evaluate recursively.
Status TemplateRun::check_depth() const {
  if (depth_ <= kMaxEvaluationDepth) return Status();
  return fail(Code::invalid, "the template runs deeper than {} nested parts", kMaxEvaluationDepth);
}

// One step per node, whatever it does.
Result<Datum> TemplateRun::evaluate(const ExprNode& node) {
  const Deeper deeper(depth_);
  Status status = meter_.spend();
  if (status.ok()) status = check_depth();
  if (status.ok()) {
    Result<Datum> value = node.evaluate(*this);
    if (value) return value;
    status = std::move(value.error());
  }
  return tl::unexpected<Status>(placed(node.place, std::move(status)));
}

Result<Flow> TemplateRun::execute(const StatementList& statements) {
  const Deeper deeper(depth_);
  for (const StatementPtr& statement : statements) {
    Status status = meter_.spend();
    if (status.ok()) status = check_depth();
    if (status.ok()) {
      const Result<Flow> flow = statement->execute(*this);
      if (flow && *flow == Flow::next) continue;
      if (flow) return *flow;
      status = flow.error();
    }
    return tl::unexpected<Status>(placed(statement->place, std::move(status)));
  }
  return Flow::next;
}

Result<Flow> TemplateRun::execute(const ScopeBody& body) {
  for (const NameId name : body.unset) set(name, undefined_name(name));
  return execute(body.statements);
}

Datum TemplateRun::undefined_name(NameId name) const {
  return Datum::undefined(
      fmt::format("'{}' is undefined", program_.names[static_cast<size_t>(name)]));
}

// From the innermost scope outwards, then the context, then the global functions.
Datum TemplateRun::lookup(NameId name) {
  for (const NameScope* scope = scope_; scope; scope = scope->parent) {
    meter_.charge(static_cast<int64_t>(scope->variables.size() / 16));
    for (const auto& [id, value] : scope->variables)
      if (id == name) return value;
  }
  const std::optional<Datum>& value = context_[static_cast<size_t>(name)];
  if (value) return *value;
  const std::string& text = program_.names[static_cast<size_t>(name)];
  if (const BuiltinRow* global = find_global(text))
    return Datum(ObjectPtr(std::make_shared<BoundFunction>(*global, Datum())));
  return undefined_name(name);
}

void TemplateRun::set(NameId name, Datum value) {
  meter_.charge(static_cast<int64_t>(scope_->variables.size() / 16));
  for (auto& [id, old] : scope_->variables) {
    if (id == name) {
      old = std::move(value);
      return;
    }
  }
  scope_->variables.emplace_back(name, std::move(value));
}

// Names, members of namespaces, and tuples, whose lengths must match.
Status TemplateRun::assign(const AssignTarget& target, const Datum& value) {
  if (target.is_tuple) {
    const std::vector<Datum> items = TRY(items_of(value, meter_));
    const size_t expected = target.parts.size();
    if (items.size() < expected)
      return fail(Code::corrupt, "not enough values to unpack (expected {}, got {})", expected,
                  items.size());
    if (items.size() > expected)
      return fail(Code::corrupt, "too many values to unpack (expected {})", expected);
    for (size_t i = 0; i < expected; ++i) TRY(assign(target.parts[i], items[i]));
    return Status();
  }
  if (target.member.empty()) {
    set(target.name, value);
    return Status();
  }
  const Datum owner = lookup(target.name);
  auto space = owner.is(Datum::Kind::object)
                   ? std::dynamic_pointer_cast<NamespaceObject>(owner.object())
                   : nullptr;
  if (!space) return fail(Code::corrupt, "cannot assign attribute on non-namespace object");
  return space->set(Datum::text(target.member), value, meter_);
}

std::optional<size_t> TemplateRun::generation_begin() const {
  if (out_ != rendered_) return std::nullopt;
  return out_->size();
}

void TemplateRun::generation_end(size_t begin) {
  while (!generations_.empty() && generations_.back().first >= begin) generations_.pop_back();
  if (out_->size() > begin) generations_.emplace_back(begin, out_->size());
}

// Output beyond the limit ends the rendering.
Status TemplateRun::write(const MarkedText& text) {
  TRY(meter_.check_size(out_->size() + text.size()));
  TRY(meter_.spend_text(text.size()));
  out_->append(text);
  return Status();
}

Status TemplateRun::write(std::string_view template_text) {
  TRY(meter_.check_size(out_->size() + template_text.size()));
  TRY(meter_.spend_text(template_text.size()));
  out_->append(template_text, false);
  return Status();
}

// A macro remembers the scopes around its definition.
void TemplateRun::keep_scopes() {
  for (auto it = live_.rbegin(); it != live_.rend(); ++it) {
    if ((*it)->kept) continue;
    (*it)->kept = true;
    kept_.push_back(*it);
  }
}

Result<TextPtr> TemplateRun::capture_block(const ScopeBody& body) {
  return captured([&] {
    return scoped(scope_, [&]() -> Status {
      TRY(execute(body));
      return Status();
    });
  });
}

Datum TemplateRun::missing_attribute(const Datum& subject, std::string_view name) {
  std::string type = subject.is_none() ? "None" : jinja::type_name(subject) + " object";
  if (last_missing_.name == name && last_missing_.type == type) return last_missing_.undefined;
  Datum undefined = Datum::undefined(fmt::format("'{}' has no attribute '{}'", type, name));
  last_missing_ = {std::move(type), std::string(name), undefined};
  return undefined;
}

std::shared_ptr<NamespaceObject> TemplateRun::make_namespace() {
  namespaces_.push_back(std::make_shared<NamespaceObject>());
  return namespaces_.back();
}

// *args and **kwargs are unpacked here.
Result<CallArguments> TemplateRun::evaluate_arguments(const ArgumentNodes& nodes) {
  CallArguments out;
  out.positional.reserve(nodes.positional.size());
  for (const ExprPtr& node : nodes.positional) out.positional.push_back(TRY(evaluate(*node)));
  if (nodes.star) {
    for (Datum& item : TRY(items_of(TRY(evaluate(*nodes.star)), meter_)))
      out.positional.push_back(std::move(item));
  }
  for (const auto& [name, node] : nodes.named) out.named.emplace_back(name, TRY(evaluate(*node)));
  if (nodes.double_star) {
    const Datum mapping = TRY(evaluate(*nodes.double_star));
    if (!mapping.is(Datum::Kind::dict))
      return fail(Code::corrupt, "argument after ** must be a mapping, not {}", type_name(mapping));
    for (const auto& [key, value] : mapping.dict()->entries()) {
      TRY(meter_.spend());
      if (!key.is_text()) return fail(Code::corrupt, "keywords must be strings");
      out.named.emplace_back(key.bytes(), value);
      out.names_from_user |= key.text()->any_from_user();
    }
  }
  return out;
}

Result<Datum> TemplateRun::call(const Datum& callee, const CallArguments& arguments) {
  if (callee.is_undefined()) return fail(Code::corrupt, "{}", callee.undefined_message());
  if (!callee.is(Datum::Kind::object) || !callee.object()->callable())
    return fail(Code::corrupt, "'{}' object is not callable", type_name(callee));
  return callee.object()->call(*this, arguments);
}

namespace {

// Takes the value of a named argument out of the list.
std::optional<Datum> take_named(std::vector<std::pair<std::string, Datum>>& named,
                                std::string_view name) {
  for (auto it = named.begin(); it != named.end(); ++it) {
    if (it->first != name) continue;
    Datum value = std::move(it->second);
    named.erase(it);
    return value;
  }
  return std::nullopt;
}

}  // namespace

// Binds arguments to parameters, collects the rest in varargs and kwargs if the body reads them,
// and returns the rendered body.
Result<Datum> TemplateRun::call_macro(const MacroBody& macro, NameScope* defined_in,
                                      const CallArguments& arguments) {
  if (macro_depth_ >= kMaxMacroDepth)
    return fail(Code::invalid, "macros call each other deeper than {}", kMaxMacroDepth);
  const Deeper deeper(macro_depth_);
  const size_t n = macro.parameters.size();
  auto bind_and_run = [&]() -> Status {
    std::vector<std::pair<std::string, Datum>> named = arguments.named;
    for (size_t i = 0; i < n; ++i) {
      const MacroParameter& parameter = macro.parameters[i];
      std::optional<Datum> value;
      if (i < arguments.positional.size()) {
        value = arguments.positional[i];
      } else {
        meter_.charge(static_cast<int64_t>(named.size() / 8));
        value = take_named(named, parameter.text);
      }
      if (!value && parameter.fallback) value = TRY(evaluate(*parameter.fallback));
      set(parameter.name,
          value ? *value
                : Datum::undefined(fmt::format("parameter '{}' was not provided", parameter.text)));
    }
    if (macro.uses_caller && !macro.names_parameter("caller")) {
      std::optional<Datum> caller = take_named(named, "caller");
      set(program_.caller, caller ? *caller : Datum::undefined("No caller defined"));
    }
    if (macro.uses_kwargs) {
      auto dict = std::make_shared<DatumDict>();
      for (auto& [name, value] : named) TRY(dict->set(arguments.name_text(name), value, meter_));
      set(program_.kwargs, Datum(DictPtr(std::move(dict))));
    } else if (!named.empty()) {
      return fail(Code::corrupt, "macro '{}' takes no keyword argument '{}'", macro.name,
                  named.front().first);
    }
    if (macro.uses_varargs) {
      std::vector<Datum> rest;
      for (size_t i = n; i < arguments.positional.size(); ++i)
        rest.push_back(arguments.positional[i]);
      set(program_.varargs, TRY(make_sequence(SequenceKind::tuple, std::move(rest), meter_)));
    } else if (arguments.positional.size() > n) {
      return fail(Code::corrupt, "macro '{}' takes not more than {} argument(s)", macro.name, n);
    }
    TRY(execute(macro.body));
    return Status();
  };
  return Datum(TRY(captured([&] { return scoped(defined_in, bind_and_run); })));
}

}  // namespace ruv::jinja
