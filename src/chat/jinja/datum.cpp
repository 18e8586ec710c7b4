// Making values, and the operations that every kind has: type, truth, depth, hash, equality, order.
#include "chat/jinja/datum.h"

#include <algorithm>

#include "base/json.h"
#include "chat/jinja/object.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

Datum Datum::none() {
  Datum none;
  none.value_ = std::monostate();
  return none;
}

Datum Datum::text(std::string_view bytes) { return Datum(MarkedText(std::string(bytes), false)); }

Datum Datum::undefined(std::string message) {
  Datum undefined;
  undefined.value_ = std::make_shared<const std::string>(std::move(message));
  return undefined;
}

const std::string& Datum::undefined_message() const {
  static const std::string kUnknown = "value is undefined";
  const auto& message = std::get<std::shared_ptr<const std::string>>(value_);
  return message ? *message : kUnknown;
}

int64_t Datum::integer() const {
  return is(Kind::boolean) ? int64_t{boolean()} : std::get<int64_t>(value_);
}

double Datum::real() const {
  if (is(Kind::wide_integer)) return nearest_real(*wide());
  return is(Kind::real) ? std::get<double>(value_) : static_cast<double>(integer());
}

// As Python names it in error messages.
std::string type_name(const Datum& value) {
  static constexpr std::string_view kSequences[] = {"list",        "tuple",     "_GroupTuple",
                                                    "range",       "generator", "dict_keys",
                                                    "dict_values", "dict_items"};
  switch (value.kind()) {
    case Datum::Kind::undefined:
      return "Undefined";
    case Datum::Kind::none:
      return "NoneType";
    case Datum::Kind::boolean:
      return "bool";
    case Datum::Kind::integer:
    case Datum::Kind::wide_integer:
      return "int";
    case Datum::Kind::real:
      return "float";
    case Datum::Kind::text:
      return "str";
    case Datum::Kind::sequence:
      return std::string(kSequences[static_cast<size_t>(value.sequence()->kind)]);
    case Datum::Kind::dict:
      return "dict";
    case Datum::Kind::object:
      return value.object()->type_name();
  }
  return "object";
}

// Empty texts and containers, zero, None and undefined are false.
bool is_true(const Datum& value) {
  switch (value.kind()) {
    case Datum::Kind::undefined:
    case Datum::Kind::none:
      return false;
    case Datum::Kind::boolean:
    case Datum::Kind::integer:
      return value.integer() != 0;
    case Datum::Kind::wide_integer:
      return true;
    case Datum::Kind::real:
      return value.real() != 0;
    case Datum::Kind::text:
      return !value.text()->empty();
    case Datum::Kind::sequence:
      return value.sequence()->kind == SequenceKind::generator || !value.sequence()->items.empty();
    case Datum::Kind::dict:
      return value.dict()->size() != 0;
    case Datum::Kind::object:
      return value.object()->length().value_or(1) != 0;
  }
  return true;
}

int depth_of(const Datum& value) {
  if (value.is(Datum::Kind::sequence)) return value.sequence()->depth;
  if (value.is(Datum::Kind::dict)) return value.dict()->depth();
  if (value.is(Datum::Kind::object)) return value.object()->depth();
  return 0;
}

