// How much of the longest tests is run: all of what they try by default, but a share where a
// sanitizer makes each step twenty to forty times as long.
#pragma once

#include <cstddef>

namespace ruv {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr size_t kTestShare = 8;
#else
inline constexpr size_t kTestShare = 1;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr size_t kTestShare = 8;
#else
inline constexpr size_t kTestShare = 1;
#endif

}  // namespace ruv
