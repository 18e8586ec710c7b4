#include "train/own_matrix.h"

namespace ruv {

// The numbers stay as rows of a file would, which the matrix is decoded from once.
template <class T>
Result<Weight> add_own_matrix(const OwnMatrix& matrix, std::vector<float> numbers,
                              TrainDevice<T>& device, Parameters<T>& parameters) {
  const auto kept = std::make_shared<const std::vector<float>>(std::move(numbers));
  const int64_t n_out = std::ssize(*kept) / matrix.n_in;
  std::vector<const std::byte*> rows;
  for (int64_t i = 0; i < n_out; ++i) {
    rows.push_back(reinterpret_cast<const std::byte*>(kept->data() + i * matrix.n_in));
  }
  Weight weight = device.packing().shape_of(DType::f32, matrix.n_in, n_out);
  weight.plain = TRY(device.take_rows(rows, matrix.n_in * int64_t{sizeof(float)}));
  weight.plain.memory.owner = kept;
  TrainMatrix<T>& own = device.matrices().of(weight);
  TRY(own.train());
  const auto n = kept->size();
  parameters.add({matrix.name, {own.values(), n}, {own.gradient(), n}, &own});
  return weight;
}

// A block of the device's memory, with its adjoints.
template <class T>
Result<DeviceMemory> add_own_vector(std::string name, int64_t n, TrainDevice<T>& device,
                                    Parameters<T>& parameters) {
  DeviceMemory memory = TRY(device.allocate(n * int64_t{sizeof(float)}));
  T* const gradient = device.memory().adjoints(memory.start, n);
  if (gradient == nullptr) {
    return fail(Code::out_of_memory, "training: no memory for '{}'", name);
  }
  const auto size = static_cast<size_t>(n);
  T* const values = device.memory().values(memory.start, n);
  parameters.add({std::move(name), {values, size}, {gradient, size}, nullptr});
  return memory;
}

template Result<Weight> add_own_matrix(const OwnMatrix&, std::vector<float>, TrainDevice<float>&,
                                       Parameters<float>&);
template Result<Weight> add_own_matrix(const OwnMatrix&, std::vector<float>, TrainDevice<double>&,
                                       Parameters<double>&);
template Result<DeviceMemory> add_own_vector(std::string, int64_t, TrainDevice<float>&,
                                             Parameters<float>&);

}  // namespace ruv