namespace {

// Refuses values nested deeper than kMaxValueDepth.
Status check_depth(int depth) {
  if (depth > kMaxValueDepth)
    return fail(Code::invalid, "values are nested deeper than {}", kMaxValueDepth);
  return Status();
}

// Equal keys of different kinds (1, 1.0, True) have equal hashes. Lists and dicts have none.
Result<size_t> hash_of(const Datum& key, RenderMeter& meter) {
  TRY(meter.spend());
  TRY(spend_whole(key, meter));
  switch (key.kind()) {
    case Datum::Kind::boolean:
    case Datum::Kind::integer:
    case Datum::Kind::real:
    case Datum::Kind::wide_integer:
      return std::hash<double>()(key.real());
    case Datum::Kind::text:
      TRY(meter.spend_text(key.text()->size()));
      return std::hash<std::string_view>()(key.bytes());
    case Datum::Kind::undefined:
    case Datum::Kind::none:
      return size_t{1};
    case Datum::Kind::object:
      return std::hash<const void*>()(key.object().get());
    case Datum::Kind::sequence:
      if (key.sequence()->is_tuple()) {
        size_t hash = 7;
        for (const Datum& item : key.sequence()->items)
          hash = hash * 1000003 + TRY(hash_of(item, meter));
        return hash;
      }
      if (key.sequence()->kind == SequenceKind::range) return key.sequence()->items.size();
      if (key.sequence()->kind == SequenceKind::values ||
          key.sequence()->kind == SequenceKind::generator)
        return std::hash<const void*>()(key.sequence().get());
      [[fallthrough]];
    default:
      return fail(Code::corrupt, "unhashable type: '{}'", type_name(key));
  }
}

}  // namespace

const Datum* DatumDict::find(std::string_view key) const {
  const auto [begin, end] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = entries_[it->second];
    if (entry.first.is_text() && entry.first.bytes() == key) return &entry.second;
  }
  return nullptr;
}

// The entry with an equal key.
Result<std::optional<size_t>> DatumDict::position(const Datum& key, RenderMeter& meter) const {
  const auto [begin, end] = index_.equal_range(TRY(hash_of(key, meter)));
  for (auto it = begin; it != end; ++it) {
    if (TRY(equal(entries_[it->second].first, key, meter))) return std::optional(it->second);
  }
  return std::nullopt;
}

Result<const Datum*> DatumDict::find(const Datum& key, RenderMeter& meter) const {
  const std::optional<size_t> at = TRY(position(key, meter));
  return at ? &entries_[*at].second : nullptr;
}

// Replacing a value keeps the key's position, as in Python.
Status DatumDict::set(Datum key, Datum value, RenderMeter& meter) {
  const int depth = 1 + std::max(depth_of(key), depth_of(value));
  TRY(check_depth(depth));
  const std::optional<size_t> at = TRY(position(key, meter));
  depth_ = std::max(depth_, depth);
  if (at) {
    entries_[*at].second = std::move(value);
    return Status();
  }
  index_.emplace(TRY(hash_of(key, meter)), entries_.size());
  entries_.emplace_back(std::move(key), std::move(value));
  return Status();
}

// Computes the depth; fails if it is too deep.
Result<Datum> make_sequence(SequenceKind kind, std::vector<Datum> items, RenderMeter& meter,
                            bool from_user) {
  TRY(meter.spend(1 + static_cast<int64_t>(items.size())));
  int depth = 1;
  for (const Datum& item : items) depth = std::max(depth, 1 + depth_of(item));
  TRY(check_depth(depth));
  auto sequence = std::make_shared<DatumSequence>();
  sequence->kind = kind;
  sequence->items = std::move(items);
  sequence->from_user = from_user;
  sequence->depth = depth;
  return Datum(std::move(sequence));
}

namespace {

// The protocol's own words, even if a user sends them: templates build control tokens around them.
bool is_role(std::string_view text) {
  static constexpr std::string_view kRoles[] = {"system", "user",     "assistant", "tool",
                                                "model",  "function", "developer", "ipython"};
  return std::find(std::begin(kRoles), std::end(kRoles), text) != std::end(kRoles);
}

}  // namespace

