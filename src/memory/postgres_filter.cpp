#ifdef RUV_HAS_LIBPQ
#include "memory/postgres_filter.h"

#include <fmt/format.h>

namespace ruv {
namespace {

// False, not null, where the member is missing or of another type, so that NOT makes it true. CASE
// keeps the server from reading as a number what is none.
std::string postgres_comparison(const MetadataFilter::Part& part, PostgresValues& values) {
  const std::string member = values.text(part.key);
  if (part.values == MetadataFilter::Values::booleans) {
    return fmt::format("coalesce(documents.fields -> {} = '{}'::jsonb, false)", member, part.value);
  }
  const std::string value = values.text(part.value);
  if (part.values == MetadataFilter::Values::numbers) {
    return fmt::format(
        "CASE jsonb_typeof(documents.fields -> {0}) WHEN 'number'"
        " THEN (documents.fields ->> {0})::numeric {1} {2}::numeric ELSE false END",
        member, part.order, value);
  }
  return fmt::format(
      "CASE jsonb_typeof(documents.fields -> {0}) WHEN 'string'"
      " THEN (documents.fields ->> {0}) COLLATE \"C\" {1} {2} ELSE false END",
      member, part.order, value);
}

}  // namespace

std::string postgres_condition(const MetadataFilter& filter, PostgresValues& values) {
  if (filter.empty()) return "true";
  std::string text;
  for (const MetadataFilter::Part& part : filter.parts()) {
    text += part.word.empty() ? postgres_comparison(part, values) : fmt::format(" {} ", part.word);
  }
  return "(" + text + ")";
}

}  // namespace ruv
#endif
