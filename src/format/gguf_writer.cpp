// Writing GGUF: entries are collected in memory, tensors go straight to the file.
#include "format/gguf_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ruv {
namespace {

// Value types of the format.
constexpr uint32_t kU8 = 0, kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kText = 8, kArray = 9,
                   kU64 = 10, kI64 = 11, kF64 = 12;

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

// Length, then bytes.
void put_text(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

// Rounded up to the alignment.
uint64_t padded(uint64_t offset) {
  return (offset + GgufWriter::kAlignment - 1) / GgufWriter::kAlignment * GgufWriter::kAlignment;
}

template <class T>
bool fits(int64_t value) {
  return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
         value <= static_cast<int64_t>(std::numeric_limits<T>::max());
}

// Whether a double survives a trip through float32.
bool is_exact_f32(double value) {
  return !(std::abs(value) <= double{std::numeric_limits<float>::max()}) ||
         static_cast<double>(static_cast<float>(value)) == value;
}

}  // namespace

Result<GgufWriter> GgufWriter::create(const std::string& path, FileTarget target) {
  return GgufWriter(TRY(FileWriter::create(path, std::move(target))));
}

// Key and type; the value follows.
void GgufWriter::begin_entry(std::string_view key, uint32_t type) {
  CHECK(data_start_ == 0);
  put_text(entries_, key);
  put(entries_, type);
  ++n_entries_;
}

// An array's element type and length.
void GgufWriter::begin_array(std::string_view key, uint32_t element_type, size_t n) {
  begin_entry(key, kArray);
  put(entries_, element_type);
  put<uint64_t>(entries_, n);
}

void GgufWriter::add_u32(std::string_view key, uint32_t value) {
  begin_entry(key, kU32);
  put(entries_, value);
}
void GgufWriter::add_f32(std::string_view key, float value) {
  begin_entry(key, kF32);
  put(entries_, value);
}
void GgufWriter::add_bool(std::string_view key, bool value) {
  begin_entry(key, kBool);
  put<uint8_t>(entries_, value ? 1 : 0);
}
void GgufWriter::add_text(std::string_view key, std::string_view value) {
  begin_entry(key, kText);
  put_text(entries_, value);
}
void GgufWriter::add_texts(std::string_view key, std::span<const std::string> values) {
  begin_array(key, kText, values.size());
  for (const std::string& value : values) put_text(entries_, value);
}
void GgufWriter::add_i32s(std::string_view key, std::span<const int32_t> values) {
  begin_array(key, kI32, values.size());
  for (const int32_t value : values) put(entries_, value);
}
void GgufWriter::add_bytes(std::string_view key, Bytes values) {
  begin_array(key, kU8, values.size());
  entries_ += as_text(values);
}
void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  begin_array(key, kF32, values.size());
  for (const float value : values) put(entries_, value);
}

void GgufWriter::add(std::string_view key, const MetaValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return add_bool(key, *truth);
  if (const auto* text = std::get_if<std::string>(&value)) return add_text(key, *text);
  if (const auto* number = std::get_if<double>(&value)) {
    if (is_exact_f32(*number)) return add_f32(key, static_cast<float>(*number));
    begin_entry(key, kF64);
    return put(entries_, *number);
  }
  if (const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(&value)) {
    return add_array(key, **array);
  }
  const int64_t integer = std::get<int64_t>(value);
  if (fits<uint32_t>(integer)) return add_u32(key, static_cast<uint32_t>(integer));
  if (fits<int32_t>(integer)) {
    begin_entry(key, kI32);
    return put(entries_, static_cast<int32_t>(integer));
  }
  begin_entry(key, integer > 0 ? kU64 : kI64);
  put(entries_, integer);
}

