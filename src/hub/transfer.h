// What the caller of a transfer sees of it and decides about it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ruv {

struct TransferState {
  std::string_view file;    // its name in the repository
  uint64_t n_done = 0;      // of all files, with what was here before
  uint64_t n_bytes = 0;     // of all files
  bool is_waiting = false;  // another process transfers this file
};

// Called every 0.1 s or so in the caller's own thread. False: stop, `cancelled`.
using TransferWatch = std::function<bool(const TransferState&)>;

}  // namespace ruv
