// The list of ranges is read in a signal handler while other threads change it: entries are never
// freed, only used again, and each has a version that is odd while it changes.
#include "base/mapped_ranges.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

namespace ruv {

struct MappedRange {
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};  // equal to begin: not in use
  std::atomic<bool> damaged{false};
  MappedRange* next = nullptr;  // never changes once the entry is in the list
};

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

std::atomic<MappedRange*> g_first{nullptr};
std::mutex g_mutex;  // taken to add and to remove
struct sigaction g_previous {};

void set(MappedRange& range, uintptr_t begin, uintptr_t end) {
  range.version.fetch_add(1);
  range.begin = begin;
  range.end = end;
  range.damaged = false;
  range.version.fetch_add(1);
}

// A fault inside a range is by a thread that uses it, so its entry does not change; one that does
// is not it.
bool holds(const MappedRange& range, uintptr_t at) {
  const uint32_t version = range.version;
  const uintptr_t begin = range.begin;
  const uintptr_t end = range.end;
  return version % 2 == 0 && version == range.version && begin <= at && at < end;
}

MappedRange* range_of(uintptr_t at) {
  for (MappedRange* range = g_first; range != nullptr; range = range->next) {
    if (holds(*range, at)) return range;
  }
  return nullptr;
}

// All of the range from the page on, so that a file cut to its beginning faults once. What was read
// before the fault stays.
bool put_zeros(const MappedRange& range, uintptr_t at) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = at / page * page;
  const uintptr_t end = (range.end + page - 1) / page * page;
  return ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

// Only calls the system and lock-free atomics.
void on_bus_error(int, siginfo_t* info, void*) {
  const int error = errno;
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool is_fault = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  if (MappedRange* const range = is_fault ? range_of(at) : nullptr; range != nullptr) {
    range->damaged = true;
    if (put_zeros(*range, at)) {
      errno = error;
      return;
    }
  }
  ::sigaction(SIGBUS, &g_previous, nullptr);  // the fault comes again, and is no longer ours
  if (info->si_code <= 0) ::raise(SIGBUS);    // sent by a process: does not come again by itself
}

}  // namespace

void guard_mapped_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &g_previous);
}

MappedRange* add_mapped_range(Bytes bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const std::lock_guard lock(g_mutex);
  for (MappedRange* range = g_first; range != nullptr; range = range->next) {
    if (range->begin != range->end) continue;
    set(*range, begin, begin + bytes.size());
    return range;
  }
  auto* const range = new MappedRange;
  set(*range, begin, begin + bytes.size());
  range->next = g_first;
  g_first = range;
  return range;
}

void remove_mapped_range(MappedRange* range) {
  if (range == nullptr) return;
  const std::lock_guard lock(g_mutex);
  set(*range, 0, 0);
}

bool range_is_damaged(const MappedRange& range) { return range.damaged; }

}  // namespace ruv
