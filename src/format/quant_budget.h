// Formats by measurement: which format each tensor gets so that the whole takes at most a
// number of bytes and loses little.
//
// A quantised matrix adds noise to its product, Σ (w - decoded) · x. Its size relative to the
// product's own, √(Σ importance · (w - decoded)² / Σ importance · w²), is measured for each tensor
// and format, on some of its rows. How much a model's answers move by it differs by tensor, by
// factors of fifty: calibration measures that too (ImportanceEntry::sensitivity). The sum of noise
// times sensitivity is then minimised (format/quant_allocation.h).
#pragma once

#include "base/worker_pool.h"
#include "format/quant_plan.h"

namespace ruv {

// Sets the formats of free tensors. IQ1 to IQ3 are used only where the others do not fit: they
// are small as files, and take the memory of formats of three and four bits. Memory: some rows of
// one tensor. Fails: invalid (the smallest formats take more than max_bytes), corrupt (numbers that
// are not finite).
Status choose_formats(std::span<PlannedTensor> plan, uint64_t max_bytes, WorkerPool& workers);

}  // namespace ruv
