// Prints the kernel tables of a build that this machine can run, the best last (stage native of
// .ci/run).
#include <cstdio>

#include "kernels/kernels.h"

int main() {
  for (const ruv::Kernels* table : ruv::all_kernels()) std::puts(table->isa);
}
