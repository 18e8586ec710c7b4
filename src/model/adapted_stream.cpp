#include "model/adapted_stream.h"

#include <algorithm>

#include "device/adapter_runs.h"

namespace ruv {

bool has_direction(const Batch& batch, int64_t layer) {
  if (!batch.has_adapters) return false;
  return std::ranges::any_of(batch.sequences, [layer](const BatchSequence& sequence) {
    return std::ranges::any_of(sequence.adapters, [layer](const AdapterShare& share) {
      return share.adapter->direction_after(layer) != nullptr;
    });
  });
}

void add_directions(Ops& ops, const Batch& batch, int64_t layer, View x) {
  for_adapter_runs(batch, [&](Range rows, AdapterMix mix) {
    const View part = x.rows(rows.begin, rows.end - rows.begin);
    for (const AdapterShare& share : mix) {
      const Vector* const direction = share.adapter->direction_after(layer);
      if (direction != nullptr) ops.add_vector(part, *direction, share.scale);
    }
  });
}

}  // namespace ruv
