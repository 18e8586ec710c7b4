// What a model would take as each type of weights, how long a context then fits beside them in each
// type of keys and values, and how fast its tokens can come at most.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "ruv/kv_type.h"
#include "ruv/model.h"

namespace ruv {

struct FitContext {
  KvType type = KvType::f16;
  int64_t n_tokens = 0;  // the longest that fits, at most what the model was trained for
};

struct FitRow {
  std::string type = {};  // empty: as the file has them
  int64_t weight_bytes = 0;
  std::vector<FitContext> contexts = {};
  double tokens_per_second = 0;       // read at the memory's speed, with nothing in the context
  double tokens_per_second_full = 0;  // with the longest context of the model's own KV type
  bool is_taken = false;              // by `run`
};

struct FitTable {
  int64_t memory_bytes = 0;  // of the machine, or of the container that this process is in
  double read_gb_s = 0;      // measured
  std::vector<FitRow> rows = {};
};

// Measures the memory for about half a second. Fails: as load_model does before it reads weights.
Result<FitTable> fit_table(const std::string& path, const LoadOptions& options);

Json fit_json(const FitTable& table);
void print_fit(const FitTable& table);

}  // namespace ruv
