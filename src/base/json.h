// JSON values and the checked way to read them.
//
// A value takes 16 bytes. Numbers, texts of up to 14 bytes and empty containers allocate nothing;
// other texts and containers are one allocation each. Destructors allocate nothing, so values can
// be freed when memory has run out. Members of objects keep the order of the text, which templates
// and schemas rely on; above 16 members an object carries a hash table under a key drawn at the
// start, so a client cannot choose names that collide. Nothing here throws except std::bad_alloc.
// Values are not synchronised: several threads may only read one.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json_fwd.h"
#include "base/result.h"

namespace ruv {

struct JsonArrayBlock;
struct JsonObjectBlock;
struct JsonTextBlock;

// Reading a member that does not exist: `find` returns null, const `operator[]` a null value, `at`
// and the typed getters fail a CHECK. Test external data with is_…(), find() and contains() before
// reading it with get<T>().
class Json {
 public:
  // The kinds of values. Integers keep their sign and width; only real numbers are rounded.
  enum class Kind : uint8_t {
    null,
    boolean,
    integer,           // below 0
    unsigned_integer,  // from 0 to 2^64 - 1
    real,
    big_integer,  // an integer that fits neither; its decimal digits are kept
    string,
    array,
    object,
  };
  // An element of a list in braces: {"name", value} or a value.
  struct Item;
  using List = std::initializer_list<Item>;
  // A member of an object. The name is fixed.
  template <class J>
  struct MemberOf {
    std::string_view key;
    J& value;
  };
  template <class J>
  class MemberRange;

  // Null, and values of the C++ types that JSON can hold.
  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  template <class T>
  requires std::same_as<T, bool> Json(T value)
  noexcept;
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Json(T value)
  noexcept;
  template <std::floating_point T>
  Json(T value) noexcept;
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <class T>
  Json(const std::vector<T>& items);
  // An object where every element is a pair that begins with a text, else an array.
  Json(List list);
  // Copies are deep; a moved-from value is null.
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json() {
    if (on_heap()) release();
  }

