#include "base/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace ruv {

int64_t raise_open_file_limit(int64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t before = limit.rlim_cur;
  const auto n = static_cast<rlim_t>(wanted);
  limit.rlim_cur = std::max(before, std::min(n, limit.rlim_max));
  const rlim_t now = ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
  return now >= n ? wanted : static_cast<int64_t>(now);
}

}  // namespace ruv
