// TestView: rows in a device's memory for tests, filled from the host and read back.
#pragma once

#include <vector>

#include "device/device.h"

namespace ruv {

class TestView {
 public:
  // Zeros where `numbers` is null.
  TestView(Device& device, const float* numbers, int64_t n_rows, int64_t n_cols)
      : device_(&device),
        memory_(*device.allocate(n_rows * n_cols * int64_t{sizeof(float)})),
        view_{memory_.start, n_rows, n_cols} {
    const auto n = static_cast<size_t>(n_rows * n_cols);
    if (numbers != nullptr) device.upload(view_.start, std::as_bytes(std::span(numbers, n)));
  }
  View view() const { return view_; }
  std::vector<float> numbers() const {
    std::vector<float> numbers(static_cast<size_t>(view_.n_rows * view_.n_cols));
    device_->download(view_.start, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

 private:
  Device* device_;
  DeviceMemory memory_;
  View view_;
};

}  // namespace ruv
