// Makes the adapter of a file ready for a model: finds the matrices of the model that its modules
// are, whichever container it and the model came in, and packs them.
#pragma once

#include "format/adapter_file.h"
#include "model/adapter.h"

namespace ruv {

// What a file adds to a model, in host memory that the file or the matrices keep.
struct FileMatrices {
  std::vector<AdapterMatrices> matrices;
  std::vector<WholeMatrix> wholes;
  std::vector<LayerDirection> directions;
  RopeOrder order = RopeOrder::halves;
};
// Fails: as bind_adapter, but does not look at shapes.
Result<FileMatrices> find_matrices(const Model& model, const AdapterFile& file);

// Fails, naming the file and the module: invalid (the model has no such matrix, or one of another
// shape), unsupported (a matrix that adapters may not add to; rows in an order that only the other
// container has); out_of_memory.
Result<LoadedAdapter> bind_adapter(std::shared_ptr<const Model> model, const AdapterFile& file,
                                   WorkerPool& pool);
// The same with threads of its own, once all of the file could be read. Fails: internal as well.
Result<std::shared_ptr<const LoadedAdapter>> load_from(std::shared_ptr<const Model> model,
                                                       const AdapterFile& file, int n_threads);

}  // namespace ruv
