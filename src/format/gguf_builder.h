// GgufBuilder: the bytes of a GGUF file field by field, right or wrong, for tests. It remembers
// where every number that describes lengths and places stands, so that hostile tests can break
// each.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

class GgufBuilder {
 public:
  struct Field {
    size_t offset;
    size_t n_bytes;
    std::string name;
  };

  GgufBuilder(uint32_t version, uint64_t n_tensors, uint64_t n_entries) {
    bytes_ = "GGUF";
    number(version, "version");
    number(n_tensors, "tensor count");
    number(n_entries, "metadata count");
  }

  // A number that hostile tests replace.
  template <class T>
  GgufBuilder& number(T value, std::string name) {
    fields_.push_back({bytes_.size(), sizeof(T), std::move(name)});
    return raw(value);
  }
  template <class T>
  GgufBuilder& raw(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  GgufBuilder& string(std::string_view text, const std::string& name) {
    number(uint64_t{text.size()}, name + " length");
    bytes_ += text;
    return *this;
  }
  // Key and type; the value follows.
  GgufBuilder& key(std::string_view text, uint32_t type) {
    string(text, "key " + std::string(text));
    return number(type, "type of " + std::string(text));
  }
  GgufBuilder& text_entry(std::string_view name, std::string_view value) {
    return key(name, 8).string(value, std::string(name));
  }
  GgufBuilder& u32_entry(std::string_view name, uint32_t value) { return key(name, 4).raw(value); }
  template <class T>
  GgufBuilder& array_entry(std::string_view name, uint32_t type, const std::vector<T>& values) {
    key(name, 9).number(type, "element type").number(uint64_t{values.size()}, "array count");
    for (const T& value : values) raw(value);
    return *this;
  }
  GgufBuilder& strings_entry(std::string_view name, const std::vector<std::string>& values) {
    key(name, 9).number(uint32_t{8}, "element type").number(uint64_t{values.size()}, "array count");
    for (const std::string& value : values) string(value, "element");
    return *this;
  }
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                      uint64_t offset) {
    string(name, "tensor " + std::string(name));
    number(static_cast<uint32_t>(dims.size()), "n_dims");
    for (const uint64_t dim : dims) number(dim, "dim");
    return number(type, "tensor type").number(offset, "offset");
  }
  // Zeros up to a multiple of n, then `n_data` bytes 0, 1, 2, …
  GgufBuilder& data(size_t alignment, size_t n_data) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    for (size_t i = 0; i < n_data; ++i) bytes_ += static_cast<char>(i);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::string bytes_;
  std::vector<Field> fields_;
};

}  // namespace ruv
