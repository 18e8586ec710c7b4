// CHECK: a condition that only a bug of this program can break. Never use it for input, files,
// memory or users: those failures are a Status. A failed CHECK calls the failure handler and ends
// the process, in release builds too; DCHECK is for costly conditions and compiles to nothing
// there.
#pragma once

namespace ruv {

// Called once with the text of a broken CHECK before the process aborts. The library itself never
// prints; programs install a handler that does. Not thread-safe: set it before starting threads.
using CheckHandler = void (*)(const char* condition, const char* file, int line);
void set_check_handler(CheckHandler handler);

// Reports to the handler, then aborts. What CHECK calls; nothing else does.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace ruv

#define CHECK(condition)                                   \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::ruv::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
