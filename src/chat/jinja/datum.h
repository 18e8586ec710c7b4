// Datum: a value of a template expression, with Python's kinds and Python's rules for truth,
// equality, order and printing.
//
// Scalars are stored in the variant; texts, sequences and dicts are shared and immutable once made,
// so copying a Datum is cheap. The exceptions are generators, which are consumed, and namespaces.
// Texts remember which of their bytes came from the user (MarkedText). Values carry their depth of
// nesting, which is limited when they are made, so that recursion over a value is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/jinja/marked_text.h"
#include "chat/jinja/meter.h"

namespace ruv::jinja {

class Datum;
class DatumDict;
class TemplateObject;
struct DatumSequence;
struct WideInteger;

using TextPtr = std::shared_ptr<const MarkedText>;
using SequencePtr = std::shared_ptr<DatumSequence>;
using DictPtr = std::shared_ptr<const DatumDict>;
using ObjectPtr = std::shared_ptr<TemplateObject>;
// A whole number that does not fit 64 bits; whole_number.h says what it can do.
using WidePtr = std::shared_ptr<const WideInteger>;

class Datum {
 public:
  // In the order of the variant below.
  enum class Kind : uint8_t {
    undefined,
    none,
    boolean,
    integer,
    real,
    text,
    sequence,
    dict,
    object,
    wide_integer
  };

  // Undefined without a message.
  Datum() : value_(std::shared_ptr<const std::string>()) {}
  explicit Datum(bool value) : value_(value) {}
  explicit Datum(int64_t value) : value_(value) {}
  explicit Datum(double value) : value_(value) {}
  explicit Datum(MarkedText text) : value_(std::make_shared<const MarkedText>(std::move(text))) {}
  explicit Datum(TextPtr text) : value_(std::move(text)) {}
  explicit Datum(SequencePtr sequence) : value_(std::move(sequence)) {}
  explicit Datum(DictPtr dict) : value_(std::move(dict)) {}
  explicit Datum(ObjectPtr object) : value_(std::move(object)) {}
  explicit Datum(WidePtr wide) : value_(std::move(wide)) {}
  Datum(const char*) = delete;

  // Python's None.
  static Datum none();
  // Text written by the template.
  static Datum text(std::string_view bytes);
  // An undefined value; using it fails with `message`.
  static Datum undefined(std::string message);

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_none() const { return is(Kind::none); }
  bool is_text() const { return is(Kind::text); }
  bool is_number() const { return is_whole() || is(Kind::real); }
  // An int of any size or a bool, which Python counts as an int.
  bool is_whole() const { return is_integral() || is(Kind::wide_integer); }
  // A whole number that fits 64 bits.
  bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }

  // Each requires the matching kind.
  const std::string& undefined_message() const;
  bool boolean() const { return std::get<bool>(value_); }
  int64_t integer() const;  // integer or boolean
  // Any number; the nearest double to a whole one, infinite when that is too large.
  double real() const;
  const TextPtr& text() const { return std::get<TextPtr>(value_); }
  const std::string& bytes() const { return text()->bytes(); }
  const SequencePtr& sequence() const { return std::get<SequencePtr>(value_); }
  const DictPtr& dict() const { return std::get<DictPtr>(value_); }
  const ObjectPtr& object() const { return std::get<ObjectPtr>(value_); }
  const WidePtr& wide() const { return std::get<WidePtr>(value_); }

  // Python's `is`: the same shared object, or an equal scalar of the same kind.
  bool same_as(const Datum& other) const { return value_ == other.value_; }

 private:
  std::variant<std::shared_ptr<const std::string>, std::monostate, bool, int64_t, double, TextPtr,
               SequencePtr, DictPtr, ObjectPtr, WidePtr>
      value_;
};

// The kinds of sequences, which differ in printing, indexing and equality.
enum class SequenceKind : uint8_t {
  list,
  tuple,
  group,      // a tuple with the names grouper and list, made by groupby
  range,      // start, stop and step are set
  generator,  // can be walked once
  keys,
  values,
  items,
};

// Returns the next item, nothing at the end.
using DrawItem = std::function<Result<std::optional<Datum>>()>;

// A list, tuple, range, generator or view of a dict. `items` holds the items of all but ranges,
// which are computed, and of generators, which are drawn.
struct DatumSequence {
  SequenceKind kind = SequenceKind::list;
  std::vector<Datum> items;
  bool from_user = false;  // the brackets printed around it count as the user's
  int depth = 1;           // 1 + the deepest item
  size_t taken = 0;        // generator: items already walked
  DrawItem draw;           // generator: makes an item when it is asked for; null: `items` has all
  bool drawing = false;    // it is being asked
  int64_t start = 0, stop = 0, step = 1;

  bool is_list() const { return kind == SequenceKind::list; }
  bool is_tuple() const { return kind == SequenceKind::tuple || kind == SequenceKind::group; }
  bool is_indexable() const { return is_list() || is_tuple() || kind == SequenceKind::range; }
};

// A dict that keeps the order of insertion; keys are compared as in Python (1 == 1.0 == True).
class DatumDict {
 public:
  using Entry = std::pair<Datum, Datum>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  int depth() const { return depth_; }

  const Datum* find(std::string_view key) const;
  // The value of a key, or null. Fails: corrupt, when the key cannot be hashed (a list, a dict).
  Result<const Datum*> find(const Datum& key, RenderMeter& meter) const;
  // Replaces the value of an equal key, or adds one. Fails: corrupt (the key), invalid (depth).
  Status set(Datum key, Datum value, RenderMeter& meter);

  bool from_user = false;

 private:
  // The index of an entry with an equal key.
  Result<std::optional<size_t>> position(const Datum& key, RenderMeter& meter) const;
  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // hash of a key → position
  int depth_ = 1;
};

// Fails: invalid, when the items are nested too deeply or the meter is spent.
Result<Datum> make_sequence(SequenceKind kind, std::vector<Datum> items, RenderMeter& meter,
                            bool from_user = false);
// Converts JSON. Texts, containers and their brackets count as the user's, except for "role" with
// one of the protocol's own words. Fails: invalid (too deep, too long).
Result<Datum> datum_from_json(const Json& json, RenderMeter& meter, int depth = 0);

// Python's name of the type, for errors: "str", "NoneType", "dict_items".
std::string type_name(const Datum& value);
// Python's bool(value).
bool is_true(const Datum& value);
// The depth of nesting: 0 for scalars and texts, 1 + the deepest item for containers.
int depth_of(const Datum& value);

// Python's ==. Fails: invalid, when the meter is spent.
Result<bool> equal(const Datum& a, const Datum& b, RenderMeter& meter);
// Python's a < b. Fails: corrupt, when the kinds have no order.
Result<bool> less(const Datum& a, const Datum& b, RenderMeter& meter);

// Python's str(value): a text is itself, undefined is empty.
Result<TextPtr> text_of(const Datum& value, RenderMeter& meter);
// Python's repr(value), appended. `from_user` marks scalars inside the user's containers.
Status append_repr(MarkedText& out, const Datum& value, RenderMeter& meter, bool from_user,
                   int depth = 0);
// Python's repr of a float: the shortest digits that read back the same.
std::string real_repr(double value);

}  // namespace ruv::jinja
