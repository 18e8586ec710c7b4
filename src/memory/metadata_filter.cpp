// The tree of a filter is walked with a stack of its own: words that are taken as they are, and
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
    steps_.push_back({.node = &filter, .where = where});
    while (!steps_.empty()) {
      const Part part = std::move(steps_.back());
      steps_.pop_back();
      if (part.node == nullptr) {
        out_.join(part.word);
      } else {
        TRY(read_node(*part.node, part.where));
      }
    }
    return {};
  }
  MetadataFilter take() { return std::move(out_); }

 private:
  // A node with its place in the filter, or a word of SQL.
  struct Part {
    const Json* node = nullptr;
    std::string where = {};
    std::string_view word = {};
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
    steps_.push_back({.word = ")"});
    for (size_t i = parts->size(); i-- > 0;) {
      steps_.push_back({.node = &(*parts)[i], .where = fmt::format("{}.filters[{}]", where, i)});
      if (i > 0) steps_.push_back({.word = type == "and" ? "AND" : "OR"});
    }
    steps_.push_back({.word = "("});
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
    if (type == "ne") out_.join("NOT");
    out_.compare(name, is_equal ? "=" : order, *value);
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
    if (is_not) out_.join("NOT");
    out_.join("(");
    for (size_t i = 0; i < list.size(); ++i) {
      if (!is_comparable(list[i])) {
        return fail(Code::invalid, "'{}.value[{}]' must be a text, a number or a boolean", where,
                    i);
      }
      if (i > 0) out_.join("OR");
      out_.compare(name, "=", list[i]);
    }
    out_.join(")");
    return {};
  }

  static Status too_many(const std::string& where) {
    return fail(Code::invalid, "'{}': more than {} comparisons", where,
                MetadataFilter::kMostComparisons);
  }

  MetadataFilter out_;
  std::vector<Part> steps_;  // the last is next
  size_t n_comparisons_ = 0;
};

void MetadataFilter::join(std::string_view word) { parts_.push_back({.word = word}); }

void MetadataFilter::compare(std::string_view key, std::string_view order, const Json& value) {
  Part part{.key = std::string(key), .order = order};
  part.value = value.is_string() ? std::string(value.text()) : value.dump();
  if (value.is_number()) part.values = Values::numbers;
  if (value.is_boolean()) part.values = Values::booleans;
  parts_.push_back(std::move(part));
}

Result<MetadataFilter> MetadataFilter::of_members(const Json& members) {
  if (!members.is_object()) return fail(Code::invalid, "metadata: not an object");
  MetadataFilter filter;
  for (const auto& [key, value] : members.items()) {
    if (!is_comparable(value)) {
      return fail(Code::unsupported, "metadata.{}: texts, numbers and booleans can be compared",
                  key);
    }
    if (!filter.empty()) filter.join("AND");
    filter.compare(key, "=", value);
  }
  return filter;
}

Result<MetadataFilter> MetadataFilter::parse(const Json& filter, const std::string& where) {
  FilterReader reader;
  TRY(reader.read(filter, where));
  return reader.take();
}

// Each is put in brackets, as either may be of several joined by AND or OR.
MetadataFilter MetadataFilter::both(const MetadataFilter& other) const {
  if (empty()) return other;
  if (other.empty()) return *this;
  MetadataFilter joined;
  joined.join("(");
  joined.parts_.insert(joined.parts_.end(), parts_.begin(), parts_.end());
  for (const std::string_view word : {")", "AND", "("}) joined.join(word);
  joined.parts_.insert(joined.parts_.end(), other.parts_.begin(), other.parts_.end());
  joined.join(")");
  return joined;
}

// Numbers are read by SQLite on both sides, so that equal ones stay equal.
std::string MetadataFilter::condition() const {
  std::string text = empty() ? "1" : "";
  int next = kFirstParameter;
  for (const Part& part : parts_) {
    if (!part.word.empty()) {
      text += fmt::format(" {} ", part.word);
      continue;
    }
    text += fmt::format("EXISTS (SELECT 1 FROM json_each(documents.metadata) WHERE key = ?{} AND ",
                        next++);
    if (part.values == Values::booleans) text += fmt::format("type = '{}')", part.value);
    if (part.values == Values::texts) {
      text += fmt::format("type = 'text' AND value {} ?{})", part.order, next++);
    }
    if (part.values == Values::numbers) {
      text += fmt::format("type IN ('integer', 'real') AND value {} json_extract(?{}, '$'))",
                          part.order, next++);
    }
  }
  return "document IN (SELECT id FROM documents WHERE " + text + ")";
}

void MetadataFilter::bind(DbStatement& statement) const {
  int next = kFirstParameter;
  for (const Part& part : parts_) {
    if (!part.word.empty()) continue;
    statement.bind(next++, std::string_view(part.key));
    if (part.values != Values::booleans) statement.bind(next++, std::string_view(part.value));
  }
}

}  // namespace ruv
