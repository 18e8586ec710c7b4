// TemplateObject: a value that is neither data nor text. Namespaces, loops, macros, bound methods
// and global functions implement this interface.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/datum.h"

namespace ruv::jinja {

class TemplateRun;

struct CallArguments {
  std::vector<Datum> positional;
  std::vector<std::pair<std::string, Datum>> named;
  bool names_from_user = false;  // some name came out of a user's mapping by **

  // The name as a text that carries this mark.
  Datum name_text(const std::string& name) const {
    return Datum(MarkedText(name, names_from_user));
  }
};

class TemplateObject {
 public:
  virtual ~TemplateObject() = default;
  virtual std::string type_name() const = 0;
  virtual Status append_repr(MarkedText& out, RenderMeter& meter, int depth) const;
  // Nothing when there is no such attribute.
  virtual std::optional<Datum> attribute(std::string_view name) const;
  virtual bool callable() const { return false; }
  virtual Result<Datum> call(TemplateRun& run, const CallArguments& arguments);
  // What len() gives, or nothing.
  virtual std::optional<int64_t> length() const { return std::nullopt; }
  // As depth_of, counting the values it holds, so that freeing it never recurses far.
  virtual int depth() const { return 0; }
};

inline constexpr size_t kMaxParameters = 6;

// A call of a filter, test, method or global function, with its arguments matched to the
// parameters.
struct BuiltinCall {
  TemplateRun& run;
  const Datum& subject;
  const CallArguments& arguments;
  std::array<const Datum*, kMaxParameters> given{};  // null: left out

  bool has(size_t i) const { return given[i] != nullptr; }
  bool flag(size_t i, bool fallback = false) const;
  // Fails: corrupt, when the argument is not a whole number.
  Result<int64_t> integer(size_t i, int64_t fallback) const;
  // As integer, for a position in the subject: a number beyond 64 bits is clamped.
  Result<int64_t> bound(size_t i, int64_t fallback) const;
  // Python's str of the argument; `fallback` when it is left out.
  Result<TextPtr> text(size_t i, std::string_view fallback = "") const;
  RenderMeter& meter() const;
};

// A row of the tables of filters, tests, methods and globals. A single parameter "*" means that the
// function reads `arguments` itself.
struct BuiltinRow {
  std::string_view name;
  Result<Datum> (*function)(const BuiltinCall&) = nullptr;
  int required = 0;
  std::array<std::string_view, kMaxParameters> parameters{};
};

// Fails: corrupt when the arguments do not fit the row's parameters, or as the function does.
Result<Datum> call_builtin(const BuiltinRow& row, TemplateRun& run, const Datum& subject,
                           const CallArguments& arguments);

// Null when there is none of that name.
const BuiltinRow* find_filter(std::string_view name);
const BuiltinRow* find_test(std::string_view name);
const BuiltinRow* find_global(std::string_view name);
const BuiltinRow* find_text_method(std::string_view name);
const BuiltinRow* find_dict_method(std::string_view name);
const BuiltinRow* find_sequence_method(const DatumSequence& sequence, std::string_view name);
// real, imag, numerator, denominator, or a method of numbers; nothing for other names. Fails:
// corrupt (beyond the limit of bits). Requires: a number.
Result<std::optional<Datum>> number_attribute(const Datum& number, std::string_view name,
                                              RenderMeter& meter);
// Whether Python's value has an attribute of that name that templates are refused here.
bool is_unsupported_attribute(const Datum& subject, std::string_view name);
// Whether the name is a method that would change a list or dict; templates may not call those.
bool is_mutating_method(const Datum& subject, std::string_view name);

// subject.method, or a global function when the subject is undefined.
class BoundFunction final : public TemplateObject {
 public:
  BoundFunction(const BuiltinRow& row, Datum subject) : row_(row), subject_(std::move(subject)) {}
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  int depth() const override { return 1 + depth_of(subject_); }
  // dict.fromkeys is the global function of that name.
  std::optional<Datum> attribute(std::string_view name) const override;
  Result<Datum> call(TemplateRun& run, const CallArguments& arguments) override {
    return call_builtin(row_, run, subject_, arguments);
  }

 private:
  const BuiltinRow& row_;
  Datum subject_;
};

// namespace(...): the one value a template may change. The run clears all of them at its end, so
// that circles of namespaces are freed.
class NamespaceObject final : public TemplateObject {
 public:
  std::string type_name() const override { return "Namespace"; }
  Status append_repr(MarkedText& out, RenderMeter& meter, int depth) const override;
  std::optional<Datum> attribute(std::string_view name) const override;
  // Fails: as DatumDict::set; corrupt, when the name begins with "_", which templates may not use.
  Status set(const Datum& name, Datum value, RenderMeter& meter);
  void clear() { members_ = DatumDict(); }

 private:
  DatumDict members_;
};

}  // namespace ruv::jinja
