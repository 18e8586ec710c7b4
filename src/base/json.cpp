// Blocks of texts, arrays and objects: a head, then what it holds, in one allocation.
#include "base/json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <new>

#include "base/allocation.h"
#include "base/keyed_hash.h"
#include "base/number_text.h"

namespace ruv {

namespace {

thread_local uint64_t n_key_comparisons = 0;

// Objects with more members than this have an index.
constexpr size_t kMostUnindexed = 16;
constexpr size_t kMostInBlock = UINT32_MAX / 4;

// More than `capacity`, such that growing one by one takes linear time.
size_t grown(size_t capacity) { return std::max(2 * capacity, size_t{2}); }

// Moves n values to memory that holds none.
void relocate(Json* from, size_t n, Json* to) noexcept {
  for (size_t i = 0; i < n; ++i) new (to + i) Json(std::move(from[i]));
}

const Json& null_value() {
  static const Json kNull;
  return kNull;
}

}  // namespace

// Length, then bytes.
struct JsonTextBlock {
  size_t size;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

// Size and capacity, then elements.
struct JsonArrayBlock {
  uint32_t size = 0;
  uint32_t capacity = 0;

  Json* items() { return reinterpret_cast<Json*>(this + 1); }
  static JsonArrayBlock* create(size_t capacity) {
    void* memory = operator new(sizeof(JsonArrayBlock) + capacity * sizeof(Json));
    return new (memory) JsonArrayBlock{0, static_cast<uint32_t>(capacity)};
  }
};

// Pairs of key and value in the order of insertion; then, where there may be many, an open hash
// table of 1 + the number of a pair, at most three quarters full.
struct JsonObjectBlock {
  uint32_t size = 0;
  uint32_t capacity = 0;

  Json* pairs() { return reinterpret_cast<Json*>(this + 1); }
  uint32_t* slots() { return reinterpret_cast<uint32_t*>(pairs() + 2 * size_t{capacity}); }
  static size_t n_slots(size_t capacity) {
    return capacity <= kMostUnindexed ? 0 : std::bit_ceil(capacity + capacity / 3 + 1);
  }
  static JsonObjectBlock* create(size_t capacity);
  // The number of the pair with this key; `size` where there is none. `slot` becomes the one that
  // has it or that would take it.
  uint32_t find(std::string_view key, uint32_t*& slot);
  void build_index();
};

JsonObjectBlock* JsonObjectBlock::create(size_t capacity) {
  const size_t n = n_slots(capacity);
  void* memory = operator new(sizeof(JsonObjectBlock) + 2 * capacity * sizeof(Json) +
                              n * sizeof(uint32_t));
  auto* block = new (memory) JsonObjectBlock{0, static_cast<uint32_t>(capacity)};
  std::fill_n(block->slots(), n, 0U);
  return block;
}

// Compares keys one by one, or probes the index.
uint32_t JsonObjectBlock::find(std::string_view key, uint32_t*& slot) {
  slot = nullptr;
  const size_t n = n_slots(capacity);
  if (n == 0) {
    uint32_t i = 0;
    while (i < size && pairs()[2 * size_t{i}].text() != key) ++i;
    n_key_comparisons += i;
    return i;
  }
  for (size_t at = keyed_hash(key);; ++at) {
    slot = slots() + (at & (n - 1));
    if (*slot == 0) return size;
    ++n_key_comparisons;
    if (pairs()[2 * size_t{*slot - 1}].text() == key) return *slot - 1;
  }
}

// Enters all pairs again, after growth or a removal.
void JsonObjectBlock::build_index() {
  const size_t n = n_slots(capacity);
  std::fill_n(slots(), n, 0U);
  if (n == 0) return;
  for (uint32_t i = 0; i < size; ++i) {  // the keys differ
    size_t at = keyed_hash(pairs()[2 * size_t{i}].text()) & (n - 1);
    while (slots()[at] != 0) at = (at + 1) & (n - 1);
    slots()[at] = i + 1;
  }
}

uint64_t json_key_comparisons() { return n_key_comparisons; }

Json Json::text_of_kind(Kind kind, std::string_view text) {
  Json json;
  if (text.size() <= kInlineText) {
    std::copy(text.begin(), text.end(), json.bytes_.begin());
    json.bytes_[kInlineText] = static_cast<unsigned char>(text.size());
  } else {
    auto* block =
        new (operator new(sizeof(JsonTextBlock) + text.size())) JsonTextBlock{text.size()};
    std::copy(text.begin(), text.end(), block->bytes());
    json.store(block);
    json.bytes_[kInlineText] = kHeapText;
  }
  json.kind_ = kind;
  return json;
}

Json::Json(std::string_view text) : Json(text_of_kind(Kind::string, text)) {}

// Braces around pairs that begin with a text make an object.
Json::Json(List list) : Json(Kind::array) {
  const bool is_object = std::ranges::all_of(list, [](const Item& item) {
    const Json& pair = item.value;
    return pair.is_array() && pair.size() == 2 && pair[0].is_string();
  });
  if (!is_object) {
    *this = array(list);
    return;
  }
  kind_ = Kind::object;
  reserve_members(list.size());
  for (const Item& item : list) {
    Json* pair = item.value.begin();
    *insert(std::move(pair[0])).first = std::move(pair[1]);
  }
}

Json Json::array(List list) {
  Json json(Kind::array);
  json.reserve_items(list.size());
  for (const Item& item : list) json.push_back(std::move(item.value));
  return json;
}

Json Json::array_taking(std::span<Json> items) {
  Json json(Kind::array);
  json.reserve_items(items.size());
  if (items.empty()) return json;
  relocate(items.data(), items.size(), json.items_block()->items());
  json.items_block()->size = static_cast<uint32_t>(items.size());
  return json;
}

Json Json::object_taking(std::span<Json> pairs) {
  Json json(Kind::object);
  json.reserve_members(pairs.size() / 2);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    *json.insert(std::move(pairs[i])).first = std::move(pairs[i + 1]);
  }
  return json;
}

Json Json::big_integer(std::string_view digits) {
  const size_t sign = digits.starts_with('-') ? 1 : 0;
  const std::string_view rest = digits.substr(sign);
  CHECK(!rest.empty() && std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; }));
  return text_of_kind(Kind::big_integer, digits);
}

