#include <iterator>

#include "chat/tools/dialect_rows.h"

namespace ruv {
namespace {

// Formats that are known by their marks come before those that any text might be.
std::vector<ToolDialect> all_dialects() {
  std::vector<ToolDialect> all;
  for (std::vector<ToolDialect> rows :
       {channel_dialects(), tagged_dialects(), named_json_dialects(), literal_dialects(),
        object_dialects(), bare_dialects()}) {
    all.insert(all.end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
  }
  return all;
}

}  // namespace

std::span<const ToolDialect> tool_dialects() {
  static const std::vector<ToolDialect> kDialects = all_dialects();
  return kDialects;
}

}  // namespace ruv
