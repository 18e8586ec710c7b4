// Errors as values: a code a program can switch on, and a message that tells a person what failed,
// where, and what to do. Nothing in the library throws, prints or exits.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace ruv {

enum class Code {
  ok,
  invalid,        // the caller's arguments are wrong
  not_found,      // a file, tensor, model or field does not exist
  unsupported,    // understood, but this build cannot do it
  corrupt,        // bytes from outside break their own format
  out_of_memory,  // a budget or the machine's memory is used up
  unavailable,    // try again later
  cancelled,
  deadline,
  internal,  // our fault
};

// The code's name as users see it, for example "not_found".
std::string_view code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Status(tl::unexpected<Status> failure) : Status(std::move(failure.value())) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  // What failed, where (file, byte offset, field), and the way out. Empty when ok.
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// A value or the Status that says why there is none. Ignoring one is a compile error in this
// repository (-Werror with [[nodiscard]]).
template <class T>
using Result = tl::expected<T, Status>;

}  // namespace ruv
