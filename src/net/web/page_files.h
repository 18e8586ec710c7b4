// The files of the page at "/", which CMake embeds as web/dist has them: built by Vite, compressed
// with gzip, each the same bytes for the same sources.
#pragma once

#include <span>
#include <string_view>

namespace ruv {

struct PageFile {
  std::string_view path;  // of its route
  std::string_view content_type;
  std::span<const unsigned char> gzipped;
};

// The page itself first, which has the style, and the scripts.
std::span<const PageFile> page_files();

}  // namespace ruv
