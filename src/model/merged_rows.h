// MergedRows: what the rows of a model's file become when adapters are merged into them, row by
// row, so that no matrix is in memory whole.
#pragma once

#include <span>

#include "format/gguf_rows.h"
#include "model/adapter.h"

namespace ruv {

// The matrices of an adapter's file, and how much of them is added.
struct MergedFile {
  std::span<const AdapterMatrices> matrices = {};
  RopeOrder order = RopeOrder::halves;
  float scale = 1;
};

class MergedRows final : public RowChanges {
 public:
  // Changes are added in their order. Keeps A and B of all of them as float32. Requires: the
  // model's matrices are rows of its file, as a device has them that packs nothing. Fails: as
  // make_adapter for shapes; unsupported (biases, a scale or another adapter beside rows with
  // lengths of their own, an end of a model whose ends are one matrix).
  static Result<MergedRows> create(const Model& model, std::span<const MergedFile> files);

  bool changes(const std::byte* row) const override;
  Status apply(const std::byte* row, std::span<float> numbers) const override;
  // Rows of the file that change.
  int64_t n_rows() const;

 private:
  // One pair of matrices, decoded.
  struct Change {
    std::vector<float> a, b;  // (rank, n_in), (n_out, rank)
    int64_t rank = 0;
    float scale = 1;
    std::vector<float> magnitudes = {};
  };
  // A row of the file with the row of a change's B.
  struct Place {
    const std::byte* row;
    size_t change;
    int64_t index;
  };
  Status add(const Model& model, const MergedFile& file, const AdapterMatrices& m);
  Status add_rows(const Weight& matrix, Change change);
  // Those of a row, in the order of the changes.
  std::span<const Place> places_of(const std::byte* row) const;

  std::vector<Change> changes_;
  std::vector<Place> places_;  // sorted by row
};

}  // namespace ruv
