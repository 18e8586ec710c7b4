#include "engine/sequence_lists.h"

namespace ruv {

// Doubling keeps the cost of many additions linear.
void SequenceLists::make_room() {
  const auto n = static_cast<size_t>(n_all() + 1);
  for (List* const list : {&running, &waiting, &restoring, &started}) {
    if (list->capacity() < n) list->reserve(2 * n);
  }
}

}  // namespace ruv
