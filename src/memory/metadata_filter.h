// MetadataFilter: which documents a search may find, by their metadata: comparisons of members and
// what joins them, which each database writes as SQL of its own, with values as parameters. A
// document that lacks a member fulfils none of its comparisons but "ne" and "nin"; numbers are
// compared with numbers and texts with texts, byte by byte.
#pragma once

#include <string>
#include <string_view>
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

  bool empty() const { return parts_.empty(); }
  // Documents that both filters take.
  MetadataFilter both(const MetadataFilter& other) const;

  enum class Values : uint8_t { texts, numbers, booleans };
  // From left to right: a word that is the same in all SQL, as a bracket, AND or NOT; or, where
  // that is empty, the comparison of a member.
  struct Part {
    std::string_view word = {};
    std::string key = {};
    std::string_view order = {};  // "=", ">", ">=", "<" or "<="
    Values values = Values::texts;
    std::string value = {};  // a text itself; a number or boolean as JSON has it
  };
  const std::vector<Part>& parts() const { return parts_; }

  // For SQLite: a condition on rows of `chunks`, with parameters from ?10 on.
  std::string condition() const;
  // The filter must outlive the statement's steps.
  void bind(DbStatement& statement) const;

 private:
  friend class FilterReader;
  void join(std::string_view word);
  // A comparison of one member with a text, a number or a boolean.
  void compare(std::string_view key, std::string_view order, const Json& value);
  std::vector<Part> parts_;
};

}  // namespace ruv
