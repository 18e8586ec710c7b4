// Names of the error codes; one table, from which HTTP and exit codes are derived elsewhere.
#include "base/result.h"

namespace ruv {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::unsupported:
      return "unsupported";
    case Code::corrupt:
      return "corrupt";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::unavailable:
      return "unavailable";
    case Code::cancelled:
      return "cancelled";
    case Code::deadline:
      return "deadline";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

Status with_context(std::string_view context, Status status) {
  if (status.ok()) return status;
  return Status(status.code(), fmt::format("{}: {}", context, status.message()));
}

}  // namespace ruv
