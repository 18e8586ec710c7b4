// Prints the kernel tables that this processor needs, the best that it can run and what that takes
// of others (src/kernels/CMakeLists.txt).
#include <cpuid.h>

#include <cstdio>

int main() {
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool avxvnni = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
  std::puts(avx512 && __builtin_cpu_supports("avx512vnni") ? "AVX512"
            : avx512                                       ? "AVX512BW"
            : avx2 && avxvnni                              ? "AVX2 AVXVNNI"
            : avx2                                         ? "AVX2"
                                                           : "NONE");
}
