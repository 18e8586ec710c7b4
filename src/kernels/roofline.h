// What this machine can do at most: how fast memory is read, how fast numbers are multiplied and
// what it costs to call a team of threads. The yardsticks of every speed figure.
#pragma once

#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "base/worker_pool.h"

namespace ruv {

// Reads memory as fast as this machine can: 512 MiB in huge pages where the system grants them, far
// more than caches hold, by every pattern known to help somewhere: one stream per thread or
// several, with and without prefetching. Which is fastest differs between machines.
class MemoryReader {
 public:
  // n_threads 0: one per core. Fails: out_of_memory.
  static Result<MemoryReader> create(int n_threads);

  // Gigabytes (1e9) per second of all threads together, best of `n_passes` passes of each pattern;
  // about 15 ms a pass and pattern. What it reads drifts with the machine's other tenants: measure
  // right before and after what it shall be compared with.
  double best_gb_s(int n_passes);
  // The pattern that was fastest in the last call, in words.
  const char* pattern() const { return pattern_; }

 private:
  MemoryReader(Buffer buffer, std::unique_ptr<WorkerPool> pool)
      : buffer_(std::move(buffer)), pool_(std::move(pool)) {}
  Buffer buffer_;
  std::unique_ptr<WorkerPool> pool_;
  const char* pattern_ = "";
};

// The best of one short measurement; 0 when the memory cannot be had.
double measure_read_gb_s(int n_threads);

// Giga-operations (a multiply-add is two) per second by the kernel table in use: of int8 dot
// products, of float32 multiply-adds, and of bf16 dot products, 0 where there is no such
// instruction. About a fifth of a second each.
double measure_int8_gop_s(int n_threads);
double measure_f32_gop_s(int n_threads);
double measure_bf16_gop_s(int n_threads);

// Nanoseconds of one WorkerPool::run of an empty function, when calls follow each other closely:
// what every barrier of a step costs. Median of 5 rounds.
double measure_barrier_ns(int n_threads);

}  // namespace ruv
