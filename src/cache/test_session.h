// For tests: a session's label.
#pragma once

#include "cache/session_file.h"

namespace ruv {

inline SessionInfo an_info() {
  return {.user = "ann",
          .name = "trip-2.notes",
          .model = "nano",
          .created = 1'700'000'000,
          .updated = 1'700'000'500,
          .n_messages = 1,
          .n_tokens = 42};
}

}  // namespace ruv
