// Importance: what calibration measured of the inputs of a model's matrices, and the two files that
// keep it, as llama.cpp's imatrix tool writes them.
//
// A quantised matrix errs by Σ (w - decoded) · x, so an error at a column counts by the mean square
// of the numbers that the column is multiplied by. That is all that is kept: sums of squares and
// how many rows were summed, for each expert of its own.
//
//   GGUF: general.type "imatrix"; imatrix.datasets, .chunk_count, .chunk_size; for each matrix the
//   float32 tensors NAME.in_sum2 (matrices, columns) and NAME.counts (matrices, 1), and of ours
//   NAME.sensitivity (1), which llama.cpp passes over. dat (little-endian): i32 n_entries | entries
//   | i32 n_chunks | i32 length, name of the dataset
//     entry: i32 length, name | i32 n_calls | i32 n_values | f32 mean square · n_calls, each
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"

namespace ruv {

struct ImportanceEntry {
  std::vector<float> sums;    // of squares, matrix by matrix
  std::vector<float> counts;  // rows that were summed, of each matrix, or one for all
  // Divergence of the model's answers per relative noise in the products
  // (calibrate/measure_sensitivity.h); 0: not measured. The older form does not keep it.
  float sensitivity = 0;
};

struct Importance {
  // By the GGUF name of the tensor, "blk.0.ffn_up.weight".
  std::map<std::string, ImportanceEntry, std::less<>> entries;
  std::vector<std::string> datasets;
  int64_t n_chunks = 0;
  int64_t chunk_size = 0;  // tokens; 0: the file does not say
};

// The mean squares of a tensor of n_matrices matrices with n_columns columns: matrix by matrix. A
// matrix that no row was multiplied by has ones: nothing is known of it. Empty: the entry is of
// another size.
std::vector<float> mean_squares(const ImportanceEntry& entry, int64_t n_columns,
                                int64_t n_matrices);

// Reads either form. `source` is quoted in errors. Memory: the size of the bytes. Fails: corrupt
// (cut short, sums that are negative or not finite), unsupported (a GGUF file of something else).
Result<Importance> parse_importance(Bytes bytes, const std::string& source);
// Fails: as MappedFile::open besides.
Result<Importance> read_importance(const std::string& path);

enum class ImportanceForm : uint8_t { gguf, dat };
// Writes a file that appears when it is complete. Fails: as FileWriter; invalid, where the older
// form has no room for a number.
Status write_importance(const Importance& importance, const std::string& path, ImportanceForm form,
                        FileTarget target = {});

}  // namespace ruv
