// The tests of "x is test".
#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/letters.h"

namespace ruv::jinja {

namespace {

template <Datum::Kind kKind>
// string, number, mapping, boolean, …
Result<Datum> kind_test(const BuiltinCall& call) {
  return Datum(call.subject.is(kKind));
}

template <CompareOp kOp>
// eq, ne, lt, le, gt, ge and their other names.
Result<Datum> compare_test(const BuiltinCall& call) {
  return Datum(TRY(compare(kOp, call.subject, *call.given[0], call.meter())));
}

template <bool kValue>
Result<Datum> constant_test(const BuiltinCall& call) {
  return Datum(call.subject.is(Datum::Kind::boolean) && call.subject.boolean() == kValue);
}

// subject % number == remainder.
Result<Datum> remainder_is(const BuiltinCall& call, const Datum& number, int64_t remainder) {
  const Datum rest = TRY(arithmetic(MathOp::modulo, call.subject, number, call.meter()));
  return Datum(TRY(equal(rest, Datum(remainder), call.meter())));
}

Result<Datum> odd_test(const BuiltinCall& call) { return remainder_is(call, Datum(int64_t{2}), 1); }
Result<Datum> even_test(const BuiltinCall& call) {
  return remainder_is(call, Datum(int64_t{2}), 0);
}
Result<Datum> divisible_test(const BuiltinCall& call) {
  return remainder_is(call, *call.given[0], 0);
}

Result<Datum> defined_test(const BuiltinCall& call) { return Datum(!call.subject.is_undefined()); }
Result<Datum> integer_test(const BuiltinCall& call) {
  return Datum(call.subject.is_whole() && !call.subject.is(Datum::Kind::boolean));
}
Result<Datum> number_test(const BuiltinCall& call) { return Datum(call.subject.is_number()); }

Result<Datum> sequence_test(const BuiltinCall& call) {
  const Datum& value = call.subject;
  return Datum(value.is_text() || value.is_undefined() || value.is(Datum::Kind::dict) ||
               (value.is(Datum::Kind::sequence) && value.sequence()->is_indexable()));
}

// What a for loop accepts.
Result<Datum> iterable_test(const BuiltinCall& call) {
  const Datum& value = call.subject;
  return Datum(value.is_text() || value.is_undefined() || value.is(Datum::Kind::dict) ||
               value.is(Datum::Kind::sequence));
}

Result<Datum> callable_test(const BuiltinCall& call) {
  return Datum(call.subject.is_undefined() ||
               (call.subject.is(Datum::Kind::object) && call.subject.object()->callable()));
}

// Python keeps one copy of equal short texts, so these are the same too.
Result<Datum> same_test(const BuiltinCall& call) {
  const Datum& other = *call.given[0];
  if (call.subject.is_text() && other.is_text())
    return Datum(TRY(equal(call.subject, other, call.meter())));
  return Datum(call.subject.same_as(other));
}

Result<Datum> escaped_test(const BuiltinCall& call) {
  return Datum(call.subject.is_text() && call.subject.text()->html_safe);
}

// Some letter has the case, and none has the other.
template <bool kUpper>
Result<Datum> case_test(const BuiltinCall& call) {
  const TextPtr text = TRY(text_of(call.subject, call.meter()));
  TRY(call.meter().spend_text(text->size()));
  bool some = false;
  for (size_t at = 0; at < text->size();) {
    const CodePoint c = decode_utf8(text->bytes(), at);
    if (is_title(c.value) || (kUpper ? is_lower(c.value) : is_upper(c.value))) return Datum(false);
    some |= kUpper ? is_upper(c.value) : is_lower(c.value);
    at += c.size;
  }
  return Datum(some);
}

// Looking a value up in a table needs a hash, which lists and dicts lack.
Status check_hashable(const BuiltinCall& call) {
  DatumDict table;
  TRY(table.find(call.subject, call.meter()));
  return Status();
}

// Whether a filter of this name exists.
Result<Datum> filter_test(const BuiltinCall& call) {
  TRY(check_hashable(call));
  // Jinja has these too; a template that uses one is refused.
  static constexpr std::string_view kRefused[] = {"pprint", "random", "striptags", "urlize"};
  if (!call.subject.is_text()) return Datum(false);
  const std::string& name = call.subject.bytes();
  return Datum(find_filter(name) != nullptr ||
               std::find(std::begin(kRefused), std::end(kRefused), name) != std::end(kRefused));
}

Result<Datum> test_test(const BuiltinCall& call) {
  TRY(check_hashable(call));
  return Datum(call.subject.is_text() && find_test(call.subject.bytes()) != nullptr);
}

constexpr BuiltinRow kTests[] = {
    {"!=", compare_test<CompareOp::unequal>, 1, {"other"}},
    {"<", compare_test<CompareOp::less>, 1, {"other"}},
    {"<=", compare_test<CompareOp::less_equal>, 1, {"other"}},
    {"==", compare_test<CompareOp::equal>, 1, {"other"}},
    {">", compare_test<CompareOp::greater>, 1, {"other"}},
    {">=", compare_test<CompareOp::greater_equal>, 1, {"other"}},
    {"boolean", kind_test<Datum::Kind::boolean>},
    {"callable", callable_test},
    {"defined", defined_test},
    {"divisibleby", divisible_test, 1, {"num"}},
    {"eq", compare_test<CompareOp::equal>, 1, {"other"}},
    {"equalto", compare_test<CompareOp::equal>, 1, {"other"}},
    {"escaped", escaped_test},
    {"even", even_test},
    {"false", constant_test<false>},
    {"filter", filter_test},
    {"float", kind_test<Datum::Kind::real>},
    {"ge", compare_test<CompareOp::greater_equal>, 1, {"other"}},
    {"greaterthan", compare_test<CompareOp::greater>, 1, {"other"}},
    {"gt", compare_test<CompareOp::greater>, 1, {"other"}},
    {"in", compare_test<CompareOp::in>, 1, {"seq"}},
    {"integer", integer_test},
    {"iterable", iterable_test},
    {"le", compare_test<CompareOp::less_equal>, 1, {"other"}},
    {"lessthan", compare_test<CompareOp::less>, 1, {"other"}},
    {"lower", case_test<false>},
    {"lt", compare_test<CompareOp::less>, 1, {"other"}},
    {"mapping", kind_test<Datum::Kind::dict>},
    {"ne", compare_test<CompareOp::unequal>, 1, {"other"}},
    {"none", kind_test<Datum::Kind::none>},
    {"number", number_test},
    {"odd", odd_test},
    {"sameas", same_test, 1, {"other"}},
    {"sequence", sequence_test},
    {"string", kind_test<Datum::Kind::text>},
    {"test", test_test},
    {"true", constant_test<true>},
    {"undefined", kind_test<Datum::Kind::undefined>},
    {"upper", case_test<true>},
};

// Linear search: a template is parsed once.
const BuiltinRow* find_row(std::span<const BuiltinRow> rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const BuiltinRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const BuiltinRow* find_test(std::string_view name) { return find_row(kTests, name); }

const BuiltinRow* find_filter(std::string_view name) {
  for (const auto rows : {text_filters(), sequence_filters(), choosing_filters(), number_filters(),
                          layout_filters()}) {
    if (const BuiltinRow* row = find_row(rows, name)) return row;
  }
  return nullptr;
}

}  // namespace ruv::jinja
