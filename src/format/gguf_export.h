// What a GGUF file of a model holds, whatever container the model came from: its metadata under
// the keys other engines look for, and its tensors in the order, shape and row order of the format.
// From GGUF nearly everything passes through; from safetensors the tokenizer becomes metadata, the
// experts of a layer become one tensor, and rows of q and k move.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/gguf_writer.h"
#include "format/model_file.h"

namespace ruv {

// One tensor to write. As a matrix it has n_rows() rows of n_columns() numbers.
struct ExportTensor {
  std::string name;
  std::vector<int64_t> shape;  // rows first
  // Where the numbers come from: tensors of one shape, one after the other along the first
  // dimension; or `made` when there are none.
  std::vector<const TensorInfo*> parts = {};
  std::vector<float> made = {};
  // Above 0: rows form groups (heads) of this many, and row j of a group's first rotary_dims comes
  // from row j/2 + (j odd) · rotary_dims/2, which turns halves into neighbours.
  int64_t rotary_group = 0;
  int64_t rotary_dims = 0;
  // Where rows, and numbers of a row, come from, if they move or some are left out; empty: they
  // stay.
  std::vector<int64_t> row_order = {}, column_order = {};
  bool plus_one = false;   // the file keeps w - 1
  bool minus_exp = false;  // the file keeps ln(-w)
  // The file keeps w / factor, the same for all numbers or one for each row.
  float factor = 1;
  std::vector<float> row_factors = {};

  int64_t n_columns() const;
  int64_t n_rows() const;
};

// The place of a row: the part that has it, and the row in that. Requires: parts, and 0 <= row <
// n_rows().
struct RowPlace {
  const TensorInfo* part;
  int64_t row;
};
RowPlace place_of_row(const ExportTensor& tensor, int64_t row);

// What one of several tensors is called that are one in a GGUF file: "blk.3.ffn_up_exps.weight" and
// 7 give "blk.3.ffn_up.7.weight". Nothing for other names.
std::optional<std::string> unstacked_name(std::string_view stacked, int64_t index);

// Fails: corrupt (shapes that contradict the head counts, experts that are missing), unsupported
// (more than four dimensions), not_found (a hyper-parameter the row order needs).
Result<std::vector<ExportTensor>> export_tensors(const ModelFile& model);

// All metadata but what says how the file was quantised: general.file_type,
// general.quantization_version and all of "quantize.". A folder without tokenizer
// gives a file without. Fails: as ModelFile::tokenizer_spec, for safetensors.
Status export_metadata(const ModelFile& model, GgufWriter& out);

// Numbers of row `row`, as float32, to dst. Requires: 0 <= row < n_rows(), dst holds n_columns().
void read_row(const ExportTensor& tensor, int64_t row, float* dst);
// The stored bytes of a row, or nothing where they are not what read_row gives (transposed,
// plus_one, minus_exp, factor, made, columns that move).
Bytes stored_row(const ExportTensor& tensor, int64_t row);

}  // namespace ruv
