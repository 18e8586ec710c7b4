#include "kernels/processor.h"

#include <cstring>
#include <string>

#include "base/hash.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ruv {
namespace {

// The bytes of its report, in no particular form.
std::string processor_report() {
  std::string report;
#if defined(__x86_64__)
  const auto add = [&](unsigned leaf) {
    unsigned registers[4] = {};
    if (__get_cpuid(leaf, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return;
    if (leaf == 1) std::memset(registers + 1, 0, 12);  // the core that asks, and what is enabled
    report.append(reinterpret_cast<const char*>(registers), sizeof registers);
  };
  for (const unsigned leaf : {0U, 1U, 0x80000002U, 0x80000003U, 0x80000004U}) add(leaf);
#elif defined(__aarch64__) && defined(__linux__)
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) {  // else reading the register is a fault
    uint64_t model = 0;
    asm("mrs %0, MIDR_EL1" : "=r"(model));
    report.append(reinterpret_cast<const char*>(&model), sizeof model);
  }
#endif
  return report;
}

}  // namespace

uint64_t processor_id() {
  const std::string report = processor_report();
  return report.empty() ? 0 : hash_bytes(std::as_bytes(std::span(report)));
}

}  // namespace ruv