// Every node costs a step, so large conversations are charged for their size.
Result<Datum> datum_from_json(const Json& json, RenderMeter& meter, int depth) {
  TRY(check_depth(depth));
  switch (json.kind()) {
    case Json::Kind::boolean:
      return Datum(json.get<bool>());
    case Json::Kind::integer:
      return Datum(json.get<int64_t>());
    case Json::Kind::unsigned_integer:
      return whole_from_unsigned(json.get<uint64_t>());
    case Json::Kind::big_integer: {
      const bool negative = json.text().starts_with('-');
      return whole_from_digits(json.text().substr(negative ? 1 : 0), negative, 10);
    }
    case Json::Kind::real:
      return Datum(json.get<double>());
    case Json::Kind::string:
      return Datum(MarkedText(std::string(json.text()), true));
    case Json::Kind::array: {
      std::vector<Datum> items;
      items.reserve(json.size());
      for (const Json& item : json) items.push_back(TRY(datum_from_json(item, meter, depth + 1)));
      return make_sequence(SequenceKind::list, std::move(items), meter, true);
    }
    case Json::Kind::object: {
      auto dict = std::make_shared<DatumDict>();
      dict->from_user = true;
      for (const auto& [key, value] : json.items()) {
        const bool role = key == "role" && value.is_string() && is_role(value.text());
        Datum member =
            role ? Datum::text(value.text()) : TRY(datum_from_json(value, meter, depth + 1));
        TRY(dict->set(Datum(MarkedText(std::string(key), true)), std::move(member), meter));
      }
      return Datum(DictPtr(std::move(dict)));
    }
    default:
      return Datum::none();
  }
}

namespace {

// Lists equal lists and tuples equal tuples only.
Result<bool> sequences_equal(const DatumSequence& a, const DatumSequence& b, RenderMeter& meter) {
  const bool comparable =
      (a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple()) ||
      (a.kind == b.kind && a.kind != SequenceKind::generator && a.kind != SequenceKind::values);
  if (&a == &b) return true;
  if (!comparable || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!TRY(equal(a.items[i], b.items[i], meter))) return false;
  }
  return true;
}

Result<bool> dicts_equal(const DatumDict& a, const DatumDict& b, RenderMeter& meter) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Datum* other = TRY(b.find(key, meter));
    if (!other || !TRY(equal(value, *other, meter))) return false;
  }
  return true;
}

}  // namespace

// Numbers compare across kinds by value.
Result<bool> equal(const Datum& a, const Datum& b, RenderMeter& meter) {
  TRY(meter.spend());
  if (a.is_number() && b.is_number()) {
    TRY(spend_whole(a, meter));
    return number_order(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Datum::Kind::undefined:
    case Datum::Kind::none:
      return true;
    case Datum::Kind::text: {
      if (a.text()->size() != b.text()->size()) return false;
      TRY(meter.spend_text(a.text()->size()));
      return a.bytes() == b.bytes();
    }
    case Datum::Kind::sequence:
      return sequences_equal(*a.sequence(), *b.sequence(), meter);
    case Datum::Kind::dict:
      return dicts_equal(*a.dict(), *b.dict(), meter);
    default:
      return a.same_as(b);
  }
}

// Texts compare by code points, sequences element by element.
Result<bool> less(const Datum& a, const Datum& b, RenderMeter& meter) {
  TRY(meter.spend());
  if (a.is_number() && b.is_number()) {
    TRY(spend_whole(a, meter));
    return number_order(a, b) < 0;
  }
  if (a.is_text() && b.is_text()) {
    TRY(meter.spend_text(std::min(a.text()->size(), b.text()->size())));
    return a.bytes() < b.bytes();
  }
  if (a.is_undefined() || b.is_undefined())
    return fail(Code::corrupt, "{}", (a.is_undefined() ? a : b).undefined_message());
  if (a.is(Datum::Kind::sequence) && b.is(Datum::Kind::sequence)) {
    const DatumSequence& x = *a.sequence();
    const DatumSequence& y = *b.sequence();
    if ((x.is_list() && y.is_list()) || (x.is_tuple() && y.is_tuple())) {
      for (size_t i = 0; i < x.items.size() && i < y.items.size(); ++i) {
        if (!TRY(equal(x.items[i], y.items[i], meter))) return less(x.items[i], y.items[i], meter);
      }
      return x.items.size() < y.items.size();
    }
  }
  return fail(Code::corrupt, "'<' not supported between instances of '{}' and '{}'", type_name(a),
              type_name(b));
}

}  // namespace ruv::jinja
