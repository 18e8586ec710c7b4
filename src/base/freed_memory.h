#pragma once

namespace ruv {

// For a program that runs long: from now on freed memory goes back to the system where more than
// 4 MB of it are contiguous, now and later. Otherwise the C library (glibc) learns from the first
// large block that is freed to keep as much as 64 MB for each thread. Call it before other threads
// run; it holds for the whole process.
void bound_kept_memory();

// Gives freed memory that the C library keeps for later allocations back to the system, where it
// can (glibc). Costs about 50 ms for each GB given back, and holds up other threads' allocations
// meanwhile: for after work that took much memory, not for each allocation. Any thread.
void return_freed_memory();

}  // namespace ruv
