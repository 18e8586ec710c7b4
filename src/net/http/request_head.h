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

// Whether the bytes from text[from] on break the rules for the lines of a head: a line that
// ends without CR, a folded line, NUL. Null where not. text[0] is the head's first byte.
const char* head_line_fault(std::string_view text, size_t from);

using RequestHead = boost::beast::http::header<true, boost::beast::http::fields>;

// What makes it unclear where the request ends or whom it is for; the connection cannot go on.
std::optional<ApiError> framing_fault(const RequestHead& head);

// Without body.
HttpRequest to_request(const RequestHead& head);

}  // namespace ruv
