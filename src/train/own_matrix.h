// Parameters that no file has: they begin with numbers of the trainer's own.
#pragma once

#include "train/parameters.h"

namespace ruv {

struct OwnMatrix {
  std::string name;
  int64_t n_in = 0;
};

// A matrix of these numbers, row after row, on the device and among the parameters, the last of
// them. Fails: out_of_memory. Requires: rows are whole; the parameters are not used meanwhile.
template <class T>
Result<Weight> add_own_matrix(const OwnMatrix& matrix, std::vector<float> numbers,
                              TrainDevice<T>& device, Parameters<T>& parameters);

// The same of a vector of n zeros, in memory that must live as long as the parameters.
template <class T>
Result<DeviceMemory> add_own_vector(std::string name, int64_t n, TrainDevice<T>& device,
                                    Parameters<T>& parameters);

}  // namespace ruv
