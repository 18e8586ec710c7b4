// Faults: all that is wrong with something that is examined to its end, so that its owner mends it
// in one go. Where one error is enough, the first counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace ruv {

class Faults {
 public:
  // More are counted and not kept: bytes from outside could have millions.
  static constexpr size_t kMost = 64;

  // Adds an error, once for each message; an ok status adds nothing.
  void add(const Status& status) {
    const auto is_same = [&](const Status& fault) { return fault.message() == status.message(); };
    if (status.ok() || std::any_of(faults_.begin(), faults_.end(), is_same)) return;
    if (is_full()) {
      ++n_left_out_;
    } else {
      faults_.push_back(status);
    }
  }
  void add(const Faults& others) {
    for (const Status& fault : others.faults_) add(fault);
    n_left_out_ += others.n_left_out_;
  }
  // Keeps an error of code `unsupported` and returns ok, so that the rest is examined; returns any
  // other status as it is.
  Status keep_unsupported(Status status) {
    if (status.code() != Code::unsupported) return status;
    add(status);
    return {};
  }

  bool empty() const { return faults_.empty(); }
  bool is_full() const { return faults_.size() >= kMost; }
  std::span<const Status> all() const { return faults_; }
  int64_t n_left_out() const { return n_left_out_; }
  // Ok when there is none.
  const Status& first() const {
    static const Status ok;
    return faults_.empty() ? ok : faults_.front();
  }

 private:
  std::vector<Status> faults_;
  int64_t n_left_out_ = 0;
};

}  // namespace ruv
