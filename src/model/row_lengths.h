// What gives each row of an adapted matrix the length that an adapter says (DoRA): with W the
// model's matrix, row i of W + scale · B · A is multiplied by magnitude i over its length. So what
// is computed with W stays as it is, and a factor for each column of the product does the rest:
//
//   out = f · (x · Wᵀ + scale · x · (B · A)ᵀ) + bias, f = magnitude / length
#pragma once

#include "model/adapter.h"
#include "model/base_rows.h"

namespace ruv {

// The product of a file's matrices, rows in the order of those of the model.
struct AddedRows {
  const MatrixRows& a;  // (rank, n_in)
  const MatrixRows& b;  // (n_out, rank)
  float scale = 1;
};

// f of each row of `matrix`. Requires: shapes that fit. Fails, without saying where: invalid (a row
// of length 0, or one that is not a number).
Result<std::vector<float>> row_factors(const BaseRows& base, const Weight& matrix,
                                       const AddedRows& added, std::span<const float> magnitudes,
                                       WorkerPool& pool);
// The same of an embedding, whose rows here are its columns: `a` is (n_vocab, rank), `b` (n_embd,
// rank), and there is a factor for each column of the table.
Result<std::vector<float>> column_factors(const BaseRows& base, const AddedRows& added,
                                          std::span<const float> magnitudes, WorkerPool& pool);

}  // namespace ruv
