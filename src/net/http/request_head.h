// The head of an HTTP request: the rules of RFC 9112 that the parser does not enforce, and the
// request that routes see.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "net/api_error.h"
#include "net/http/message.h"

namespace ruv {

// The reason why the bytes from text[from] on break the rules for the lines of a head (a line that
// ends without CR, a folded line, NUL), or null. text[0] is the head's first byte.
const char* head_line_fault(std::string_view text, size_t from);

using RequestHead = boost::beast::http::header<true, boost::beast::http::fields>;

// An error if the head makes the end or the destination of the request ambiguous (request
// smuggling); the connection must then be closed.
std::optional<ApiError> framing_fault(const RequestHead& head);

// The request without its body.
HttpRequest to_request(const RequestHead& head);

}  // namespace ruv
