// What a packed-weights file depends on, as one key: the model's bytes and the
// device's form of matrices.
#pragma once

#include <optional>

#include "base/key_text.h"
#include "device/packing.h"
#include "format/model_file.h"
#include "model/packed_file.h"

namespace ruv {

// Without reading all weights (docs/adr/0013): of each file its size, times of change, everything
// before the first tensor and samples of the rest; and the packing, so that no change of a layout
// goes unnoticed.
PackedKey packed_key(const ModelFile& file, const Packing& packing);

// Adds all on which packed bytes depend.
void add_packing(KeyText& key, const Packing& packing);

// Where the rows lie in the model's files, in order, as a hash; nothing when one lies elsewhere.
std::optional<uint64_t> hash_of_places(const ModelFile& file,
                                       std::span<const std::byte* const> rows);

// Whether the files still are what they were when opened.
bool is_unchanged(const ModelFile& file);

}  // namespace ruv
