#include "device/cpu/cpu_device.h"
#include "device/product_watcher.h"

namespace ruv {

Result<std::shared_ptr<Device>> choose_device(const DeviceChoice& choice) {
  if (choice.isa.empty()) return new_device(choice.portable ? portable_kernels() : kernels());
  const Kernels* const found = find_kernels(choice.isa);
  if (found == nullptr) {
    return fail(Code::unsupported, "instruction set '{}' does not exist or cannot run here",
                choice.isa);
  }
  return new_device(*found);
}

std::shared_ptr<Device> watched_device(ProductWatcher& watcher) {
  std::shared_ptr<Device> device = new_device(portable_kernels());
  static_cast<CpuDevice&>(*device).watch(&watcher);
  return device;
}

std::shared_ptr<Device> default_device() { return new_device(kernels()); }

}  // namespace ruv
