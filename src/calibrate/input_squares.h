// InputSquares: sums the squares of what each matrix of a model is multiplied by, column by column,
// under the names of the tensors that the matrices come from.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "device/product_watcher.h"
#include "format/importance.h"
#include "model/model.h"

namespace ruv {

// Not safe to read while a step is computed.
class InputSquares final : public ProductWatcher {
 public:
  // From now on the matrices of this model are summed. It must outlive this object, or the last
  // step that it computes. Requires: it has not been called.
  void follow(const Model& model);
  void on_product(const Weight& weight, HostRows x) override;
  // The tensor that a matrix is of; empty: it is not followed.
  std::string_view name_of(const Weight& weight) const {
    const auto found = places_.find(&weight);
    return found == places_.end() ? std::string_view() : entries_[found->second.entry].name;
  }

  // Sums and counts under all names that a GGUF file of the model may have for the tensors: parts
  // of a fused tensor have the same inputs, and so has it.
  Importance all() const;
  // What a GGUF file of the model has tensors for, and what is missing of it.
  struct OfFile {
    Importance importance;
    std::vector<std::string> missing;  // tensors that are quantised, and were not multiplied
  };
  // Fails: as export_tensors.
  Result<OfFile> of_file(const Model& model) const;

  // Sums become what a file holds of them, float32: a run that is continued from a file then gives
  // the sums of one that was not interrupted.
  void round_to_file();
  // Continues from sums that all() gave for the same model. Fails: invalid, where they are another
  // model's.
  Status restore(const Importance& importance);

 private:
  struct Entry {
    std::string name;
    int64_t n_columns = 0;
    std::vector<double> sums = {};  // matrix by matrix
    std::vector<int64_t> counts = {};
  };
  // A matrix of an entry.
  struct Place {
    size_t entry;
    int64_t matrix;
  };
  void add(std::string name, std::span<const Weight> matrices);

  std::vector<Entry> entries_;
  std::unordered_map<const Weight*, Place> places_;
};

}  // namespace ruv
