// Finds pieces by name, and reads their numbers whatever their dtype.
#include "format/foreign/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "base/worker_pool.h"
#include "family/word_list.h"
#include "format/foreign/foreign.h"
#include "format/tensor_names.h"
#include "tensor/formats/float8.h"

namespace ruv {
namespace {

using ForeignReader = Status (*)(const ForeignConfig& config, ForeignCheckpoint& checkpoint);

Status leave_tensors(const ForeignConfig& /*config*/, ForeignCheckpoint& /*checkpoint*/) {
  return {};
}

ForeignReader reader_of(ForeignScheme scheme) {
  switch (scheme) {
    case ForeignScheme::gptq:
      return read_gptq_tensors;
    case ForeignScheme::awq:
    case ForeignScheme::awq_rows:
      return read_awq_tensors;
    case ForeignScheme::compressed_tensors:
      return read_compressed_tensors;
    case ForeignScheme::float8:
      return read_float8_tensors;
    case ForeignScheme::model_opt:
      return read_model_opt_tensors;
    case ForeignScheme::bitsandbytes:
      return read_bitsandbytes_tensors;
    case ForeignScheme::hqq:
      return read_hqq_tensors;
    case ForeignScheme::ternary:
      return read_bitnet_tensors;
    case ForeignScheme::in_names:
      break;
  }
  return leave_tensors;
}

}  // namespace

ForeignCheckpoint::ForeignCheckpoint(StoredTensors& stored) : stored_(&stored) {
  for (auto& [path, tensors] : stored) {
    for (SafetensorsTensor& tensor : tensors) places_.emplace(tensor.name, Place{&tensor, &path});
  }
}

std::vector<std::string> ForeignCheckpoint::modules_with(std::string_view piece) const {
  const std::string ending = fmt::format(".{}", piece);
  std::vector<std::string> modules;
  for (const auto& [name, place] : places_) {
    if (name.ends_with(ending) && !place.taken) {
      modules.push_back(name.substr(0, name.size() - ending.size()));
    }
  }
  return modules;
}

const SafetensorsTensor* ForeignCheckpoint::find(const std::string& module,
                                                 std::string_view piece) const {
  const auto found = places_.find(fmt::format("{}.{}", module, piece));
  return found == places_.end() || found->second.taken ? nullptr : found->second.tensor;
}

const SafetensorsTensor* ForeignCheckpoint::take(const std::string& module,
                                                 std::string_view piece) {
  const auto found = places_.find(fmt::format("{}.{}", module, piece));
  if (found == places_.end()) return nullptr;
  found->second.taken = true;
  return found->second.tensor;
}

Result<const SafetensorsTensor*> ForeignCheckpoint::need(const std::string& module,
                                                         std::string_view piece,
                                                         std::string_view dtypes) {
  const SafetensorsTensor* const tensor = take(module, piece);
  if (tensor == nullptr) {
    return fail(Code::corrupt, "{}: tensor '{}.{}' is missing", stored_->front().first,
                quoted_name(module), piece);
  }
  const std::string list = fmt::format(" {} ", dtypes);
  if (is_word_of(list, tensor->dtype_name) && !tensor->bytes.empty()) return tensor;
  return wrong(*tensor, fmt::format("has dtype {} and {} bytes; expected one of: {}",
                                    tensor->dtype_name, tensor->bytes.size(), dtypes));
}

void ForeignCheckpoint::put(const std::string& module, const SafetensorsTensor& codes,
                            CodedMatrix matrix) {
  made_.push_back({fmt::format("{}.weight", module), &codes, std::move(matrix)});
}

tl::unexpected<Status> ForeignCheckpoint::wrong(const SafetensorsTensor& tensor,
                                                std::string_view what, Code code) const {
  const auto place = places_.find(tensor.name);
  return fail(code, "{}: tensor '{}' {}", place == places_.end() ? "" : *place->second.path,
              quoted_name(tensor.name), what);
}

std::vector<DType> ForeignCheckpoint::chosen_blocks() const {
  constexpr int64_t kManyScales = 1 << 18;  // a few milliseconds
  std::vector<DType> blocks(made_.size());
  const auto choose = [&](int /*thread*/, int64_t i) {
    const auto at = static_cast<size_t>(i);
    blocks[at] = blocks_for(made_[at].matrix);
  };
  int64_t n_scales = 0;
  for (const MadeMatrix& made : made_) n_scales += made.matrix.n_out * made.matrix.n_groups;
  WorkerPool workers(n_scales > kManyScales ? 0 : 1);
  workers.run_items(std::ssize(made_), choose);
  return blocks;
}

int64_t ForeignCheckpoint::put_back() {
  const std::vector<DType> blocks = chosen_blocks();
  std::vector<SafetensorsTensor> tensors_made;
  for (size_t i = 0; i < made_.size(); ++i) {
    MadeMatrix& made = made_[i];
    tensors_made.push_back(
        tensor_of_codes(std::move(made.name), *made.codes, std::move(made.matrix), blocks[i]));
  }
  made_.clear();
  for (auto& [path, tensors] : *stored_) {
    std::erase_if(tensors, [&](const SafetensorsTensor& tensor) {
      const auto place = places_.find(tensor.name);
      return place != places_.end() && place->second.tensor == &tensor && place->second.taken;
    });
  }
  if (!stored_->empty()) {
    auto& first = stored_->front().second;
    first.insert(first.end(), std::make_move_iterator(tensors_made.begin()),
                 std::make_move_iterator(tensors_made.end()));
  }
  return std::ranges::count(blocks, DType::f32);
}

PieceNumbers::PieceNumbers(const SafetensorsTensor& tensor)
    : bytes_(tensor.bytes.data()),
      format_(tensor.dtype ? &format_of(*tensor.dtype) : nullptr),
      is_power_(tensor.dtype_name == "F8_E8M0"),
      is_byte_(tensor.dtype_name == "U8" || tensor.dtype_name == "BOOL") {
  const int64_t n_bytes = format_ != nullptr ? format_->block_bytes : 1;
  size_ = std::ssize(tensor.bytes) / n_bytes;
}

float PieceNumbers::at(int64_t i) const {
  float number = 0;
  if (format_ != nullptr) {
    format_->decode(bytes_ + i * format_->block_bytes, &number, 1);
    return number;
  }
  const auto byte = static_cast<uint8_t>(bytes_[i]);
  if (is_power_) return std::ldexp(1.0F, int{byte} - 127);
  return is_byte_ ? static_cast<float>(byte) : f32_from_e4m3(byte);
}

Status read_foreign_tensors(const ForeignConfig& config, StoredTensors& stored,
                            std::vector<std::string>& remarks) {
  if (stored.empty()) return {};
  ForeignCheckpoint checkpoint(stored);
  TRY(reader_of(config.scheme)(config, checkpoint));
  remarks.insert(remarks.end(), config.remarks.begin(), config.remarks.end());
  const int64_t n_wide = checkpoint.put_back();
  if (n_wide > 0) {
    remarks.push_back(
        fmt::format("{} matrices are held as f32, because the groups of their scales are not "
                    "neighbours or not a multiple of 32 columns: exact, but large and slow",
                    n_wide));
  }
  return {};
}

}  // namespace ruv