Json::Json(const Json& other) : bytes_(other.bytes_), kind_(other.kind_) {
  if (!other.on_heap()) return;
  kind_ = Kind::null;
  copy_heap(other);
}

// Copies the allocation of `other` element by element.
void Json::copy_heap(const Json& other) {
  if (other.has_text()) {
    *this = text_of_kind(other.kind_, other.text());
    return;
  }
  // Made complete before it becomes this value's: where memory ends, it frees what it has.
  Json copy(other.kind_);
  if (other.is_array()) {
    copy.reserve_items(other.size());
    for (const Json& item : other) copy.push_back(item);
  } else {
    const auto [pairs, n] = other.members();
    copy.reserve_members(n);
    for (size_t i = 0; i < n; ++i) *copy.insert(Json(pairs[2 * i])).first = pairs[2 * i + 1];
  }
  *this = std::move(copy);
}

void Json::release() noexcept {
  if (is_array()) {
    std::destroy_n(items_block()->items(), items_block()->size);
  } else if (is_object()) {
    std::destroy_n(members_block()->pairs(), 2 * size_t{members_block()->size});
  }
  operator delete(load<void*>());
}

std::string_view Json::type_name() const {
  switch (kind_) {
    case Kind::object:
      return "object";
    case Kind::array:
      return "array";
    case Kind::string:
      return "string";
    case Kind::boolean:
      return "boolean";
    case Kind::null:
      return "null";
    default:
      return "number";
  }
}

// The nearest double, of any kind of number.
double Json::number() const {
  switch (kind_) {
    case Kind::integer:
      return static_cast<double>(load<int64_t>());
    case Kind::unsigned_integer:
      return static_cast<double>(load<uint64_t>());
    case Kind::real:
      return load<double>();
    default: {
      CHECK(is_big_integer());
      const std::string_view digits = text();
      double value = 0;
      const auto [end, error] = read_number(digits, value);
      if (error == std::errc()) return value;
      return digits.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
    }
  }
}

// A null counts as empty.
size_t Json::size() const {
  if (is_object()) return members().second;
  return elements().size();
}

bool Json::empty() const {
  if (is_string()) return text().empty();
  if (is_array() || is_object()) return size() == 0;
  return is_null();
}

std::span<const Json> Json::elements() const {
  CHECK(is_array() || is_null());
  if (is_null() || items_block() == nullptr) return {};
  return {items_block()->items(), items_block()->size};
}

std::span<Json> Json::elements() {
  const std::span<const Json> items = std::as_const(*this).elements();
  return {const_cast<Json*>(items.data()), items.size()};
}

const Json& Json::at(size_t index) const {
  const std::span<const Json> items = elements();
  CHECK(index < items.size());
  return items[index];
}

// Out of range gives the shared null.
const Json& Json::element(size_t index) const {
  return is_array() && index < size() ? elements()[index] : null_value();
}

