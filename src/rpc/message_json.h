// Messages of gRPC and JSON: a request becomes the body of an endpoint, and an endpoint's answer
// becomes a message. proto/ruvllm/v1/ruvllm.proto has the rules.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

// The members of `fixed` ("\"stream\":true", without braces) come first; extra_json must not have
// one of `refused`. Fails: invalid, with the name of the field: it holds no JSON, has a number that
// is not finite, or sets a member twice.
Result<std::string> body_of(const google::protobuf::Message& message, std::string_view fixed,
                            std::span<const std::string_view> refused);

// Members that the message does not have are left out. Fails: internal.
Status read_message(std::string_view json, google::protobuf::Message& message);

}  // namespace ruv
