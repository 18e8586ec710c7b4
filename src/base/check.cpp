// The one place that ends the process, and only for a bug of ours.
#include "base/check.h"

#include <cstdlib>

namespace ruv {
namespace {
CheckHandler handler_ = nullptr;
}

void set_check_handler(CheckHandler handler) { handler_ = handler; }

void check_failed(const char* condition, const char* file, int line) {
  if (handler_ != nullptr) handler_(condition, file, line);
  std::abort();
}

}  // namespace ruv
