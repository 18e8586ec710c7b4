// URIs as far as schemas refer to each other by them.
#pragma once

#include <string>
#include <string_view>

namespace ruv {

// A reference as seen from a base (RFC 3986, section 5.2): "b.json#/a" at "http://h/x/a.json" is
// "http://h/x/b.json#/a". An empty fragment disappears.
std::string resolve_uri(std::string_view base, std::string_view reference);

struct UriParts {
  std::string_view document;  // all before '#'
  std::string_view fragment;  // all after it
};
UriParts split_uri(std::string_view uri);

// %41 is A. Percent signs that begin no such escape stay.
std::string percent_decoded(std::string_view text);

}  // namespace ruv
