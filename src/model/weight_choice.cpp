#include "model/weight_choice.h"

#include <algorithm>

#include "model/weight_source.h"

namespace ruv {
namespace {

constexpr std::string_view kTypesByLoss[] = {"q8_0",   "q6_k",   "q5_k_m", "q4_k_m",
                                             "iq4_xs", "q3_k_m", "q2_k"};

// The best type that fits, where the floats of the file do not.
Status choose_by_memory(ModelFile& file, const Device& device, const LoadOptions& options) {
  const int64_t n_memory = options.memory_bytes > 0 ? options.memory_bytes : device.memory_bytes();
  const int64_t n_room = weight_room(n_memory);
  const int64_t n_stored = packed_bytes_of(file, device.packing());
  if (n_stored <= n_room) return {};
  const std::vector<WeightChoice> choices = TRY(weight_choices(file, device.packing()));
  const auto fits = std::ranges::find_if(
      choices, [&](const WeightChoice& choice) { return choice.n_bytes <= n_room; });
  const WeightChoice& chosen = fits != choices.end() ? *fits : choices.back();
  if (chosen.n_bytes >= n_stored) return file.set_weight_type({});
  TRY(file.set_weight_type(chosen.type));
  if (options.note) {
    options.note(NoteKind::choice,
                 fmt::format("the weights take {:.2f} GB and may fill {:.2f} of {:.2f} GB of "
                             "memory: as {} they take {:.2f} GB",
                             in_gb(n_stored), in_gb(n_room), in_gb(n_memory), chosen.type,
                             in_gb(chosen.n_bytes)));
  }
  return {};
}

}  // namespace

Result<std::vector<WeightChoice>> weight_choices(ModelFile& file, const Packing& packing) {
  TRY(file.set_weight_type({}));
  std::vector<WeightChoice> choices = {{"", packed_bytes_of(file, packing)}};
  for (const std::string_view type : kTypesByLoss) {
    TRY(file.set_weight_type(type));
    choices.push_back({type, packed_bytes_of(file, packing)});
  }
  return choices;
}

std::span<const std::string_view> weight_types_by_loss() { return kTypesByLoss; }

int64_t weight_room(int64_t n_bytes) { return n_bytes / 4 * 3; }

Status choose_weights(ModelFile& file, const Device& device, const LoadOptions& options) {
  if (options.quantize.empty()) return {};
  if (options.quantize == "auto") return choose_by_memory(file, device, options);
  return file.set_weight_type(options.quantize);
}

}  // namespace ruv
