// Names and numbers of the Model Context Protocol that its two sides share.
#pragma once

#include <array>
#include <string_view>

namespace ruv {

// Revisions that are spoken, the newest first. The older ones differ in nothing that is used here.
inline constexpr std::array<std::string_view, 3> kMcpRevisions = {"2025-06-18", "2025-03-26",
                                                                  "2024-11-05"};

inline constexpr bool is_mcp_revision(std::string_view revision) {
  for (const std::string_view known : kMcpRevisions) {
    if (known == revision) return true;
  }
  return false;
}

}  // namespace ruv
