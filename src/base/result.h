// TRY and fail: the two words used to pass errors up. See include/ruv/status.h for the types.
#pragma once

#include <fmt/core.h>

#include <type_traits>

#include "ruv/status.h"

namespace ruv {

// `return fail(Code::corrupt, "{}: offset {}: …", …);` from any function returning Status or
// Result<T>.
template <class... Args>
tl::unexpected<Status> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Status>(Status(code, fmt::format(format, std::forward<Args>(args)...)));
}

// The parts that TRY is made of: for a Status, and for a tl::expected of any error type.
inline bool succeeded(const Status& status) { return status.ok(); }
template <class T, class Error>
bool succeeded(const tl::expected<T, Error>& result) {
  return result.has_value();
}
inline tl::unexpected<Status> failure(Status&& status) {
  return tl::unexpected<Status>(std::move(status));
}
template <class T, class Error>
tl::unexpected<Error> failure(tl::expected<T, Error>&& result) {
  return tl::unexpected<Error>(std::move(result.error()));
}
inline void value_of(Status&&) {}
template <class T, class Error>
T value_of(tl::expected<T, Error>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The error with `context: ` put before its message; an ok Status stays as it is.
Status with_context(std::string_view context, Status status);

}  // namespace ruv

// The value of a Result (nothing for a Status), or return its error from the enclosing function:
// `const Bytes taken = TRY(reader.take(n, "name"));`. A statement expression, which GCC and Clang
// have as an extension of C++; other compilers cannot build this repository.
#define TRY(...)                                  \
  ({                                              \
    auto ruv_try_ = (__VA_ARGS__);                \
    if (!::ruv::succeeded(ruv_try_)) [[unlikely]] \
      return ::ruv::failure(std::move(ruv_try_)); \
    ::ruv::value_of(std::move(ruv_try_));         \
  })