  // Empty containers.
  static Json array() noexcept { return Json(Kind::array); }
  static Json array(List list);
  static Json object() noexcept { return Json(Kind::object); }
  // An integer beyond 64 bits. Requires: decimal digits, perhaps after '-'.
  static Json big_integer(std::string_view digits);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return kind_ >= Kind::integer && kind_ <= Kind::big_integer; }
  // 64 bits, signed or not.
  bool is_number_integer() const {
    return kind_ == Kind::integer || kind_ == Kind::unsigned_integer;
  }
  bool is_number_unsigned() const { return kind_ == Kind::unsigned_integer; }
  bool is_number_float() const { return kind_ == Kind::real; }
  bool is_big_integer() const { return kind_ == Kind::big_integer; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  // "object", "array", "string", "boolean", "number" or "null".
  std::string_view type_name() const;

  // bool, integers that the number fits, floating-point numbers (the nearest to an integer),
  // std::string, and vectors of these. Requires: the value is one.
  template <class T>
  T get() const;
  // A string's bytes or a big integer's digits, valid while the value stays where and as it is.
  // Requires: the value is one of the two.
  std::string_view text() const;

  // Elements of an array, members of an object; 0 for null. Requires: it is one of these.
  size_t size() const;
  // No elements, members or bytes of text; true for null, false for numbers and booleans.
  bool empty() const;

  // Elements. Requires: an array (null has none).
  const Json* begin() const { return elements().data(); }
  const Json* end() const { return elements().data() + elements().size(); }
  Json* begin() { return elements().data(); }
  Json* end() { return elements().data() + elements().size(); }
  // The elements as a span; valid until the array changes.
  std::span<const Json> elements() const;
  std::span<Json> elements();
  const Json& at(size_t index) const;
  // Null where there is no such element.
  template <std::integral I>
  const Json& operator[](I index) const {
    return element(static_cast<size_t>(index));
  }
  template <std::integral I>
  Json& operator[](I index) {
    return const_cast<Json&>(at(static_cast<size_t>(index)));
  }
  // Requires: an array that is not empty.
  const Json& front() const { return at(size_t{0}); }
  const Json& back() const { return at(size() - 1); }
  Json& back() { return const_cast<Json&>(std::as_const(*this).back()); }
  // Requires: an array, or null, which becomes one.
  void push_back(Json value);
  // Requires: index < size().
  void erase(size_t index);

  // The member's value, or null. Linear time up to 16 members, a hash table above.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  Json& at(std::string_view key) { return const_cast<Json&>(std::as_const(*this).at(key)); }
  // Null where there is no such member.
  const Json& operator[](std::string_view key) const;
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  // Adds a null member where there is none. Requires: an object, or null, which becomes one.
  Json& operator[](std::string_view key);
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  // The member, or `otherwise` where there is none. Requires: it is a T.
  template <class T>
  T value(std::string_view key, T otherwise) const;
  std::string value(std::string_view key, const char* otherwise) const {
    return value(key, std::string(otherwise));
  }
  // Sets every member of `other`, an object. Requires: an object, or null, which becomes one.
  void update(const Json& other);
  // Whether there was such a member.
  bool erase(std::string_view key);
  // Requires: an object.
  MemberRange<const Json> items() const;
  MemberRange<Json> items();

  // The text of the value. indent < 0: on one line, without spaces. Bytes that are not UTF-8
  // become U+FFFD, numbers that are not finite null.
  std::string dump(int indent = -1) const;

  // Numbers are equal by value, objects where their members have the same order.
  friend bool operator==(const Json& a, const Json& b) { return equal(a, b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  friend class JsonTreeBuilder;
  friend struct JsonArrayBlock;
  friend struct JsonObjectBlock;

  static constexpr size_t kInlineText = 14;
  static constexpr unsigned char kHeapText = 0xFF;

  explicit Json(Kind kind) noexcept : kind_(kind) {}
  // Holds these elements, or these keys and values by turns; they are moved.
  static Json array_taking(std::span<Json> items);
  static Json object_taking(std::span<Json> pairs);
  static Json text_of_kind(Kind kind, std::string_view text);
  // Deep comparison.
  static bool equal(const Json& a, const Json& b);

  template <class T>
  T load() const {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    return value;
  }
  template <class T>
  void store(T value) {
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  bool has_text() const { return kind_ == Kind::string || kind_ == Kind::big_integer; }
  // Whether the value owns an allocation.
  bool on_heap() const {
    return kind_ >= Kind::big_integer &&
           (has_text() ? bytes_[kInlineText] == kHeapText : load<void*>() != nullptr);
  }
  // Frees the allocation of this value and of all below it. Recursive; JsonLimits bounds the depth.
  void release() noexcept;
  // Copies the allocation of another value, deeply.
  void copy_heap(const Json& other);
  // A shared null beyond the end.
  const Json& element(size_t index) const;
  // Any number as the nearest double.
  double number() const;
  // The allocation of an array or object; null when it is empty.
  JsonArrayBlock* items_block() const { return load<JsonArrayBlock*>(); }
  JsonObjectBlock* members_block() const { return load<JsonObjectBlock*>(); }
  // Room for n elements or members, so that adding them allocates nothing.
  void reserve_items(size_t n);
  void reserve_members(size_t n);
  // The member's value, and whether it is new. Takes the key where it is.
  std::pair<Json*, bool> insert(Json&& key);
  std::pair<const Json*, size_t> members() const;

  // A number, a pointer, or a short text whose length is the last byte.
  alignas(8) std::array<unsigned char, 15> bytes_{};
  Kind kind_ = Kind::null;
};

static_assert(sizeof(Json) == 16);

// Keys compared by look-ups of this thread so far: what tests hold linear.
uint64_t json_key_comparisons();

// Limits that are checked while parsing, before memory is allocated.
struct JsonLimits {
  int depth = 128;                  // of arrays and objects in each other
  size_t values = size_t{1} << 30;  // of any kind, keys not counted
};

// Memory that parsing takes at most, beyond the text itself and some pages, for each byte of it.
inline constexpr size_t kJsonBytesPerTextByte = 24;

// Parses a whole text, in time and memory linear in its length. The last of several members with
// one key counts, in the place of the first. `source` is quoted in errors together with the byte
// offset. Fails: corrupt, also where a limit is passed.
Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits = {});

// Converts anything that a Json can be made from, so that braces nest.
struct Json::Item {
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Item> && std::constructible_from<Json, T&&>)
      Item(T&& from)
      : value(std::forward<T>(from)) {}
  Item(List list) : value(list) {}

  mutable Json value;  // moved out of the list
};

// Members in the order of the text; a member is a pair of key and value.
template <class J>
class Json::MemberRange {
 public:
  // Walks pairs of key and value, which are neighbours in memory.
  class Iterator {
   public:
    explicit Iterator(J* at) : at_(at) {}
    MemberOf<J> operator*() const { return {at_[0].text(), at_[1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    J* at_;
  };
  MemberRange(J* first, size_t n) : first_(first), n_(n) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(first_ + 2 * n_); }

 private:
  J* first_;  // key, value, key, value, …
  size_t n_;
};

template <class T>
requires std::same_as<T, bool> Json::Json(T value)
noexcept : kind_(Kind::boolean) { store(value); }

template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) Json::Json(T value)
noexcept : kind_(std::cmp_less(value, 0) ? Kind::integer : Kind::unsigned_integer) {
  store(static_cast<int64_t>(value));
}

template <std::floating_point T>
Json::Json(T value) noexcept : kind_(Kind::real) {
  store(static_cast<double>(value));
}

template <class T>
Json::Json(const std::vector<T>& items) : kind_(Kind::array) {
  reserve_items(items.size());
  for (const T& item : items) push_back(Json(item));
}

template <class T>
T Json::get() const {
  if constexpr (std::same_as<T, bool>) {
    CHECK(is_boolean());
    return load<bool>();
  } else if constexpr (std::integral<T>) {
    CHECK(is_number_integer());
    const bool fits = is_number_unsigned() ? std::in_range<T>(load<uint64_t>())
                                           : std::in_range<T>(load<int64_t>());
    CHECK(fits);
    return static_cast<T>(load<uint64_t>());
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(number());
  } else if constexpr (std::same_as<T, std::string>) {
    CHECK(is_string());
    return std::string(text());
  } else {
    CHECK(is_array());
    T items;
    items.reserve(size());
    for (const Json& item : *this) items.push_back(item.get<typename T::value_type>());
    return items;
  }
}

template <class T>
T Json::value(std::string_view key, T otherwise) const {
  const Json* found = find(key);
  if (found == nullptr) return otherwise;
  if constexpr (std::same_as<T, Json>) {
    return *found;
  } else {
    return found->get<T>();
  }
}

inline Json::MemberRange<const Json> Json::items() const {
  const auto [first, n] = members();
  return {first, n};
}
inline Json::MemberRange<Json> Json::items() {
  const auto [first, n] = members();
  return {const_cast<Json*>(first), n};
}

// Moving copies 16 bytes.
inline Json::Json(Json&& other) noexcept : bytes_(other.bytes_), kind_(other.kind_) {
  other.kind_ = Kind::null;
}

inline Json& Json::operator=(Json other) noexcept {
  // Whole parts at once: of std::swap, which goes byte by byte, g++ 12 at -O3 made code that lost
  // values where std::stable_sort moved them.
  const auto bytes = std::exchange(other.bytes_, bytes_);
  const Kind kind = std::exchange(other.kind_, kind_);
  bytes_ = bytes;
  kind_ = kind;
  return *this;
}

inline std::string_view Json::text() const {
  CHECK(has_text());
  const size_t n = bytes_[kInlineText];
  if (n != kHeapText) return {reinterpret_cast<const char*>(bytes_.data()), n};
  const auto* block = load<const unsigned char*>();
  size_t size = 0;
  std::memcpy(&size, block, sizeof(size));
  return {reinterpret_cast<const char*>(block + sizeof(size)), size};
}

}  // namespace ruv
