// Filters that examine a whole sequence, text or dict.
#include <algorithm>

#include "chat/jinja/filters.h"
#include "chat/jinja/letters.h"

namespace ruv::jinja {

Result<int64_t> length_of(const Datum& value, RenderMeter& meter) {
  if (value.is_undefined()) return 0;
  if (value.is_text()) {
    TRY(meter.spend_text(value.text()->size()));
    return static_cast<int64_t>(count_characters(value.bytes()));
  }
  if (value.is(Datum::Kind::dict)) return static_cast<int64_t>(value.dict()->size());
  if (value.is(Datum::Kind::sequence) && value.sequence()->kind != SequenceKind::generator)
    return static_cast<int64_t>(value.sequence()->items.size());
  if (value.is(Datum::Kind::object)) {
    if (const std::optional<int64_t> n = value.object()->length()) return *n;
  }
  return fail(Code::corrupt, "object of type '{}' has no len()", type_name(value));
}

namespace {

Result<Datum> length_filter(const BuiltinCall& call) {
  return Datum(TRY(length_of(call.subject, call.meter())));
}

// An undefined value, or with boolean=true any false one, becomes the default.
Result<Datum> default_filter(const BuiltinCall& call) {
  const bool replace = call.subject.is_undefined() || (call.flag(1) && !is_true(call.subject));
  if (!replace) return call.subject;
  return call.has(0) ? *call.given[0] : Datum::text("");
}

Result<Datum> attr_filter(const BuiltinCall& call) {
  const TextPtr name = TRY(call.text(0));
  if (call.subject.is(Datum::Kind::dict) && !find_dict_method(name->bytes()))
    return Datum::undefined(fmt::format("'dict object' has no attribute '{}'", name->bytes()));
  return attribute_of(call.run, call.subject, name->bytes());
}

Result<Datum> first_filter(const BuiltinCall& call) {
  DatumWalk walk = TRY(DatumWalk::over(call.subject, call.meter()));
  if (std::optional<Datum> first = TRY(walk.next())) return *first;
  return Datum::undefined("No first item, sequence was empty.");
}

bool is_generator(const Datum& value) {
  return value.is(Datum::Kind::sequence) && value.sequence()->kind == SequenceKind::generator;
}

Result<Datum> last_filter(const BuiltinCall& call) {
  if (is_generator(call.subject))
    return fail(Code::corrupt, "'generator' object is not reversible");
  std::vector<Datum> items = TRY(items_of(call.subject, call.meter()));
  if (items.empty()) return Datum::undefined("No last item, sequence was empty.");
  return std::move(items.back());
}

// Items are converted to text; an attribute of each may be taken first.
Result<Datum> join_filter(const BuiltinCall& call) {
  const TextPtr separator = TRY(call.text(0));
  MarkedText out;
  bool first = true;
  for (const Datum& item : TRY(items_of(call.subject, call.meter()))) {
    if (!first) out.append(*separator);
    first = false;
    const Datum shown = call.has(1) && !call.given[1]->is_none()
                            ? TRY(attribute_path(call.run, item, *call.given[1]))
                            : item;
    const TextPtr text = TRY(text_of(shown, call.meter()));
    TRY(call.meter().check_size(out.size() + text->size()));
    TRY(call.meter().spend_text(text->size() + separator->size()));
    out.append(*text);
  }
  return Datum(std::move(out));
}

Result<Datum> list_filter(const BuiltinCall& call) {
  const bool user = call.subject.is(Datum::Kind::sequence) && call.subject.sequence()->from_user;
  return make_sequence(SequenceKind::list, TRY(items_of(call.subject, call.meter())), call.meter(),
                       user);
}

Result<Datum> reverse_filter(const BuiltinCall& call) {
  std::vector<Datum> items = TRY(items_of(call.subject, call.meter()));
  std::reverse(items.begin(), items.end());
  if (!call.subject.is_text())
    return make_sequence(is_generator(call.subject) ? SequenceKind::list : SequenceKind::generator,
                         std::move(items), call.meter());
  MarkedText out;
  for (const Datum& character : items) out.append(*character.text());
  out.html_safe = call.subject.text()->html_safe;
  return Datum(std::move(out));
}

Result<DrawItem> begin_items(const BuiltinCall& call) {
  std::vector<Datum> pairs;
  if (!call.subject.is_undefined()) {
    if (!call.subject.is(Datum::Kind::dict))
      return fail(Code::corrupt, "Can only get item pairs from a mapping.");
    for (const auto& [key, value] : call.subject.dict()->entries())
      pairs.push_back(TRY(make_sequence(SequenceKind::tuple, {key, value}, call.meter())));
  }
  return draw_all(std::move(pairs));
}

Result<Datum> items_filter(const BuiltinCall& call) { return make_generator(call, begin_items); }

// Groups of n items, the last one filled up.
Result<DrawItem> begin_batch(const BuiltinCall& call) {
  const int64_t count = TRY(call.integer(0, 1));
  DatumWalk items = TRY(DatumWalk::over(call.subject, call.meter()));
  return [&call, count, items, batch = std::vector<Datum>(),
          ended = false]() mutable -> Result<std::optional<Datum>> {
    const auto flush = [&]() -> Result<std::optional<Datum>> {
      return std::optional(
          TRY(make_sequence(SequenceKind::list, std::exchange(batch, {}), call.meter())));
    };
    while (std::optional<Datum> item = ended ? std::nullopt : TRY(items.next())) {
      TRY(call.meter().spend());
      const bool full = static_cast<int64_t>(batch.size()) == count;
      std::optional<Datum> out;
      if (full) out = TRY(flush());
      batch.push_back(std::move(*item));
      if (full) return out;
    }
    if (std::exchange(ended, true) || batch.empty()) return std::optional<Datum>();
    const bool fills = call.has(1) && !call.given[1]->is_none();
    while (fills && static_cast<int64_t>(batch.size()) < count) {
      TRY(call.meter().spend());
      batch.push_back(*call.given[1]);
    }
    return flush();
  };
}

Result<Datum> batch_filter(const BuiltinCall& call) { return make_generator(call, begin_batch); }

// n groups of nearly equal size.
Result<DrawItem> begin_slice(const BuiltinCall& call) {
  const std::vector<Datum> items = TRY(items_of(call.subject, call.meter()));
  const int64_t slices = TRY(call.integer(0, 1));
  if (slices == 0) return fail(Code::corrupt, "integer division or modulo by zero");
  std::vector<Datum> out;
  size_t begin = 0;
  for (int64_t i = 0; i < slices; ++i) {
    TRY(call.meter().spend());
    const auto n = static_cast<int64_t>(items.size());
    const bool longer = i < n % slices;
    const size_t end = begin + static_cast<size_t>(n / slices + (longer ? 1 : 0));
    std::vector<Datum> part(items.begin() + static_cast<std::ptrdiff_t>(begin),
                            items.begin() + static_cast<std::ptrdiff_t>(end));
    if (call.has(1) && !call.given[1]->is_none() && !longer) part.push_back(*call.given[1]);
    out.push_back(TRY(make_sequence(SequenceKind::list, std::move(part), call.meter())));
    begin = end;
  }
  return draw_all(std::move(out));
}

Result<Datum> slice_filter(const BuiltinCall& call) { return make_generator(call, begin_slice); }

Result<Datum> sum_filter(const BuiltinCall& call) {
  Datum total = call.has(1) ? *call.given[1] : Datum(int64_t{0});
  if (total.is_text()) return fail(Code::corrupt, "sum() can't sum strings [use join instead]");
  for (const Datum& item : TRY(items_of(call.subject, call.meter()))) {
    const Datum part = call.has(0) && !call.given[0]->is_none()
                           ? TRY(attribute_path(call.run, item, *call.given[0]))
                           : item;
    total = TRY(arithmetic(MathOp::add, total, part, call.meter()));
  }
  return total;
}

constexpr BuiltinRow kSequenceRows[] = {
    {"attr", attr_filter, 1, {"name"}},
    {"batch", batch_filter, 1, {"linecount", "fill_with"}},
    {"count", length_filter},
    {"d", default_filter, 0, {"default_value", "boolean"}},
    {"default", default_filter, 0, {"default_value", "boolean"}},
    {"first", first_filter},
    {"items", items_filter},
    {"join", join_filter, 0, {"d", "attribute"}},
    {"last", last_filter},
    {"length", length_filter},
    {"list", list_filter},
    {"reverse", reverse_filter},
    {"slice", slice_filter, 1, {"slices", "fill_with"}},
    {"sum", sum_filter, 0, {"attribute", "start"}},
};

}  // namespace

std::span<const BuiltinRow> sequence_filters() { return kSequenceRows; }

}  // namespace ruv::jinja
