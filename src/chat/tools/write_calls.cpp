#include "chat/tools/write_calls.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/json_scan.h"

namespace ruv {
namespace {

using Kind = CallPartKind;

void write_text_literal(const LiteralArguments& syntax, std::string_view text, std::string& out) {
  if (!syntax.quote.empty()) {
    out += syntax.quote;
    out += text;
    out += syntax.quote;
    return;
  }
  out += Json(text).dump();  // also a text of Python
}

void write_literal_members(const LiteralArguments& syntax, const Json& object, char assign,
                           bool bare, std::string& out) {
  bool first = true;
  for (const auto& [key, value] : object.items()) {
    if (!first) out += syntax.quote.empty() ? ", " : ",";
    first = false;
    if (bare && is_bare_key(key)) {
      out += key;
    } else {
      write_text_literal(syntax, key, out);
    }
    out += assign;
    write_literal(syntax, value, out);
  }
}

// Elements in each other. Recursive as Json is.
void write_nested(const NestedArguments& syntax, const Json& value, std::string& out) {
  const auto element = [&](std::string_view name, const Json& inside) {
    out += syntax.prefix + "<" + std::string(name) + ">";
    write_nested(syntax, inside, out);
    out += syntax.prefix + "</" + std::string(name) + ">";
  };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) element(key, member);
  } else if (value.is_array()) {
    for (const Json& item : value) element(syntax.item, item);
  } else {
    out += value.is_string() ? std::string(value.text()) : value.dump();
  }
}

// A form whose end the value does not hold, and that tells a text from JSON as the value needs.
const TagForm* form_for(const TaggedArguments& tags, const Json& value, std::string_view text) {
  for (const TagForm& form : tags.forms) {
    if (form.value == TagValue::text && !value.is_string()) continue;
    if (form.value == TagValue::json && value.is_string()) continue;
    if (text.find(mark_core(form.value_end)) == std::string_view::npos) return &form;
  }
  return nullptr;
}

Result<void> write_tagged(const TaggedArguments& tags, const Json& arguments, std::string& out) {
  for (const auto& [key, value] : arguments.items()) {
    const std::string text = value.is_string() ? std::string(value.text()) : value.dump();
    const TagForm* form = form_for(tags, value, text);
    if (form == nullptr) {
      return fail(Code::invalid, "the argument '{}' holds the text that ends arguments", key);
    }
    out += tags.begin;
    out += key;
    out += form->key_end;
    out += text;
    out += form->value_end;
  }
  return {};
}

// A call as one object.
void write_object(const CallKeys& keys, const ToolCall& call, std::string& out) {
  const std::string name = Json(call.name).dump();
  if (keys.name_is_key) {
    out += "{" + name + ": " + call.arguments + "}";
    return;
  }
  out += "{\"" + keys.name.front() + "\": " + name;
  out += ", \"" + keys.arguments.front() + "\": " + call.arguments;
  if (!keys.id.empty() && !call.id.empty()) {
    out += ", \"" + keys.id.front() + "\": " + Json(call.id).dump();
  }
  out += '}';
}

// One part of a call, as the table has it.
Result<void> write_part(const ToolDialect& dialect, const CallPart& part, const ToolCall& call,
                        size_t index, std::string& out) {
  const Json arguments = TRY(parse_json(call.arguments, "arguments"));
  if (!arguments.is_object()) return fail(Code::invalid, "arguments must be an object");
  switch (part.kind) {
    case Kind::mark:
      out += part.text;
      break;
    case Kind::name:
      out += call.name;
      break;
    case Kind::id:
      out += call.id;
      break;
    case Kind::named_id:
      out += part.text + call.name + ":" + std::to_string(index);
      break;
    case Kind::number:
      out += std::to_string(index);
      break;
    case Kind::skipped:
      out += "tools";
      break;
    case Kind::json:
      out += call.arguments;
      break;
    case Kind::tagged:
      return write_tagged(dialect.tagged, arguments, out);
    case Kind::nested:
      write_nested(dialect.nested, arguments, out);
      break;
    case Kind::literals:
      out += dialect.literals.open;
      write_literal_members(dialect.literals, arguments, dialect.literals.assign, true, out);
      out += dialect.literals.close;
      break;
    case Kind::object:
      write_object(dialect.keys, call, out);
      break;
  }
  return {};
}

// A message for each call; the prompt ends where the first header begins.
std::string write_channels(std::span<const ToolCall> calls) {
  std::string out;
  for (const ToolCall& call : calls) {
    if (!out.empty()) out += "<|start|>assistant";
    out += "<|channel|>commentary to=functions." + call.name + " <|constrain|>json<|message|>" +
           call.arguments + "<|call|>";
  }
  return out;
}

}  // namespace

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void write_literal(const LiteralArguments& syntax, const Json& value, std::string& out) {
  const bool python = syntax.quote.empty();
  if (value.is_object()) {
    out += '{';
    write_literal_members(syntax, value, ':', !python, out);
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : value) {
      if (!first) out += ',';
      first = false;
      write_literal(syntax, item, out);
    }
    out += ']';
  } else if (value.is_string()) {
    write_text_literal(syntax, value.text(), out);
  } else if (python && value.is_null()) {
    out += "None";
  } else if (python && value.is_boolean()) {
    out += value.get<bool>() ? "True" : "False";
  } else {
    out += value.dump();
  }
}

Result<std::string> write_calls(const ToolDialect& dialect, std::span<const ToolCall> calls) {
  if (dialect.shape == ToolDialect::Shape::channels) return write_channels(calls);
  if (dialect.shape == ToolDialect::Shape::plain) {
    return fail(Code::unsupported, "the dialect has no calls");
  }
  if (calls.size() > 1 && !dialect.parallel) {
    return fail(Code::invalid, "the dialect has one call in an answer");
  }
  std::string out;
  const auto write_marks = [&](const std::vector<CallPart>& parts) {
    for (const CallPart& part : parts) {
      if (!part.optional || !dialect.bare) out += part.text;
    }
  };
  write_marks(dialect.section_begin);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out += dialect.separator;
    for (const CallPart& part : dialect.call) {
      if (part.optional && dialect.bare) continue;
      TRY(write_part(dialect, part, calls[i], i, out));
    }
  }
  write_marks(dialect.section_end);
  return out;
}

}  // namespace ruv
