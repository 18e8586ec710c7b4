// Which type the float weights of a model get as it loads (LoadOptions::quantize).
#pragma once

#include <string_view>
#include <vector>

#include "device/device.h"
#include "format/model_file.h"
#include "ruv/model.h"

namespace ruv {

// What the weights of a file take as each type, packed for a device, the best type first
// and the file's own before all, with an empty name.
struct WeightChoice {
  std::string_view type;
  int64_t n_bytes = 0;
};
// The file's weight type is the last one then.
Result<std::vector<WeightChoice>> weight_choices(ModelFile& file, const Packing& packing);

// The types that "auto" chooses from, the one that loses least first.
std::span<const std::string_view> weight_types_by_loss();

// Gigabytes, for messages.
constexpr double in_gb(int64_t n_bytes) { return static_cast<double>(n_bytes) * 1e-9; }

// Memory that weights may fill so that a context has room beside them, of `n_bytes`.
int64_t weight_room(int64_t n_bytes);

// Sets the type that the options ask for, for the device. Fails: invalid, for a type that is
// unknown.
Status choose_weights(ModelFile& file, const Device& device, const LoadOptions& options);

}  // namespace ruv
