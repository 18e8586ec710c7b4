#include "net/openai/answer_form.h"

#include "base/json.h"
#include "net/openai/fields.h"
#include "net/openai/structural_tag.h"

namespace ruv {
namespace {

using Kind = AnswerForm::Kind;

constexpr std::string_view kAnyObject = R"({"type": "object"})";

AskedForm asked(std::string field, Kind kind, std::string text, bool strict = false) {
  AskedForm made;
  made.field = std::move(field);
  made.form.kind = kind;
  made.form.text = std::move(text);
  made.form.strict = strict;
  return made;
}

// A schema as JSON, or as a text that has JSON.
ApiResult<AskedForm> schema_form(const std::string& field, const Json& value, bool strict = false) {
  if (value.is_string()) return asked(field, Kind::json_schema, std::string(value.text()), strict);
  if (!value.is_object() && !value.is_boolean()) return wrong_type(field, "a JSON schema", value);
  return asked(field, Kind::json_schema, value.dump(), strict);
}

ApiResult<AskedForm> text_form(const std::string& field, Kind kind, const Json& value) {
  if (!value.is_string()) return wrong_type(field, "a string", value);
  return asked(field, kind, std::string(value.text()));
}

ApiResult<AskedForm> tag_form(const std::string& field, const Json& value) {
  return asked(field, Kind::lark, TRY(structural_tag_grammar(field, value)));
}

// Grammars of both syntaxes come in one field: only rules of GBNF have "::=".
ApiResult<AskedForm> grammar_form(const std::string& field, const Json& value) {
  if (!value.is_string()) return wrong_type(field, "a string", value);
  const bool is_gbnf = value.text().find("::=") != std::string_view::npos;
  return text_form(field, is_gbnf ? Kind::gbnf : Kind::lark, value);
}

ApiResult<AskedForm> choice_form(const std::string& field, const Json& value) {
  if (!value.is_array() || value.empty()) return wrong_type(field, "a list of strings", value);
  for (const Json& text : value) {
    if (!text.is_string()) return wrong_type(field, "a list of strings", text);
  }
  return asked(field, Kind::choice, value.dump());
}

// {"type": "json_schema", "json_schema": {"name", "description", "schema", "strict"}}.
ApiResult<AskedForm> named_schema_form(const Json& format) {
  const Json* named = find_field(format, "json_schema");
  if (named == nullptr) return missing_field("response_format.json_schema");
  if (!named->is_object()) return wrong_type("response_format.json_schema", "an object", *named);
  constexpr FieldRow kRows[] = {
      {"name", FieldUse::no_effect, ""},
      {"description", FieldUse::no_effect, ""},
      {"schema", FieldUse::honoured, ""},
      {"strict", FieldUse::honoured, ""},
  };
  TRY(check_fields(*named, kRows, "response_format.json_schema."));
  const bool strict = TRY(read_flag(*named, "strict", false));
  const Json* schema = find_field(*named, "schema");
  if (schema == nullptr) {
    return asked("response_format", Kind::json_schema, std::string(kAnyObject), strict);
  }
  return schema_form("response_format.json_schema.schema", *schema, strict);
}

// OpenAI's field, with what other servers added to it.
ApiResult<std::optional<AskedForm>> response_format(const Json& format) {
  if (!format.is_object()) return wrong_type("response_format", "an object", format);
  const Json* kind = find_field(format, "type");
  if (kind != nullptr && *kind == "structural_tag") {
    return TRY(tag_form("response_format", format));
  }
  constexpr FieldRow kRows[] = {
      {"type", FieldUse::honoured, ""},
      {"json_schema", FieldUse::honoured, ""},
      {"schema", FieldUse::honoured, ""},
  };
  TRY(check_fields(format, kRows, "response_format."));
  const Json* type = find_field(format, "type");
  if (type == nullptr) return missing_field("response_format.type");
  if (*type == "text") return std::nullopt;
  const Json* schema = find_field(format, "schema");  // llama.cpp's
  if (*type == "json_object" && schema == nullptr) {
    return asked("response_format", Kind::json_schema, std::string(kAnyObject));
  }
  if (schema != nullptr) return TRY(schema_form("response_format.schema", *schema));
  if (*type == "json_schema") return TRY(named_schema_form(format));
  return tl::unexpected(
      bad_request("response_format.type",
                  "'response_format.type' must be text, json_object, json_schema or "
                  "structural_tag"));
}

// Members of structured_outputs, which as fields of the body begin with "guided_".
ApiResult<std::optional<AskedForm>> guided(const std::string& field, std::string_view what,
                                           const Json& value) {
  if (what == "json") return TRY(schema_form(field, value));
  if (what == "regex") return TRY(text_form(field, Kind::regex, value));
  if (what == "grammar") return TRY(grammar_form(field, value));
  if (what == "choice") return TRY(choice_form(field, value));
  if (what == "structural_tag") return TRY(tag_form(field, value));
  if (value == false) return std::nullopt;
  if (value != true) return wrong_type(field, "true or false", value);
  return asked(field, Kind::json_schema, std::string(kAnyObject));
}

// One of its members at a time.
ApiResult<std::optional<AskedForm>> structured_outputs(const Json& value) {
  if (!value.is_object()) return wrong_type("structured_outputs", "an object", value);
  constexpr FieldRow kRows[] = {
      {"json", FieldUse::honoured, ""},
      {"regex", FieldUse::honoured, ""},
      {"choice", FieldUse::honoured, ""},
      {"grammar", FieldUse::honoured, ""},
      {"json_object", FieldUse::honoured, ""},
      {"structural_tag", FieldUse::honoured, ""},
      {"whitespace_pattern", FieldUse::unsupported, ""},
  };
  TRY(check_fields(value, kRows, "structured_outputs."));
  std::optional<AskedForm> found;
  for (const char* name : {"json", "regex", "choice", "grammar", "json_object", "structural_tag"}) {
    const Json* member = find_field(value, name);
    if (member == nullptr) continue;
    const std::string field = std::string("structured_outputs.") + name;
    if (found) {
      return tl::unexpected(bad_request(
          field, fmt::format("'{}' and '{}' both ask for a form; give one", found->field, field)));
    }
    found = TRY(guided(field, name, *member));
  }
  return found;
}

ApiResult<std::optional<AskedForm>> read_field(const std::string& name, const Json& value) {
  if (name == "response_format") return response_format(value);
  if (name == "structured_outputs") return structured_outputs(value);
  if (name == "json_schema") return TRY(schema_form(name, value));
  if (name == "structural_tag") return TRY(tag_form(name, value));
  if (name == "grammar") {
    if (value == "") return std::nullopt;
    return TRY(grammar_form(name, value));
  }
  if (name == "format") {
    if (value == "json") return asked(name, Kind::json_schema, std::string(kAnyObject));
    if (value == "") return std::nullopt;
    return TRY(schema_form(name, value));
  }
  return guided(name, std::string_view(name).substr(std::string_view("guided_").size()), value);
}

}  // namespace

ApiResult<std::optional<AskedForm>> read_answer_form(const Json& body) {
  std::optional<AskedForm> found;
  for (const char* name : {"response_format", "structured_outputs", "json_schema", "structural_tag",
                           "grammar", "format", "guided_json", "guided_regex", "guided_choice",
                           "guided_grammar", "guided_json_object"}) {
    const Json* value = find_field(body, name);
    if (value == nullptr) continue;
    std::optional<AskedForm> asked_here = TRY(read_field(name, *value));
    if (!asked_here) continue;
    if (found) {
      return tl::unexpected(bad_request(
          name, fmt::format("'{}' and '{}' both ask for a form; give one", found->field, name)));
    }
    found = std::move(asked_here);
  }
  return found;
}

}  // namespace ruv
