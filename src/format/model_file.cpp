// The parts that all model files share: choosing the reader by what is at the path, and lookups.
#include "format/model_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "format/ggmf.h"
#include "format/gguf.h"
#include "format/other_containers.h"
#include "format/safetensors.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

std::string_view kind_of(const MetaValue& value) {
  constexpr std::array<std::string_view, 5> kNames = {"a truth value", "an integer", "a number",
                                                      "text", "an array"};
  return kNames[value.index()];
}

tl::unexpected<Status> absent(const ModelFile& file, std::string_view key) {
  return fail(Code::not_found, "{}: no value '{}' (architecture '{}')", file.path(),
              quoted_name(file.shown_key(key)), quoted_name(file.architecture()));
}

tl::unexpected<Status> of_another_type(const ModelFile& file, std::string_view key,
                                       std::string_view wanted, const MetaValue& value) {
  return fail(Code::corrupt, "{}: value '{}' is {}, expected {}", file.path(),
              quoted_name(file.shown_key(key)), kind_of(value), wanted);
}

}  // namespace

int64_t TensorInfo::n_elements() const {
  int64_t n = 1;
  for (const int64_t length : shape) n *= length;
  return n;
}

int64_t TensorInfo::n_rows() const {
  return shape.empty() || shape.back() == 0 ? 1 : n_elements() / shape.back();
}

int64_t TensorInfo::n_bytes() const {
  const Format& format = format_of(dtype);
  return shape.empty() ? format.bytes_of(1) : n_rows() * format.bytes_of(shape.back());
}

int64_t TensorInfo::row_offset(int64_t row) const {
  if (steps.empty()) {
    return maker != nullptr ? first_row + row : row * format_of(dtype).bytes_of(shape.back());
  }
  int64_t offset = first_row;
  for (size_t i = shape.size() - 1; i-- > 0; row /= shape[i]) offset += row % shape[i] * steps[i];
  return offset;
}

bool TensorInfo::has_whole_rows() const {
  return maker == nullptr && (steps.empty() || steps.back() == format_of(dtype).block_bytes);
}

void TensorInfo::copy_row(int64_t row, std::byte* to) const {
  if (maker != nullptr) return maker->make_row(row_offset(row), to);
  const Format& format = format_of(dtype);
  const std::byte* from = bytes.data() + row_offset(row);
  const int64_t n = shape.back();
  if (has_whole_rows()) {
    std::memcpy(to, from, static_cast<size_t>(format.bytes_of(n)));
  } else {
    const auto size = static_cast<size_t>(format.block_bytes);
    for (int64_t i = 0; i < n; ++i, to += size, from += steps.back()) std::memcpy(to, from, size);
  }
}

void TensorInfo::decode_row(int64_t row, float* to) const {
  const Format& format = format_of(dtype);
  const int64_t n = shape.back();
  if (has_whole_rows()) return format.decode(bytes.data() + row_offset(row), to, n);
  std::vector<std::byte> packed(static_cast<size_t>(format.bytes_of(n)));
  copy_row(row, packed.data());
  format.decode(packed.data(), to, n);
}

Result<std::unique_ptr<ModelFile>> ModelFile::open(const std::string& path,
                                                   const ModelFileOptions& options) {
  if (is_directory(path)) return open_safetensors(path, options);
  if (path.ends_with(".safetensors") || path.ends_with(".json")) {
    return fail(Code::invalid, "{}: give the folder that also holds config.json instead", path);
  }
  // The file is opened once more for its first bytes, which say what it is.
  const MappedFile file = TRY(MappedFile::open(path));
  TRY(refuse_other_container(file.bytes(), path));
  return looks_like_ggmf(file.bytes()) ? open_ggmf(path, options) : open_gguf(path, options);
}

Result<const FamilyRecord*> ModelFile::known_family() const {
  if (family_ != nullptr) return family_;
  const std::vector<std::string_view> nearest = nearest_families(architecture_);
  if (nearest.empty()) {
    return fail(Code::unsupported, "{}: architecture '{}' is not supported; known:{}", path_,
                architecture_, known_families());
  }
  return fail(Code::unsupported, "{}: architecture '{}' is not supported; the nearest that are: {}",
              path_, architecture_, fmt::join(nearest, ", "));
}

