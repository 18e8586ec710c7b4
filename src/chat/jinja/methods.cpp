// The methods of dicts, lists and tuples that templates may call: those that change nothing.
#include <algorithm>

#include "chat/jinja/run.h"

namespace ruv::jinja {

namespace {

template <SequenceKind kKind>
// keys(), values() and items().
Result<Datum> view_method(const BuiltinCall& call) {
  const DatumDict& dict = *call.subject.dict();
  std::vector<Datum> items;
  items.reserve(dict.size());
  for (const auto& [key, value] : dict.entries()) {
    if (kKind == SequenceKind::keys) items.push_back(key);
    if (kKind == SequenceKind::values) items.push_back(value);
    if (kKind == SequenceKind::items)
      items.push_back(
          TRY(make_sequence(SequenceKind::tuple, {key, value}, call.meter(), dict.from_user)));
  }
  return make_sequence(kKind, std::move(items), call.meter(), dict.from_user);
}

// get(key, default): None without a default.
Result<Datum> get_method(const BuiltinCall& call) {
  if (const Datum* found = TRY(call.subject.dict()->find(*call.given[0], call.meter())))
    return *found;
  return call.has(1) ? *call.given[1] : Datum::none();
}

// Values never change, so a copy is the thing itself.
Result<Datum> copy_method(const BuiltinCall& call) { return call.subject; }

// The first equal item; an error when there is none, as in Python.
Result<Datum> index_method(const BuiltinCall& call) {
  const std::vector<Datum>& items = call.subject.sequence()->items;
  const auto n = static_cast<int64_t>(items.size());
  int64_t start = TRY(call.bound(1, 0));
  int64_t stop = TRY(call.bound(2, n));
  start = std::max<int64_t>(start < 0 ? start + n : start, 0);
  stop = std::min(stop < 0 ? stop + n : stop, n);
  for (int64_t i = start; i < stop; ++i) {
    if (TRY(equal(items[static_cast<size_t>(i)], *call.given[0], call.meter()))) return Datum(i);
  }
  return fail(Code::corrupt, "the value is not in the {}", type_name(call.subject));
}

Result<Datum> count_method(const BuiltinCall& call) {
  int64_t count = 0;
  for (const Datum& item : call.subject.sequence()->items)
    count += TRY(equal(item, *call.given[0], call.meter()));
  return Datum(count);
}

constexpr BuiltinRow kDictRows[] = {
    {"copy", copy_method},
    {"get", get_method, 1, {"key", "default"}},
    {"items", view_method<SequenceKind::items>},
    {"keys", view_method<SequenceKind::keys>},
    {"values", view_method<SequenceKind::values>},
};

constexpr BuiltinRow kListMethods[] = {
    {"copy", copy_method},
    {"count", count_method, 1, {"value"}},
    {"index", index_method, 1, {"value", "start", "stop"}},
};

template <size_t N>
const BuiltinRow* find_in(const BuiltinRow (&rows)[N], std::string_view name) {
  for (const BuiltinRow& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

const BuiltinRow* find_dict_method(std::string_view name) { return find_in(kDictRows, name); }
const BuiltinRow* find_sequence_method(const DatumSequence& sequence, std::string_view name) {
  if (name == "copy" && !sequence.is_list()) return nullptr;
  return find_in(kListMethods, name);
}

// Names that Python's types have and the templates' language here does not: they are refused, where
// an unknown name would be undefined.
bool is_unsupported_attribute(const Datum& subject, std::string_view name) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  switch (subject.kind()) {
    case Datum::Kind::boolean:
    case Datum::Kind::integer:
    case Datum::Kind::wide_integer:
      return is_one_of({"from_bytes", "to_bytes"});
    case Datum::Kind::real:
      return is_one_of({"fromhex", "hex"});
    case Datum::Kind::text:
      return is_one_of({"encode", "maketrans", "translate"}) ||
             (subject.text()->html_safe && is_one_of({"escape", "striptags", "unescape"}));
    case Datum::Kind::dict:
      return name == "fromkeys";
    case Datum::Kind::sequence:
      break;
    default:
      return false;
  }
  switch (subject.sequence()->kind) {
    case SequenceKind::generator:
      return is_one_of({"close", "gi_running", "gi_suspended", "gi_yieldfrom", "send", "throw"});
    case SequenceKind::keys:
    case SequenceKind::items:
      return is_one_of({"isdisjoint", "mapping"});
    case SequenceKind::values:
      return name == "mapping";
    default:
      return false;
  }
}

bool is_mutating_method(const Datum& subject, std::string_view name) {
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  static constexpr std::string_view kList[] = {"append", "clear",  "extend",  "insert",
                                               "pop",    "remove", "reverse", "sort"};
  const auto has = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (subject.is(Datum::Kind::dict)) return has(kDict);
  return subject.is(Datum::Kind::sequence) && subject.sequence()->is_list() && has(kList);
}

}  // namespace ruv::jinja
