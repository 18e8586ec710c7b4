// Pages of the KV cache.
#pragma once

namespace ruv {

// Tokens of one page. Fixed, because kernels, packed layouts and files of cached pages are made for
// it: more would waste memory at the end of every sequence, less would share less of each load.
inline constexpr int kPageTokens = 16;

}  // namespace ruv
