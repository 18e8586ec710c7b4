// Parameters: the numbers of a model that training changes, by name, and the numbers of its files
// that they are.
#pragma once

#include <functional>
#include <string>

#include "model/model.h"
#include "train/train_device.h"

namespace ruv {

// A matrix or a vector of a model, under the name of a tensor. Exactly one pointer is set.
struct ModelPart {
  std::string name;
  const Weight* weight = nullptr;
  const Vector* vector = nullptr;
  // The numbers lie in another order than the tensor's.
  bool is_moved = false;
};
// Embeddings, the matrices, biases and norms of layers, the output. What recurrences keep beside
// matrices is not among them.
std::vector<ModelPart> model_parts(const Model& model);

// Numbers that a gradient is computed for. They lie in the device's memory.
template <class T>
struct Parameter {
  std::string name;
  std::span<T> values, gradient;
  const TrainMatrix<T>* matrix = nullptr;  // null: a vector
};

template <class T>
class Parameters {
 public:
  // Those whose name `trains` accepts get a gradient. A vector whose numbers are not those of a
  // tensor, as a bias whose rows were put in another order, stays as it is and is listed. Fails:
  // out_of_memory. Requires: the model is on the device.
  static Result<Parameters> choose(const Model& model, TrainDevice<T>& device,
                                   const std::function<bool(std::string_view)>& trains);

  std::span<const Parameter<T>> all() const { return all_; }
  // Accepted, but not trained.
  const std::vector<std::string>& left_out() const { return left_out_; }
  // All values together.
  int64_t n_numbers() const;
  // Before the first part of a step.
  void clear_gradients() const;
  // More that are trained, of no tensor: an adapter's.
  void add(Parameter<T> parameter) { all_.push_back(std::move(parameter)); }

 private:
  Status add_matrix(const ModelPart& part, TrainDevice<T>& device);
  Status add_vector(const Model& model, const ModelPart& part, TrainDevice<T>& device);

  std::vector<Parameter<T>> all_;
  std::vector<std::string> left_out_;
};

// What training made of the tensors that parameters are, in float32 and whole.
struct TrainedTensor {
  std::string name;
  std::vector<float> numbers;
};
// Fails: unsupported, where rows of a matrix are not in the model's file as they are.
Result<std::vector<TrainedTensor>> trained_tensors(const Model& model,
                                                   const Parameters<float>& parameters);

}  // namespace ruv
