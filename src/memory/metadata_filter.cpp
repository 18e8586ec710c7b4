// The tree of a filter is walked with a stack of its own: texts that are written as they are, and
// nodes whose parts are put on the stack in their place.
#include "memory/metadata_filter.h"

#include <fmt/format.h>

#include "base/json_fields.h"

namespace ruv {
namespace {

constexpr int kFirstParameter = 10;

// The operator of SQL; empty: the type is none of these.
std::string_view order_of(std::string_view type) {
  if (type == "gt") return ">";
  if (type == "gte") return ">=";
  if (type == "lt") return "<";
  if (type == "lte") return "<=";
  return {};
}

// What SQLite's functions of JSON compare as a value.
bool is_comparable(const Json& value) {
  return value.is_string() || value.is_number() || value.is_boolean();
}

}  // namespace

// Writes the condition from left to right; an error names the first part that is wrong.
class FilterReader {
 public:
  // Fails: invalid.
  Status read(const Json& filter, const std::string& where) {
    todo_.push_back({&filter, where});
    while (!todo_.empty()) {
      const Part part = std::move(todo_.back());
      todo_.pop_back();
      if (part.node == nullptr) {
        out_.condition_ += part.text;
      } else {
        TRY(read_node(*part.node, part.text));
      }
    }
    return {};
  }
  MetadataFilter take() { return std::move(out_); }

 private:
  // A node with its place in the filter, or a text of SQL that is written as it is.
  struct Part {
    const Json* node = nullptr;
    std::string text;
  };

  Status read_node(const Json& node, const std::string& where) {
    if (!node.is_object()) return fail(Code::invalid, "'{}' must be an object", where);
    const Json* type = find_field(node, "type");
    if (type == nullptr || !type->is_string()) {
      return fail(Code::invalid, "'{}.type' must be a text", where);
    }
    if (*type == "and" || *type == "or") return read_group(node, type->text(), where);
    return read_comparison(node, type->text(), where);
  }

  // That there are no members but these and "type".
  static Status check_members(const Json& node, std::string_view other, std::string_view another,
                              const std::string& where) {
    for (const auto& [name, value] : node.items()) {
      if (name != "type" && name != other && name != another) {
        return fail(Code::invalid, "'{}.{}' is unknown", where, name);
      }
    }
    return {};
  }

  // Its parts are looked at next, between what joins them.
  Status read_group(const Json& node, std::string_view type, const std::string& where) {
    TRY(check_members(node, "filters", "filters", where));
    const Json* parts = find_field(node, "filters");
    if (parts == nullptr || !parts->is_array() || parts->empty()) {
      return fail(Code::invalid, "'{}.filters' must be a list with at least one filter", where);
    }
    if (parts->size() > MetadataFilter::kMostComparisons) return too_many(where);
    todo_.push_back({nullptr, ")"});
    for (size_t i = parts->size(); i-- > 0;) {
      todo_.push_back({&(*parts)[i], fmt::format("{}.filters[{}]", where, i)});
      if (i > 0) todo_.push_back({nullptr, type == "and" ? " AND " : " OR "});
    }
    todo_.push_back({nullptr, "("});
    return {};
  }

  // {"type", "key", "value"}, which is written at once.
  Status read_comparison(const Json& node, std::string_view type, const std::string& where) {
    const bool is_list = type == "in" || type == "nin";
    const bool is_equal = type == "eq" || type == "ne";
    const std::string_view order = order_of(type);
    if (!is_list && !is_equal && order.empty()) {
      return fail(Code::invalid, "'{}.type' must be eq, ne, gt, gte, lt, lte, in, nin, and, or or",
                  where);
    }
    TRY(check_members(node, "key", "value", where));
    const Json* key = find_field(node, "key");
    if (key == nullptr || !key->is_string()) {
      return fail(Code::invalid, "'{}.key' must be a text", where);
    }
    const Json* value = find_field(node, "value");
    if (value == nullptr) return fail(Code::invalid, "'{}.value' is required", where);
    const std::string name(key->text());
    if (is_list) return read_list(name, *value, type == "nin", where);
    if (!is_comparable(*value) || (!is_equal && value->is_boolean())) {
      return fail(Code::invalid, "'{}.value' must be a text{}", where,
                  is_equal ? ", a number or a boolean" : " or a number");
    }
    if (++n_comparisons_ > MetadataFilter::kMostComparisons) return too_many(where);
    if (type == "ne") out_.condition_ += "NOT ";
    out_.condition_ += out_.compared(name, is_equal ? "=" : order, *value);
    return {};
  }

