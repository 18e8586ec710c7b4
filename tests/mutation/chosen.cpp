// The fault that RUV_MUTANT names; tools/mutate builds this into its copy only.
#include "mutation/chosen.h"

#include <cstdlib>

namespace ruv::mutation {
namespace {

int number_from_environment() {
  const char* const text = std::getenv("RUV_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

const int chosen = number_from_environment();
std::atomic<bool> reached[kMaxMutants];

}  // namespace ruv::mutation
