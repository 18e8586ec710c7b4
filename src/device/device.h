// Device: a machine part that has memory and computes. Weights, activations, keys and values are in
// its memory; the rest of the engine has addresses of them and never looks there. CpuDevice shares
// the host's memory, and moves nothing.
//
// Order: calls of one thread take effect in the order in which they were made; download() and
// rows() wait until what they read is there. Threads: operations, and memory that they use, belong
// to the thread that computes. Any thread may call the functions of memory for bytes that no
// operation uses meanwhile, as the page store's does. Failure: a device that is lost (a driver
// that reset it, memory that broke) does nothing any more and says so in failure(); what uses a
// result asks first.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "device/read_ahead.h"
#include "device/view.h"

namespace ruv {

class KvPages;
class Ops;
class Packing;
class WorkerPool;
struct OpsLimits;
struct Weight;

// Numbers in device memory: a norm's weights or a bias. Empty: there are none.
struct Vector {
  DeviceMemory memory;

  int64_t size() const { return memory.n_bytes / int64_t{sizeof(float)}; }
  bool empty() const { return memory.n_bytes == 0; }
};

// Rows of bytes in device memory.
struct PlainRows {
  std::vector<Address> rows;
  DeviceMemory memory;  // of the rows, where the device has copies

  bool empty() const { return rows.empty(); }
};

class Device {
 public:
  virtual ~Device() = default;

  // Zeroed memory on a boundary of 64 bytes. Fails: out_of_memory.
  virtual Result<DeviceMemory> allocate(int64_t n_bytes) = 0;
  // The device's form of bytes that do not change: the bytes themselves where it can read the
  // host's memory, else a copy. Fails: out_of_memory.
  virtual Result<DeviceMemory> take(SharedBytes bytes) = 0;
  // The same for rows of row_bytes bytes each, which must outlive the result.
  virtual Result<PlainRows> take_rows(std::span<const std::byte* const> rows,
                                      int64_t row_bytes) = 0;
  virtual void upload(Address to, Bytes from) = 0;
  virtual void download(Address from, std::span<std::byte> to) = 0;
  // Requires: the ranges do not overlap.
  virtual void copy(Address to, Address from, int64_t n_bytes) = 0;
  virtual void zero(Address at, int64_t n_bytes) = 0;
  // Rows as the host can read and change them: in place, or a copy in `staging`, which has room for
  // them. What the host changes is not seen by the device.
  virtual HostRows rows(View view, std::span<float> staging) = 0;
  // Why it can do nothing any more, from now on; ok while all is well. Any thread.
  virtual Status failure() const { return {}; }
  // All memory that it has, in bytes, however much of it is in use.
  virtual int64_t memory_bytes() const = 0;
  // Whether the host's memory is the device's: then take() and rows() copy nothing.
  virtual bool shares_memory() const = 0;

  // The form in which it multiplies matrices.
  virtual const Packing& packing() const = 0;
  // The distances that were fastest when tried on packed matrices in its memory, for each format
  // that has min_bytes of them: 0.1 to 0.4 s each, on all threads. They hold wherever
  // processor_id() is the same. A device that has no such choice finds none.
  virtual std::vector<ReadAhead> find_read_ahead(std::span<const Weight> weights, int64_t min_bytes,
                                                 WorkerPool& threads) const {
    (void)weights, (void)min_bytes, (void)threads;
    return {};
  }
  // For products from now on. Any thread.
  virtual void use_read_ahead(std::span<const ReadAhead> distances) { (void)distances; }
  virtual uint64_t processor_id() const { return 0; }
  // Operations on this device, over `pages`, which it must have made. All must outlive them.
  // `threads` are the host's, for devices that compute on them. Fails: out_of_memory.
  virtual Result<std::unique_ptr<Ops>> make_ops(WorkerPool& threads, KvPages& pages,
                                                const OpsLimits& limits) = 0;

  // Numbers of the host as a Vector. Fails: out_of_memory.
  Result<Vector> vector(std::vector<float> numbers);
};

struct DeviceChoice {
  std::string isa = {};  // instruction set of the CPU; empty: the best that this machine has
  // Without arithmetic that only some machines have, so that results are those of every machine.
  bool portable = false;
};
// The device on which a model computes: this machine's CPU. Fails: unsupported (isa).
Result<std::shared_ptr<Device>> choose_device(const DeviceChoice& choice);
// That of an empty choice.
std::shared_ptr<Device> default_device();

}  // namespace ruv