  // Any of the values, or none of them.
  Status read_list(const std::string& name, const Json& list, bool is_not,
                   const std::string& where) {
    if (!list.is_array() || list.empty()) {
      return fail(Code::invalid, "'{}.value' must be a list with at least one value", where);
    }
    n_comparisons_ += list.size();
    if (n_comparisons_ > MetadataFilter::kMostComparisons) return too_many(where);
    out_.condition_ += is_not ? "NOT (" : "(";
    for (size_t i = 0; i < list.size(); ++i) {
      if (!is_comparable(list[i])) {
        return fail(Code::invalid, "'{}.value[{}]' must be a text, a number or a boolean", where,
                    i);
      }
      if (i > 0) out_.condition_ += " OR ";
      out_.condition_ += out_.compared(name, "=", list[i]);
    }
    out_.condition_ += ")";
    return {};
  }

  static Status too_many(const std::string& where) {
    return fail(Code::invalid, "'{}': more than {} comparisons", where,
                MetadataFilter::kMostComparisons);
  }

  MetadataFilter out_;
  std::vector<Part> todo_;  // the last is next
  size_t n_comparisons_ = 0;
};

std::string MetadataFilter::parameter(std::string value) {
  values_.push_back(std::move(value));
  return "?";
}

// Numbers are read by SQLite on both sides, so that equal ones stay equal.
std::string MetadataFilter::compared(std::string_view key, std::string_view words,
                                     const Json& value) {
  const std::string name = parameter(std::string(key));
  std::string test;
  if (value.is_boolean()) {
    test = value.get<bool>() ? "type = 'true'" : "type = 'false'";
  } else if (value.is_string()) {
    test =
        fmt::format("type = 'text' AND value {} {}", words, parameter(std::string(value.text())));
  } else {
    test = fmt::format("type IN ('integer', 'real') AND value {} json_extract({}, '$')", words,
                       parameter(value.dump()));
  }
  return fmt::format("EXISTS (SELECT 1 FROM json_each(documents.metadata) WHERE key = {} AND {})",
                     name, test);
}

Result<MetadataFilter> MetadataFilter::of_members(const Json& members) {
  if (!members.is_object()) return fail(Code::invalid, "metadata: not an object");
  MetadataFilter filter;
  for (const auto& [key, value] : members.items()) {
    if (!is_comparable(value)) {
      return fail(Code::unsupported, "metadata.{}: texts, numbers and booleans can be compared",
                  key);
    }
    if (!filter.condition_.empty()) filter.condition_ += " AND ";
    filter.condition_ += filter.compared(key, "=", value);
  }
  return filter;
}

Result<MetadataFilter> MetadataFilter::parse(const Json& filter, const std::string& where) {
  FilterReader reader;
  TRY(reader.read(filter, where));
  return reader.take();
}

// Conditions are put in brackets, as either may be of several joined by AND or OR.
MetadataFilter MetadataFilter::both(const MetadataFilter& other) const {
  if (empty()) return other;
  MetadataFilter joined = *this;
  if (other.empty()) return joined;
  joined.condition_ = "(" + condition_ + ") AND (" + other.condition_ + ")";
  joined.values_.insert(joined.values_.end(), other.values_.begin(), other.values_.end());
  return joined;
}

// Neither keys nor values are in the text, so that each '?' is a parameter.
std::string MetadataFilter::condition() const {
  std::string numbered;
  int next = kFirstParameter;
  for (const char c : empty() ? std::string("1") : condition_) {
    numbered += c;
    if (c == '?') numbered += std::to_string(next++);
  }
  return "document IN (SELECT id FROM documents WHERE " + numbered + ")";
}

void MetadataFilter::bind(DbStatement& statement) const {
  int next = kFirstParameter;
  for (const std::string& value : values_) statement.bind(next++, std::string_view(value));
}

}  // namespace ruv
