// Putting the arguments of a call into the places that a builtin names.
#include <algorithm>

#include "chat/jinja/run.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

bool BuiltinCall::flag(size_t i, bool fallback) const {
  return given[i] ? is_true(*given[i]) : fallback;
}

Result<int64_t> BuiltinCall::integer(size_t i, int64_t fallback) const {
  if (!given[i]) return fallback;
  if (given[i]->is_undefined()) return fail(Code::corrupt, "{}", given[i]->undefined_message());
  if (given[i]->is(Datum::Kind::wide_integer)) return fail(Code::corrupt, "{}", kBeyond64Bits);
  if (!given[i]->is_integral())
    return fail(Code::corrupt, "'{}' object cannot be interpreted as an integer",
                type_name(*given[i]));
  return given[i]->integer();
}

Result<int64_t> BuiltinCall::bound(size_t i, int64_t fallback) const {
  if (given[i] && given[i]->is_whole()) return clamped_bound(*given[i]);
  return integer(i, fallback);
}

Result<TextPtr> BuiltinCall::text(size_t i, std::string_view fallback) const {
  if (!given[i]) return std::make_shared<const MarkedText>(std::string(fallback), false);
  return text_of(*given[i], meter());
}

RenderMeter& BuiltinCall::meter() const { return run.meter(); }

// Positional arguments fill the parameters in order, named ones by name; a missing, surplus or
// repeated argument is an error as in Python.
Result<Datum> call_builtin(const BuiltinRow& row, TemplateRun& run, const Datum& subject,
                           const CallArguments& arguments) {
  BuiltinCall call{run, subject, arguments};
  if (row.parameters[0] == "*") return row.function(call);
  const auto end = std::find(row.parameters.begin(), row.parameters.end(), std::string_view());
  const auto n = static_cast<size_t>(end - row.parameters.begin());
  if (arguments.positional.size() > n)
    return fail(Code::corrupt, "{}() takes at most {} arguments, {} are given", row.name, n,
                arguments.positional.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i) call.given[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(row.parameters.begin(), end, name);
    if (found == end)
      return fail(Code::corrupt, "{}() got an unexpected keyword argument '{}'", row.name, name);
    const auto i = static_cast<size_t>(found - row.parameters.begin());
    if (call.given[i])
      return fail(Code::corrupt, "{}() got multiple values for argument '{}'", row.name, name);
    call.given[i] = &value;
  }
  for (size_t i = 0; i < static_cast<size_t>(row.required); ++i) {
    if (!call.given[i])
      return fail(Code::corrupt, "{}() needs the argument '{}'", row.name, row.parameters[i]);
  }
  return row.function(call);
}

Status TemplateObject::append_repr(MarkedText& out, RenderMeter&, int) const {
  out.append("<" + type_name() + ">", false);
  return Status();
}

std::optional<Datum> TemplateObject::attribute(std::string_view) const { return std::nullopt; }

std::optional<Datum> BoundFunction::attribute(std::string_view name) const {
  if (!subject_.is_undefined()) return std::nullopt;
  const BuiltinRow* row = find_global(fmt::format("{}.{}", row_.name, name));
  if (!row) return std::nullopt;
  return Datum(ObjectPtr(std::make_shared<BoundFunction>(*row, Datum())));
}

Result<Datum> TemplateObject::call(TemplateRun&, const CallArguments&) {
  return fail(Code::corrupt, "'{}' object is not callable", type_name());
}

Status NamespaceObject::append_repr(MarkedText& out, RenderMeter& meter, int depth) const {
  out.append("<Namespace {", false);
  bool first = true;
  for (const auto& [key, value] : members_.entries()) {
    if (!first) out.append(", ", false);
    first = false;
    TRY(ruv::jinja::append_repr(out, key, meter, false, depth));
    out.append(": ", false);
    TRY(ruv::jinja::append_repr(out, value, meter, false, depth));
  }
  out.append("}>", false);
  return Status();
}

Status NamespaceObject::set(const Datum& name, Datum value, RenderMeter& meter) {
  if (name.is_text() && name.bytes().starts_with('_'))
    return fail(Code::corrupt, "a namespace may not have a member '{}' beginning with _",
                name.bytes());
  return members_.set(name, std::move(value), meter);
}

std::optional<Datum> NamespaceObject::attribute(std::string_view name) const {
  if (const Datum* found = members_.find(name)) return *found;
  return std::nullopt;
}

}  // namespace ruv::jinja
