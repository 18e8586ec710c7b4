// Which rows of a step have what added to a product.
#pragma once

#include <algorithm>

#include "base/range.h"
#include "device/batch.h"

namespace ruv {

// Calls f(rows, mix) for each run of neighbours with equal mixes of adapters, in order; not for
// those without adapters.
template <class F>
void for_adapter_runs(const Batch& batch, F&& f) {
  for (auto s = batch.sequences.begin(); s != batch.sequences.end();) {
    const AdapterMix mix = s->adapters;
    Range rows{s->row_begin, s->row_begin};
    for (; s != batch.sequences.end() && std::ranges::equal(s->adapters, mix); ++s) {
      rows.end += s->n_rows;
    }
    if (!mix.empty()) f(rows, mix);
  }
}

}  // namespace ruv