void Json::reserve_items(size_t n) {
  JsonArrayBlock* old = items_block();
  if (n == 0 || (old != nullptr && n <= old->capacity)) return;
  if (n > kMostInBlock) throw_out_of_memory();
  JsonArrayBlock* block = JsonArrayBlock::create(n);
  if (old != nullptr) {
    relocate(old->items(), old->size, block->items());
    block->size = old->size;
    operator delete(old);
  }
  store(block);
}

// Amortised constant time.
void Json::push_back(Json value) {
  if (is_null()) *this = array();
  CHECK(is_array());
  JsonArrayBlock* block = items_block();
  if (block == nullptr || block->size == block->capacity) {
    const size_t capacity = block == nullptr ? 0 : block->capacity;
    reserve_items(grown(capacity));
    block = items_block();
  }
  new (block->items() + block->size) Json(std::move(value));
  ++block->size;
}

// Moves the later elements down.
void Json::erase(size_t index) {
  const std::span<Json> items = elements();
  CHECK(index < items.size());
  std::move(items.begin() + static_cast<std::ptrdiff_t>(index) + 1, items.end(),
            items.begin() + static_cast<std::ptrdiff_t>(index));
  std::destroy_at(&items.back());  // it has moved, or is the one that leaves
  --items_block()->size;
}

std::pair<const Json*, size_t> Json::members() const {
  CHECK(is_object());
  JsonObjectBlock* block = members_block();
  if (block == nullptr) return {nullptr, 0};
  return {block->pairs(), block->size};
}

void Json::reserve_members(size_t n) {
  JsonObjectBlock* old = members_block();
  if (n == 0 || (old != nullptr && n <= old->capacity)) return;
  if (n > kMostInBlock) throw_out_of_memory();
  JsonObjectBlock* block = JsonObjectBlock::create(n);
  if (old != nullptr) {
    relocate(old->pairs(), 2 * size_t{old->size}, block->pairs());
    block->size = old->size;
    block->build_index();
    operator delete(old);
  }
  store(block);
}

// A known key keeps its place.
std::pair<Json*, bool> Json::insert(Json&& key) {
  JsonObjectBlock* block = members_block();
  uint32_t* slot = nullptr;
  if (block != nullptr) {
    const uint32_t found = block->find(key.text(), slot);
    if (found < block->size) return {block->pairs() + 2 * size_t{found} + 1, false};
  }
  if (block == nullptr || block->size == block->capacity) {
    const size_t capacity = block == nullptr ? 0 : block->capacity;
    reserve_members(grown(capacity));
    block = members_block();
    block->find(key.text(), slot);
  }
  Json* pair = block->pairs() + 2 * size_t{block->size};
  new (pair) Json(std::move(key));
  new (pair + 1) Json();
  ++block->size;
  if (slot != nullptr) *slot = block->size;
  return {pair + 1, true};
}

const Json* Json::find(std::string_view key) const {
  if (!is_object() || members_block() == nullptr) return nullptr;
  uint32_t* slot = nullptr;
  const uint32_t found = members_block()->find(key, slot);
  if (found == members_block()->size) return nullptr;
  return members_block()->pairs() + 2 * size_t{found} + 1;
}

const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  CHECK(found != nullptr);
  return *found;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  return found != nullptr ? *found : null_value();
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  CHECK(is_object());
  if (Json* found = find(key)) return *found;
  return *insert(Json(key)).first;
}

// Members of `other` replace those of the same name.
void Json::update(const Json& other) {
  if (is_null()) *this = object();
  CHECK(is_object());
  for (const auto& [key, value] : other.items()) (*this)[key] = value;
}

// Keeps the order of the other members.
bool Json::erase(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return false;
  JsonObjectBlock* block = members_block();
  Json* const end = block->pairs() + 2 * size_t{block->size};
  Json* const pair = const_cast<Json*>(found) - 1;
  std::move(pair + 2, end, pair);
  std::destroy_n(end - 2, 2);
  --block->size;
  block->build_index();
  return true;
}

// Numbers of different kinds compare as doubles.
bool Json::equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_big_integer() && b.is_big_integer()) return a.text() == b.text();
    if (a.kind_ == b.kind_ && !a.is_number_float()) return a.bytes_ == b.bytes_;
    if (a.is_number_integer() && b.is_number_integer()) return false;  // of one sign each
    return a.number() == b.number();
  }
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return a.load<bool>() == b.load<bool>();
    case Kind::string:
      return a.text() == b.text();
    case Kind::array:
      return std::ranges::equal(a.elements(), b.elements());
    default: {
      const auto [pairs, n] = a.members();
      const auto [others, n_others] = b.members();
      return std::equal(pairs, pairs + 2 * n, others, others + 2 * n_others);
    }
  }
}

}  // namespace ruv
