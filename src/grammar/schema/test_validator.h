// A plain validator of JSON Schema for tests: recursive, keyword by keyword as the specifications
// say, on a whole value. It shares nothing with the languages and goals that it is compared with.
//
// Reads schemas of tests only: references are "#" or a pointer into the same document, patterns are
// those of std::regex, numbers have at most three decimals.
#pragma once

#include <set>
#include <string>

#include "base/json.h"

namespace ruv {

class TestValidator {
 public:
  // `draft`: 4, 6, 7, 2019 or 2020. `root` must outlive the object.
  TestValidator(const Json& root, int draft) : root_(root), draft_(draft) {}

  // Requires: references do not lead in a circle for the same value.
  bool valid(const Json& value) const;
  // Equal by value: 1 and 1.0 are, objects have no order.
  static bool equal(const Json& a, const Json& b);

 private:
  // What keywords of schemas that hold have applied to.
  struct Evaluated {
    std::set<std::string, std::less<>> keys;
    std::set<size_t> items;
    void add(const Evaluated& other);
  };
  bool check(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool holds(const Json& schema, const Json& value) const;
  bool check_value(const Json& schema, const Json& value) const;
  bool check_number(const Json& schema, const Json& value) const;
  bool check_text(const Json& schema, const Json& value) const;
  bool check_items(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_contains(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_members(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_counts(const Json& schema, const Json& value) const;
  bool check_dependencies(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_choices(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_unevaluated(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool is_of_type(const Json& value, std::string_view type) const;
  const Json& target(std::string_view reference) const;

  const Json& root_;
  int draft_;
};

}  // namespace ruv
