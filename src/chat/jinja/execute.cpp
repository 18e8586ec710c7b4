// Statements: what each writes and assigns.
#include "chat/jinja/loop.h"
#include "chat/jinja/run.h"

namespace ruv::jinja {

namespace {

// A macro, or the body of a call block, with the scope in which it was written.
class MacroObject final : public TemplateObject {
 public:
  MacroObject(const MacroBody& macro, NameScope* scope) : macro_(macro), scope_(scope) {}
  std::string type_name() const override { return "Macro"; }
  Status append_repr(MarkedText& out, RenderMeter&, int) const override {
    out.append(macro_.name.empty() ? "<Macro anonymous>" : "<Macro '" + macro_.name + "'>", false);
    return Status();
  }
  bool callable() const override { return true; }
  Result<Datum> call(TemplateRun& run, const CallArguments& arguments) override {
    return run.call_macro(macro_, scope_, arguments);
  }
  std::optional<Datum> attribute(std::string_view name) const override {
    if (name == "name") return macro_.name.empty() ? Datum::none() : Datum::text(macro_.name);
    if (name == "arguments") return parameter_names();
    if (name == "caller") return Datum(macro_.uses_caller);
    if (name == "catch_kwargs") return Datum(macro_.uses_kwargs);
    if (name == "catch_varargs") return Datum(macro_.uses_varargs);
    if (name == "explicit_caller") return Datum(macro_.names_parameter("caller"));
    return std::nullopt;
  }

 private:
  Datum parameter_names() const {
    auto names = std::make_shared<DatumSequence>();
    names->kind = SequenceKind::tuple;
    for (const MacroParameter& parameter : macro_.parameters)
      names->items.push_back(Datum::text(parameter.text));
    return Datum(std::move(names));
  }

  const MacroBody& macro_;
  NameScope* scope_;  // kept by the run
};

Datum make_macro(TemplateRun& run, const MacroBody& macro) {
  run.keep_scopes();
  return Datum(ObjectPtr(std::make_shared<MacroObject>(macro, run.scope())));
}

}  // namespace

Result<Flow> TextNode::execute(TemplateRun& run) const {
  TRY(run.write(text));
  return Flow::next;
}

// Undefined values print nothing.
Result<Flow> PrintNode::execute(TemplateRun& run) const {
  const TextPtr text = TRY(text_of(TRY(run.evaluate(*value)), run.meter()));
  TRY(run.write(*text));
  return Flow::next;
}

Result<Flow> IfNode::execute(TemplateRun& run) const {
  for (const auto& [condition, body] : branches) {
    if (is_true(TRY(run.evaluate(*condition)))) return run.execute(body);
  }
  return run.execute(otherwise);
}

Result<Flow> SetNode::execute(TemplateRun& run) const {
  TRY(run.assign(target, TRY(run.evaluate(*value))));
  return Flow::next;
}

// The body is captured, filtered, and assigned.
Result<Flow> SetBlockNode::execute(TemplateRun& run) const {
  Datum text(TRY(run.capture_block(body)));
  if (filtered) {
    const Datum outer = std::exchange(run.captured_text, std::move(text));
    Result<Datum> result = run.evaluate(*filtered);
    run.captured_text = outer;
    text = TRY(std::move(result));
  }
  TRY(run.assign(target, text));
  return Flow::next;
}

Result<Flow> FilterBlockNode::execute(TemplateRun& run) const {
  Datum text(TRY(run.capture_block(body)));
  const Datum outer = std::exchange(run.captured_text, std::move(text));
  Result<Datum> result = run.evaluate(*filtered);
  run.captured_text = outer;
  const Datum shown = TRY(std::move(result));
  // Jinja joins the parts of its output without making texts of them first.
  if (!shown.is_text())
    return fail(Code::corrupt, "a filter block must give a text, not {}", type_name(shown));
  TRY(run.write(*shown.text()));
  return Flow::next;
}

Result<Flow> MacroNode::execute(TemplateRun& run) const {
  run.set(name, make_macro(run, macro));
  return Flow::next;
}

// The block becomes a macro that is passed as `caller`.
Result<Flow> CallBlockNode::execute(TemplateRun& run) const {
  const Datum called = TRY(run.evaluate(*callee));
  CallArguments given = TRY(run.evaluate_arguments(arguments));
  given.named.emplace_back("caller", make_macro(run, caller));
  const Datum result = TRY(run.call(called, given));
  TRY(run.write(*TRY(text_of(result, run.meter()))));
  return Flow::next;
}

Result<Flow> WithNode::execute(TemplateRun& run) const {
  std::vector<Datum> evaluated;
  for (const auto& entry : values) evaluated.push_back(TRY(run.evaluate(*entry.second)));
  const std::optional<size_t> begin =
      is_generation ? run.generation_begin() : std::optional<size_t>();
  Result<Flow> flow = run.scoped(run.scope(), [&]() -> Result<Flow> {
    for (size_t i = 0; i < values.size(); ++i) TRY(run.assign(values[i].first, evaluated[i]));
    return run.execute(body);
  });
  if (begin) run.generation_end(*begin);
  return flow;
}

Result<Flow> ForNode::execute(TemplateRun& run) const {
  return run_loop(run, *this, TRY(run.evaluate(*iterable)), run.scope(), 0);
}

}  // namespace ruv::jinja
