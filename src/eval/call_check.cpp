#include "eval/call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "chat/jinja/letters.h"

namespace ruv {
namespace {

constexpr size_t kShown = 80;  // bytes of a name in an error
constexpr std::string_view kIgnoredMarks = " ,./-_*^";

// A text as it is compared.
std::string compared(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    at += c.size;
    if (c.value < 0x80 && kIgnoredMarks.find(static_cast<char>(c.value)) != kIgnoredMarks.npos) {
      continue;
    }
    jinja::append_lower(plain, c.value == '\'' ? '"' : c.value);
  }
  return plain;
}

bool same_text(const Json& a, const Json& b) {
  return a.is_string() && b.is_string() && compared(a.text()) == compared(b.text());
}

// Texts of a list are compared as texts are; what is deeper is compared as it is.
bool same_list(const Json& a, const Json& b) {
  return std::ranges::equal(a.elements(), b.elements(), [](const Json& x, const Json& y) {
    return x.is_string() ? same_text(x, y) : x == y;
  });
}

bool is_optional(const Json& right) {
  return std::ranges::any_of(right.elements(),
                             [](const Json& one) { return one.is_string() && one.empty(); });
}

// An object whose members have lists of right values.
bool same_object(const Json& value, const Json& right) {
  for (const auto& [key, one] : value.items()) {
    const Json* const values = right.find(key);
    if (values == nullptr || !values->is_array()) return false;
    const Json& v = one;
    const bool found = std::ranges::any_of(values->elements(), [&v](const Json& expected) {
      return v.is_string() ? same_text(v, expected) : v == expected;
    });
    if (!found) return false;
  }
  for (const auto& [key, values] : right.items()) {
    if (!value.contains(key) && !(values.is_array() && is_optional(values))) return false;
  }
  return true;
}

bool same_objects(const Json& values, const Json& right) {
  return std::ranges::equal(values.elements(), right.elements(), [](const Json& x, const Json& y) {
    return x.is_object() && y.is_object() && same_object(x, y);
  });
}

// Whether `value` is the right one of `expected`, both of any type.
bool same_value(const Json& value, const Json& expected) {
  if (value.is_string()) return same_text(value, expected);
  if (value.is_object()) return expected.is_object() && same_object(value, expected);
  if (!value.is_array()) return value == expected;
  if (!expected.is_array()) return false;
  const bool has_objects = !value.empty() && value.front().is_object();
  return has_objects ? same_objects(value, expected) : same_list(value, expected);
}

// "integer" for numbers that are written as such.
std::string_view type_of_value(const Json& value) {
  return value.is_number_integer() || value.is_big_integer() ? "integer" : value.type_name();
}

// Empty: the schema takes anything.
std::string_view type_of_schema(const Json& schema) {
  const Json& type = schema.is_object() ? schema["type"] : schema;
  return type.is_string() ? type.text() : std::string_view();
}

// Null: all right values are the empty text.
const Json* first_value(const Json& right) {
  for (const Json& expected : right.elements()) {
    if (!expected.is_string() || !expected.empty()) return &expected;
  }
  return nullptr;
}

// Elements have the type of the schema's elements or that of a right list's first one, unless some
// right value is not a list.
bool has_element_types(const Json& list, const Json& right, const Json& schema) {
  const std::string_view type = type_of_schema(schema["items"]);
  if (type.empty()) return true;
  return std::ranges::any_of(right.elements(), [&](const Json& expected) {
    if (!expected.is_array()) return true;
    const Json* const first = first_value(expected);
    return std::ranges::all_of(list.elements(), [&](const Json& element) {
      const std::string_view own = type_of_value(element);
      return own == type || (first != nullptr && own == type_of_value(*first));
    });
  });
}

// Where the first right value has another type than the schema, variables are meant: they are
// compared as they are. An integer is a number, too, but not in lists.
bool argument_is_right(const Json& value, const Json& right, const Json& schema) {
  const std::string_view type = type_of_schema(schema);
  const std::string_view own = type == "number" && value.is_number() ? type : type_of_value(value);
  const Json* const first = first_value(right);
  const std::string_view expected_type = first == nullptr ? type : type_of_value(*first);
  const bool fits = type.empty() || own == type;
  if (fits && type == "array" && !has_element_types(value, right, schema)) return false;
  if (!fits && own != expected_type) return false;
  if (value.is_array() && value.empty() && is_optional(right)) return true;  // as if absent
  const bool is_variable = !type.empty() && (!fits || expected_type != type);
  return std::ranges::any_of(right.elements(), [&](const Json& expected) {
    return is_variable ? value == expected : same_value(value, expected);
  });
}

// Null: there is none of this name.
const Json* find_function(const Json& functions, std::string_view name) {
  for (const Json& function : functions.elements()) {
    if (function["name"].is_string() && function["name"].text() == name) return &function;
  }
  return nullptr;
}

// Whether a call is the one of `expected`, which has one member.
bool call_is_expected(const ToolCall& call, const Json& expected, const Json& functions) {
  const auto [name, right] = *expected.items().begin();
  if (call.name != name) return false;
  const auto arguments = parse_json(call.arguments, "arguments");
  if (!arguments || !arguments->is_object()) return false;
  const Json& parameters = (*find_function(functions, name))["parameters"];
  const Json& properties = parameters["properties"];
  if (parameters["required"].is_array()) {
    for (const Json& required : parameters["required"].elements()) {
      if (required.is_string() && !arguments->contains(required.text())) return false;
    }
  }
  for (const auto& [key, value] : arguments->items()) {
    const Json* const schema = properties.is_object() ? properties.find(key) : nullptr;
    const Json* const values = right.find(key);
    if (schema == nullptr || values == nullptr) return false;
    if (!argument_is_right(value, *values, *schema)) return false;
  }
  for (const auto& [key, values] : right.items()) {
    if (!arguments->contains(key) && !is_optional(values)) return false;
  }
  return true;
}

}  // namespace

// Each expected call takes the first call that is one and was not taken.
bool calls_are_expected(std::span<const ToolCall> calls, const Json& expected,
                        const Json& functions) {
  if (calls.size() != expected.size()) return false;
  std::vector<bool> is_taken(calls.size(), false);
  for (const Json& one : expected.elements()) {
    size_t i = 0;
    while (i < calls.size() && (is_taken[i] || !call_is_expected(calls[i], one, functions))) ++i;
    if (i == calls.size()) return false;
    is_taken[i] = true;
  }
  return true;
}

Status check_expected_calls(const Json& expected, const Json& functions) {
  if (!expected.is_array()) return fail(Code::corrupt, "the expected calls are not a list");
  for (const Json& call : expected.elements()) {
    if (!call.is_object() || call.size() != 1) {
      return fail(Code::corrupt, "an expected call is not an object with one function");
    }
    const auto [name, right] = *call.items().begin();
    if (find_function(functions, name) == nullptr) {
      return fail(Code::corrupt, "'{}' is expected and is not a function", name.substr(0, kShown));
    }
    if (!right.is_object()) return fail(Code::corrupt, "the expected arguments are not an object");
    for (const auto& [key, values] : right.items()) {
      if (values.is_array()) continue;
      return fail(Code::corrupt, "the argument '{}' has no list of right values",
                  key.substr(0, kShown));
    }
  }
  return {};
}

}  // namespace ruv
