// Filters that pick, change, order or group the items of a sequence.
#include <algorithm>
#include <charconv>

#include "chat/jinja/filters.h"
#include "chat/jinja/text_ops.h"

namespace ruv::jinja {

Datum without_case(const Datum& value) {
  return value.is_text() ? Datum(lowercased(*value.text())) : value;
}

Result<Datum> attribute_path(TemplateRun& run, const Datum& item, const Datum& path) {
  if (!path.is_text()) return path.is_none() ? item : item_of(run, item, path);
  Datum value = item;
  std::string_view rest = path.bytes();
  while (true) {
    TRY(run.meter().spend());
    TRY(run.meter().spend_text(rest.size()));
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto [stop, code] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool numeric = code == std::errc() && stop == part.data() + part.size() && part[0] != '-';
    value = TRY(item_of(run, value, numeric ? Datum(index) : Datum::text(part)));
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

namespace {

// The sort key of an item: the item or its attribute, in lower case unless case matters.
Result<Datum> sort_key(const BuiltinCall& call, const Datum& item, const Datum* attribute,
                       bool case_sensitive) {
  Datum key = attribute ? TRY(attribute_path(call.run, item, *attribute)) : item;
  return case_sensitive ? key : without_case(key);
}

struct KeyedItem {
  Datum key;
  Datum item;
};

// Stable, and stable when reversed too, as Python's sorted.
Status sort_keyed(std::vector<KeyedItem>& items, bool reverse, RenderMeter& meter) {
  Status failed;
  std::stable_sort(items.begin(), items.end(), [&](const KeyedItem& a, const KeyedItem& b) {
    if (!failed.ok()) return false;
    const Result<bool> before = reverse ? less(b.key, a.key, meter) : less(a.key, b.key, meter);
    if (!before) failed = before.error();
    return before && *before;
  });
  return failed;
}

Result<std::vector<Datum>> without_keys(std::vector<KeyedItem> items) {
  std::vector<Datum> out;
  out.reserve(items.size());
  for (KeyedItem& item : items) out.push_back(std::move(item.item));
  return out;
}

const Datum* given_or_null(const BuiltinCall& call, size_t i) {
  return call.has(i) && !call.given[i]->is_none() ? call.given[i] : nullptr;
}

// The key of sort may name several attributes, "age,name"; it is always a list, whose items are
// only ordered where they differ.
Result<Datum> multi_key(const BuiltinCall& call, const Datum& item, const Datum* attribute,
                        bool case_sensitive) {
  const std::string comma = ",";
  std::vector<Datum> keys;
  if (attribute && attribute->is_text()) {
    for (const Datum& part : TRY(split(*attribute->text(), &comma, -1, false, call.meter())))
      keys.push_back(TRY(sort_key(call, item, &part, case_sensitive)));
  } else {
    keys.push_back(TRY(sort_key(call, item, attribute, case_sensitive)));
  }
  return make_sequence(SequenceKind::list, std::move(keys), call.meter());
}

// sort(reverse, case_sensitive, attribute).
Result<Datum> sort_filter(const BuiltinCall& call) {
  std::vector<KeyedItem> keyed;
  for (Datum& item : TRY(items_of(call.subject, call.meter()))) {
    Datum key = TRY(multi_key(call, item, given_or_null(call, 2), call.flag(1)));
    keyed.push_back({std::move(key), std::move(item)});
  }
  TRY(sort_keyed(keyed, TRY(call.integer(0, 0)) != 0, call.meter()));
  return make_sequence(SequenceKind::list, TRY(without_keys(std::move(keyed))), call.meter());
}

// The pairs of a dict, ordered by key or value.
Result<Datum> dictsort_filter(const BuiltinCall& call) {
  if (call.subject.is_undefined())
    return fail(Code::corrupt, "{}", call.subject.undefined_message());
  if (!call.subject.is(Datum::Kind::dict))
    return fail(Code::corrupt, "'{}' object has no attribute 'items'", type_name(call.subject));
  const TextPtr by = TRY(call.text(1, "key"));
  if (by->bytes() != "key" && by->bytes() != "value")
    return fail(Code::corrupt, "You can only sort by either \"key\" or \"value\"");
  std::vector<KeyedItem> keyed;
  for (const auto& [key, value] : call.subject.dict()->entries()) {
    const Datum& chosen = by->bytes() == "key" ? key : value;
    // Not inside the braces: compilers lose what was initialised before a return inside them.
    Datum pair = TRY(make_sequence(SequenceKind::tuple, {key, value}, call.meter()));
    keyed.push_back({call.flag(0) ? chosen : without_case(chosen), std::move(pair)});
  }
  TRY(sort_keyed(keyed, TRY(call.integer(2, 0)) != 0, call.meter()));
  return make_sequence(SequenceKind::list, TRY(without_keys(std::move(keyed))), call.meter());
}

template <bool kLargest>
// min and max.
Result<Datum> extreme_filter(const BuiltinCall& call) {
  std::optional<Datum> best;
  Datum best_key;
  for (const Datum& item : TRY(items_of(call.subject, call.meter()))) {
    Datum key = TRY(sort_key(call, item, given_or_null(call, 1), call.flag(0)));
    const bool better = !best || (kLargest ? TRY(less(best_key, key, call.meter()))
                                           : TRY(less(key, best_key, call.meter())));
    if (!better) continue;
    best = item;
    best_key = std::move(key);
  }
  return best ? *best : Datum::undefined("No aggregated item, sequence was empty.");
}

// Drops items whose key was seen before; lazily.
Result<DrawItem> begin_unique(const BuiltinCall& call) {
  DatumWalk items = TRY(DatumWalk::over(call.subject, call.meter()));
  return [&call, items, seen = DatumDict()]() mutable -> Result<std::optional<Datum>> {
    while (std::optional<Datum> item = TRY(items.next())) {
      TRY(call.meter().spend());
      Datum key = TRY(sort_key(call, *item, given_or_null(call, 1), call.flag(0)));
      if (TRY(seen.find(key, call.meter()))) continue;
      TRY(seen.set(std::move(key), Datum::none(), call.meter()));
      return item;
    }
    return std::optional<Datum>();
  };
}

Result<Datum> unique_filter(const BuiltinCall& call) { return make_generator(call, begin_unique); }

// Sorts by the key, then collects neighbours with equal keys.
Result<Datum> groupby_filter(const BuiltinCall& call) {
  const bool case_sensitive = call.flag(2);
  std::vector<KeyedItem> keyed;
  for (Datum& item : TRY(items_of(call.subject, call.meter()))) {
    Datum key = TRY(attribute_path(call.run, item, *call.given[0]));
    if (key.is_undefined() && call.has(1)) key = *call.given[1];
    keyed.push_back({std::move(key), std::move(item)});
  }
  std::vector<Datum> real_keys;
  if (!case_sensitive) {
    for (KeyedItem& entry : keyed) {
      // The group shows the key of its first item as it is written there.
      entry.item = TRY(make_sequence(SequenceKind::tuple, {entry.key, entry.item}, call.meter()));
      entry.key = without_case(entry.key);
    }
  }
  TRY(sort_keyed(keyed, false, call.meter()));
  std::vector<Datum> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    size_t end = begin;
    std::vector<Datum> members;
    for (; end < keyed.size() && TRY(equal(keyed[begin].key, keyed[end].key, call.meter())); ++end)
      members.push_back(case_sensitive ? keyed[end].item : keyed[end].item.sequence()->items[1]);
    const Datum key = case_sensitive ? keyed[begin].key : keyed[begin].item.sequence()->items[0];
    const Datum list = TRY(make_sequence(SequenceKind::list, std::move(members), call.meter()));
    groups.push_back(TRY(make_sequence(SequenceKind::group, {key, list}, call.meter())));
    begin = end;
  }
  return make_sequence(SequenceKind::list, std::move(groups), call.meter());
}

// map(attribute=…, default=…).
Result<DrawItem> begin_map_attribute(const BuiltinCall& call) {
  const Datum* attribute = nullptr;
  const Datum* fallback = nullptr;
  for (const auto& [name, value] : call.arguments.named) {
    if (name == "attribute") {
      attribute = &value;
    } else if (name == "default") {
      fallback = &value;
    } else {
      return fail(Code::corrupt, "Unexpected keyword argument '{}'", name);
    }
  }
  if (!attribute) return fail(Code::corrupt, "map requires a filter argument");
  DatumWalk items = TRY(DatumWalk::over(call.subject, call.meter()));
  return [&call, items, attribute, fallback]() mutable -> Result<std::optional<Datum>> {
    const std::optional<Datum> item = TRY(items.next());
    if (!item) return item;
    Datum value = TRY(attribute_path(call.run, *item, *attribute));
    return std::optional(value.is_undefined() && fallback ? *fallback : std::move(value));
  };
}

// … or map("filter", arguments…).
Result<DrawItem> begin_map(const BuiltinCall& call) {
  if (!is_true(call.subject)) return draw_all({});
  const CallArguments& given = call.arguments;
  if (given.positional.empty()) return begin_map_attribute(call);
  const TextPtr name = TRY(text_of(given.positional[0], call.meter()));
  const BuiltinRow* filter = find_filter(name->bytes());
  CallArguments rest{{given.positional.begin() + 1, given.positional.end()}, given.named};
  DatumWalk items = TRY(DatumWalk::over(call.subject, call.meter()));
  return [&call, items, name, filter, rest]() mutable -> Result<std::optional<Datum>> {
    const std::optional<Datum> item = TRY(items.next());
    if (!item) return item;
    // Jinja looks for the filter when an item is drawn.
    if (!filter) return fail(Code::unsupported, "no filter named '{}'", name->bytes());
    return std::optional(TRY(call_builtin(*filter, call.run, *item, rest)));
  };
}

Result<Datum> map_filter(const BuiltinCall& call) { return make_generator(call, begin_map); }

// select, reject and their attr forms: the items whose test (or truth) is as wanted.
template <bool kWanted, bool kByAttribute>
Result<DrawItem> begin_choosing(const BuiltinCall& call) {
  if (!is_true(call.subject)) return draw_all({});
  const CallArguments& given = call.arguments;
  const size_t name_at = kByAttribute ? 1 : 0;
  if (given.positional.size() < name_at)
    return fail(Code::corrupt, "Missing parameter for attribute name");
  const BuiltinRow* test = nullptr;
  TextPtr name;
  CallArguments rest;
  if (given.positional.size() > name_at) {
    name = TRY(text_of(given.positional[name_at], call.meter()));
    test = find_test(name->bytes());
    rest.positional.assign(given.positional.begin() + static_cast<std::ptrdiff_t>(name_at) + 1,
                           given.positional.end());
    rest.named = given.named;
  }
  DatumWalk items = TRY(DatumWalk::over(call.subject, call.meter()));
  return [&call, items, test, name, rest]() mutable -> Result<std::optional<Datum>> {
    while (std::optional<Datum> item = TRY(items.next())) {
      TRY(call.meter().spend());
      if (name && !test) return fail(Code::unsupported, "no test named '{}'", name->bytes());
      const Datum tested =
          kByAttribute ? TRY(attribute_path(call.run, *item, call.arguments.positional[0])) : *item;
      const bool truth = is_true(test ? TRY(call_builtin(*test, call.run, tested, rest)) : tested);
      if (truth == kWanted) return item;
    }
    return std::optional<Datum>();
  };
}

template <bool kWanted, bool kByAttribute>
Result<Datum> choosing_filter(const BuiltinCall& call) {
  return make_generator(call, begin_choosing<kWanted, kByAttribute>);
}

constexpr BuiltinRow kChoosingRows[] = {
    {"dictsort", dictsort_filter, 0, {"case_sensitive", "by", "reverse"}},
    {"groupby", groupby_filter, 1, {"attribute", "default", "case_sensitive"}},
    {"map", map_filter, 0, {"*"}},
    {"max", extreme_filter<true>, 0, {"case_sensitive", "attribute"}},
    {"min", extreme_filter<false>, 0, {"case_sensitive", "attribute"}},
    {"reject", choosing_filter<false, false>, 0, {"*"}},
    {"rejectattr", choosing_filter<false, true>, 0, {"*"}},
    {"select", choosing_filter<true, false>, 0, {"*"}},
    {"selectattr", choosing_filter<true, true>, 0, {"*"}},
    {"sort", sort_filter, 0, {"reverse", "case_sensitive", "attribute"}},
    {"unique", unique_filter, 0, {"case_sensitive", "attribute"}},
};

}  // namespace

std::span<const BuiltinRow> choosing_filters() { return kChoosingRows; }

}  // namespace ruv::jinja
