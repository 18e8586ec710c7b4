// The tables of filters, by what they work on, and what filters share with each other.
#pragma once

#include <span>

#include "chat/jinja/run.h"

namespace ruv::jinja {

std::span<const BuiltinRow> text_filters();
std::span<const BuiltinRow> number_filters();
std::span<const BuiltinRow> sequence_filters();
std::span<const BuiltinRow> layout_filters();
std::span<const BuiltinRow> choosing_filters();  // map, select, sort, groupby and their kin

// A call whose values live as long as the generator that it makes.
struct KeptCall {
  explicit KeptCall(const BuiltinCall& call);
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  Datum subject;
  CallArguments arguments;
  std::array<Datum, kMaxParameters> values;
  BuiltinCall call;
};

// A generator, like a Python function with `yield`: begin() runs when the first item is requested,
// so what is never requested never fails. Fails: invalid (nested too deep).
Result<Datum> make_generator(const BuiltinCall& call,
                             Result<DrawItem> (*begin)(const BuiltinCall& call));
// A function that returns the items one after another.
DrawItem draw_all(std::vector<Datum> items);

// The attribute that a filter argument names: "a.b.0" or a number. Fails: as item_of.
Result<Datum> attribute_path(TemplateRun& run, const Datum& item, const Datum& path);
// Python's len(). Fails: corrupt, when the value has none.
Result<int64_t> length_of(const Datum& value, RenderMeter& meter);
// Texts in lower case, other values as they are: how sorting ignores case.
Datum without_case(const Datum& value);

// json.dumps(subject, ensure_ascii, indent, separators, sort_keys).
Result<Datum> tojson_filter(const BuiltinCall& call);

}  // namespace ruv::jinja
