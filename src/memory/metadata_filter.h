// MetadataFilter: which documents a search may find, by their metadata: a condition of SQL whose
// values are parameters. A document that lacks a member fulfils none of its comparisons but "ne"
// and "nin"; numbers are compared with numbers and texts with texts, byte by byte.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "memory/database.h"

namespace ruv {

class MetadataFilter {
 public:
  // All documents.
  MetadataFilter() = default;
  // Documents that have these members with these values: texts, numbers, booleans. Fails: invalid
  // (not an object), unsupported (another value, by name).
  static Result<MetadataFilter> of_members(const Json& members);
  // {"type", "key", "value"} with the types eq, ne, gt, gte, lt, lte (a number or text; eq and ne
  // also a boolean), in and nin (a list of such values); or {"type": "and" or "or", "filters":
  // [...]}. At most kMostComparisons, each value of a list being one; more cost a search the time
  // of as many looks at each document. Fails: invalid, naming the place after `where`.
  static Result<MetadataFilter> parse(const Json& filter, const std::string& where);
  static constexpr size_t kMostComparisons = 256;

  bool empty() const { return condition_.empty(); }
  // Documents that both filters take.
  MetadataFilter both(const MetadataFilter& other) const;

  // A condition on rows of `chunks`, with parameters from ?10 on.
  std::string condition() const;
  // The filter must outlive the statement's steps.
  void bind(DbStatement& statement) const;

 private:
  friend class FilterReader;
  // A comparison of one member; `words` is the operator: "=", ">".
  std::string compared(std::string_view key, std::string_view words, const Json& value);
  std::string parameter(std::string value);

  // On rows of `documents`, with '?' for each value, in their order.
  std::string condition_;
  std::vector<std::string> values_;
};

}  // namespace ruv
