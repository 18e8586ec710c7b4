// The parts of a body of multipart/form-data (RFC 7578), as browsers and clients send files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

struct FormPart {
  std::string name;
  bool is_file = false;  // it has a file's name, which may be empty
  std::string filename = {};
  std::string_view content = {};  // bytes of the body
};

// At most 64 parts, in their order. Linear time. Fails: invalid (the first part that is not well
// formed, by its number; a boundary of no or more than 70 characters).
Result<std::vector<FormPart>> parse_form(std::string_view body, std::string_view boundary);

}  // namespace ruv
