// The bytes of a safetensors file of float32 matrices, for tests.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

namespace ruv {

struct TestMatrix {
  std::string name;
  int64_t n_rows = 0, n_cols = 0;
  std::vector<float> numbers;  // by rows
  int64_t n_matrices = 0;      // above 0: the shape is that of a stack of so many
};

// Numbers 0, 1, 2, ... of a matrix.
inline TestMatrix counted(std::string name, int64_t n_rows, int64_t n_cols) {
  TestMatrix matrix{std::move(name), n_rows, n_cols, {}};
  for (int64_t i = 0; i < n_rows * n_cols; ++i) matrix.numbers.push_back(static_cast<float>(i));
  return matrix;
}

inline std::string safetensors_of(const std::vector<TestMatrix>& matrices) {
  std::string header, data;
  for (const TestMatrix& m : matrices) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(m.numbers.data()), m.numbers.size() * sizeof(float));
    const bool is_stack = m.n_matrices > 0;
    const std::string first = is_stack ? fmt::format("{},", m.n_matrices) : "";
    header +=
        fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{}{},{}],"data_offsets":[{},{}]}})",
                    header.empty() ? "{" : ",", m.name, first,
                    is_stack ? m.n_rows / m.n_matrices : m.n_rows, m.n_cols, begin, data.size());
  }
  header += "}";
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

}  // namespace ruv