void GgufWriter::add_array(std::string_view key, const MetaArray& array) {
  if (!array.bools.empty()) {
    begin_array(key, kBool, array.bools.size());
    for (const bool truth : array.bools) put<uint8_t>(entries_, truth ? 1 : 0);
  } else if (!array.integers.empty()) {
    const bool narrow = std::all_of(array.integers.begin(), array.integers.end(), fits<int32_t>);
    begin_array(key, narrow ? kI32 : kI64, array.integers.size());
    for (const int64_t integer : array.integers) {
      narrow ? put(entries_, static_cast<int32_t>(integer)) : put(entries_, integer);
    }
  } else if (!array.numbers.empty()) {
    const bool narrow = std::all_of(array.numbers.begin(), array.numbers.end(), is_exact_f32);
    begin_array(key, narrow ? kF32 : kF64, array.numbers.size());
    for (const double number : array.numbers) {
      narrow ? put(entries_, static_cast<float>(number)) : put(entries_, number);
    }
  } else {
    add_texts(key, array.strings);
  }
}

// Offsets are assigned in the order of declaration.
void GgufWriter::declare_tensor(std::string_view name, DType dtype,
                                std::span<const int64_t> shape) {
  CHECK(data_start_ == 0);
  const Format& format = format_of(dtype);
  int64_t n = 1;
  for (const int64_t length : shape) n *= length;
  CHECK(shape.empty() || shape.back() % format.block_size == 0);
  const int64_t n_columns = shape.empty() ? 1 : shape.back();
  const int64_t n_rows = n_columns == 0 ? 0 : n / n_columns;
  const auto n_bytes = static_cast<uint64_t>(n_rows * format.bytes_of(n_columns));
  tensors_.push_back(
      {std::string(name), dtype, {shape.begin(), shape.end()}, n_bytes, end_of_tensors_});
  end_of_tensors_ = padded(end_of_tensors_ + n_bytes);
}

Status GgufWriter::pad_to(uint64_t offset) {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  return file_.write({kZeros.data(), static_cast<size_t>(offset - file_.offset())});
}

// Writes header, metadata and tensor infos, padded to the alignment.
Status GgufWriter::begin_tensors() {
  CHECK(data_start_ == 0);
  std::string head = "GGUF";
  put<uint32_t>(head, 3);
  put<uint64_t>(head, tensors_.size());
  put<uint64_t>(head, n_entries_);
  TRY(file_.write(as_bytes(head)));
  TRY(file_.write(as_bytes(entries_)));
  std::string infos;
  for (const Declared& tensor : tensors_) {
    put_text(infos, tensor.name);
    put<uint32_t>(infos, static_cast<uint32_t>(tensor.shape.size()));
    for (auto length = tensor.shape.rbegin(); length != tensor.shape.rend(); ++length) {
      put<uint64_t>(infos, static_cast<uint64_t>(*length));
    }
    put<uint32_t>(infos, static_cast<uint32_t>(tensor.dtype));
    put<uint64_t>(infos, tensor.offset);
  }
  TRY(file_.write(as_bytes(infos)));
  data_start_ = padded(file_.offset());
  return pad_to(data_start_);
}

void GgufWriter::begin_piece(uint64_t n) {
  CHECK(data_start_ != 0);
  while (current_ < tensors_.size() && tensors_[current_].n_bytes == 0) ++current_;
  CHECK(current_ < tensors_.size() && n <= tensors_[current_].n_bytes - written_);
}

// Pads after the last byte of each tensor.
Status GgufWriter::end_piece(uint64_t n) {
  written_ += n;
  if (written_ < tensors_[current_].n_bytes) return {};
  ++current_;
  written_ = 0;
  // The last tensor is padded too: some readers map whole aligned pieces.
  return pad_to(padded(file_.offset()));
}

Status GgufWriter::write(Bytes bytes) {
  if (bytes.empty()) return {};
  begin_piece(bytes.size());
  TRY(file_.write(bytes));
  return end_piece(bytes.size());
}

Status GgufWriter::skip(uint64_t n) {
  if (n == 0) return {};
  begin_piece(n);
  file_.skip(n);
  return end_piece(n);
}

Status GgufWriter::commit() {
  CHECK(data_start_ != 0 && written_ == 0);
  CHECK(file_.offset() == data_start_ + end_of_tensors_);
  return file_.commit();
}

}  // namespace ruv