RopeOrder ModelFile::rope_order() const {
  const bool moved = family_ != nullptr && (family_->neighbour_pairs ||
                                            (container_ == "gguf" && family_->neighbour_rows));
  return moved ? RopeOrder::neighbours : RopeOrder::halves;
}

QkvRows ModelFile::qkv_rows() const {
  const bool own = container_ != "gguf" && family_ != nullptr;
  return own ? family_->qkv_rows : QkvRows::one_after_another;
}

bool ModelFile::norms_minus_one() const {
  return container_ != "gguf" && family_ != nullptr && family_->norms_minus_one;
}

std::string ModelFile::shown_key(std::string_view key) const {
  const auto name = key_names_.find(key);
  if (name != key_names_.end() && !name->second.empty()) return name->second;
  if (container_ != "gguf" || metadata_.contains(key)) return std::string(key);
  return fmt::format("{}.{}", architecture_, key);
}

const MetaValue* ModelFile::find(std::string_view key) const {
  const auto own = metadata_.find(fmt::format("{}.{}", architecture_, key));
  if (own != metadata_.end()) return &own->second;
  const auto plain = metadata_.find(key);
  return plain == metadata_.end() ? nullptr : &plain->second;
}

Result<int64_t> ModelFile::integer(std::string_view key) const {
  const MetaValue* value = find(key);
  if (value == nullptr) return absent(*this, key);
  if (const auto* integer = std::get_if<int64_t>(value)) return *integer;
  return of_another_type(*this, key, "an integer", *value);
}

Result<std::vector<int64_t>> ModelFile::integers(std::string_view key) const {
  const MetaValue* const value = find(key);
  const auto* const array =
      value == nullptr ? nullptr : std::get_if<std::shared_ptr<const MetaArray>>(value);
  if (array == nullptr) return std::vector<int64_t>{TRY(integer(key))};
  if ((*array)->integers.size() == (*array)->size()) return (*array)->integers;
  return of_another_type(*this, key, "integers", *value);
}

Result<std::vector<double>> ModelFile::numbers(std::string_view key, size_t n) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return absent(*this, key);
  const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(value);
  if (array != nullptr && (*array)->numbers.size() == n) return (*array)->numbers;
  return fail(Code::corrupt, "{}: '{}' must hold {} numbers", path_, shown_key(key), n);
}

Result<double> ModelFile::number(std::string_view key) const {
  const MetaValue* value = find(key);
  if (value == nullptr) return absent(*this, key);
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return of_another_type(*this, key, "a number", *value);
}

Result<double> ModelFile::number_or(std::string_view key, double otherwise) const {
  if (find(key) == nullptr) return otherwise;
  const double value = TRY(number(key));
  if (std::isfinite(value)) return value;
  return fail(Code::corrupt, "{}: '{}' is not a finite number", path_, shown_key(key));
}

Result<std::string> ModelFile::text(std::string_view key) const {
  const MetaValue* value = find(key);
  if (value == nullptr) return absent(*this, key);
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return of_another_type(*this, key, "text", *value);
}

const TensorInfo* ModelFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

void ModelFile::drop_pages() const {
  for (const MappedFile& file : files_) file.drop_pages();
}

void ModelFile::expect_read(const std::byte* at, Range after) const {
  constexpr int64_t kPiece = 1 << 20;
  const auto place = reinterpret_cast<uintptr_t>(at);
  for (const MappedFile& file : files_) {
    const Bytes all = file.bytes();
    const uintptr_t offset = place - reinterpret_cast<uintptr_t>(all.data());
    if (offset >= all.size()) continue;
    const Bytes rest = all.subspan(offset);
    const int64_t end = std::min<int64_t>(after.end, std::ssize(rest));
    for (int64_t begin = after.begin; begin < end; begin += kPiece) {
      const Bytes piece = rest.subspan(static_cast<size_t>(begin),
                                       static_cast<size_t>(std::min<int64_t>(kPiece, end - begin)));
      if (!MappedFile::is_in_memory(piece)) MappedFile::expect_read(piece);
    }
    return;
  }
}

Status ModelFile::index_tensors() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensor_index_.emplace(tensors_[i].name, i).second) {
      return fail(Code::corrupt, "{}: tensor '{}' appears twice", path_,
                  quoted_name(tensors_[i].name));
    }
  }
  return {};
}

}  // namespace ruv
