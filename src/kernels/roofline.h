// What this machine can do at most: how fast memory is read and how fast int8 is multiplied. The
// yardsticks of every speed figure. Each call runs for about half a second per thread.
#pragma once

namespace ruv {

// Gigabytes (1e9) read per second by n_threads threads together: one sequential stream each, huge
// pages where the system grants them, buffers far larger than the caches. The best of several
// passes. n_threads 0: one per core. Needs 256 MiB of memory; 0 when it cannot be had.
double measure_read_gb_s(int n_threads);

// Giga-operations (a multiply-add is two) per second of int8 dot products by the table in use.
double measure_int8_gop_s(int n_threads);

}  // namespace ruv
