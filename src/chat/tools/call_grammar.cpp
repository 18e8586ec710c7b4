#include "chat/tools/call_grammar.h"

#include <algorithm>

#include "base/json.h"

namespace ruv {
namespace {

// A tool of the request.
struct GivenTool {
  std::string name;
  Json parameters;
};

// A function of a list of tools, or the entry itself.
const Json& function_of(const Json& entry) {
  const Json* function = entry.is_object() ? entry.find("function") : nullptr;
  return function == nullptr ? entry : *function;
}

std::string quoted_text(std::string_view text) { return Json(text).dump(); }

// A regular expression of exactly this text.
std::string escaped_pattern(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (std::string_view("\\/.*+?()[]{}|^$&~\"#").find(c) != std::string_view::npos) made += '\\';
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c;
    }
  }
  return made;
}

// Whether a schema of texts asks for more than a text: patterns and lengths of texts that are not
// written as JSON.
bool has_limits(const Json& schema) {
  constexpr std::string_view kPlain[] = {"type", "description", "title", "default", "examples"};
  for (const auto& [key, value] : schema.items()) {
    if (std::ranges::find(kPlain, key) == std::end(kPlain)) return true;
  }
  return false;
}

// A function has the parameters that its schema lists and no others, although JSON Schema allows
// other members where it does not forbid them: small models would invent some. A schema that says
// what else it allows, or lists members in other places, is left as it is.
void close_parameters(Json& schema) {
  constexpr std::string_view kOpen[] = {"additionalProperties",
                                        "unevaluatedProperties",
                                        "patternProperties",
                                        "propertyNames",
                                        "minProperties",
                                        "dependentSchemas",
                                        "dependencies",
                                        "allOf",
                                        "anyOf",
                                        "oneOf",
                                        "not",
                                        "if",
                                        "$ref",
                                        "$dynamicRef",
                                        "$recursiveRef"};
  for (const std::string_view key : kOpen) {
    if (schema.contains(key)) return;
  }
  const Json* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object()) return;
  const Json* required = schema.find("required");
  if (required != nullptr && required->is_array()) {
    for (const Json& name : *required) {
      if (name.is_string() && !properties->contains(name.text())) return;
    }
  }
  schema["additionalProperties"] = false;
}

class CallGrammar {
 public:
  CallGrammar(const AnswerFormat& format, const CallGrammarOptions& options)
      : format_(format), dialect_(format.dialect), options_(options) {}

  Result<std::string> run(const Json& list) {
    const std::vector<GivenTool> tools = TRY(chosen_tools(list));
    std::string calls;
    for (size_t i = 0; i < tools.size(); ++i) {
      rule(fmt::format("call{}", i), TRY(call_body(tools[i], i)));
      calls += fmt::format("{}call{}", i == 0 ? "" : " | ", i);
    }
    rule("call", calls);
    std::string section = TRY(parts(dialect_.section_begin, nullptr)) + " call";
    if (options_.parallel && dialect_.parallel) {
      section += fmt::format(" ({} call)*", literal(dialect_.separator));
    }
    section += TRY(parts(dialect_.section_end, nullptr));
    rule("section", section);
    std::string start = thinking();
    if (options_.required) {
      start += " section";
    } else if (!options_.content_schema.empty()) {
      start += fmt::format(" (section | %json {})", options_.content_schema);
    } else {
      start += fmt::format(" {}? section?", text_without(first_mark()));
    }
    rule("start", start);
    return std::move(text_);
  }

 private:
  void rule(std::string_view name, std::string_view body) {
    text_ += fmt::format("{}: {}\n", name, body);
  }

  Result<std::vector<GivenTool>> chosen_tools(const Json& list) const {
    if (dialect_.shape != ToolDialect::Shape::marked || dialect_.call.empty()) return unsupported();
    std::vector<GivenTool> tools;
    for (const Json& entry : list) {
      const Json& function = function_of(entry);
      const Json* name = function.is_object() ? function.find("name") : nullptr;
      if (name == nullptr || !name->is_string()) continue;
      const bool is_wanted =
          options_.names.empty() ||
          std::ranges::find(options_.names, name->text()) != options_.names.end();
      if (!is_wanted) continue;
      const Json* parameters = function.find("parameters");
      tools.push_back({std::string(name->text()), parameters == nullptr || parameters->is_null()
                                                      ? Json{{"properties", Json::object()}}
                                                      : *parameters});
    }
    if (tools.empty()) return fail(Code::invalid, "no tool of this name is given");
    return tools;
  }

  tl::unexpected<Status> unsupported() const {
    return fail(Code::unsupported, "calls of the format \"{}\" cannot be held to a schema yet",
                dialect_.name);
  }

  // Text with control tokens in it: these are tokens of their own.
  std::string literal(std::string_view text) const {
    std::string made;
    while (!text.empty()) {
      size_t at = text.size();
      const std::pair<std::string, Token>* first = nullptr;
      for (const auto& control : format_.control) {
        const size_t found = text.find(control.first);
        if (found < at) {
          at = found;
          first = &control;
        }
      }
      if (at > 0) made += " " + quoted_text(text.substr(0, at));
      text.remove_prefix(at);
      if (first == nullptr) break;
      made += fmt::format(" <[{}]>", first->second);
      text.remove_prefix(first->first.size());
    }
    return made;
  }

  bool is_control(std::string_view text) const {
    return std::ranges::any_of(format_.control, [&](const auto& control) {
      return text.find(control.first) != std::string_view::npos;
    });
  }

  // The name of a terminal of all texts in which `mark` does not occur.
  std::string text_without(std::string_view mark) {
    const std::string_view core = mark_core(mark);
    const std::string name = fmt::format("TEXT{}", n_texts_++);
    if (core.empty() || is_control(core)) {
      rule(name, "/.*/s");
    } else {
      rule(name, fmt::format("/.*/s & ~/.*{}.*/s", escaped_pattern(core)));
    }
    return name;
  }

  std::string first_mark() const {
    for (const auto* list : {&dialect_.section_begin, &dialect_.call}) {
      for (const CallPart& part : *list) {
        if (part.kind == CallPartKind::mark && !mark_core(part.text).empty()) return part.text;
      }
    }
    return {};
  }

  // Reasoning, which the prompt may have begun.
  std::string thinking() {
    const ReasoningMarks& marks = dialect_.reasoning;
    if (marks.end.empty()) return "";
    const std::string begin =
        marks.begin.empty() ? "" : fmt::format("({} )?", literal(marks.begin));
    const std::string text = text_without(marks.end);
    return fmt::format("({}{} {} /\\n*/)?", begin, text, literal(marks.end));
  }

  Result<std::string> parts(const std::vector<CallPart>& list, const GivenTool* tool) {
    std::string made;
    for (const CallPart& part : list) made += TRY(part_text(part, tool));
    return made;
  }

  Result<std::string> part_text(const CallPart& part, const GivenTool* tool) {
    switch (part.kind) {
      case CallPartKind::mark:
        return literal(part.text);
      case CallPartKind::number:
        return std::string(" /[0-9]+/");
      case CallPartKind::id:
        return std::string(" /[a-zA-Z0-9]{9}/");
      default:
        break;
    }
    if (tool == nullptr) return unsupported();
    switch (part.kind) {
      case CallPartKind::name:
        return " " + quoted_text(tool->name);
      case CallPartKind::named_id:
        return fmt::format(" {} /[0-9]+/", quoted_text(part.text + tool->name + ":"));
      case CallPartKind::json:
        return " %json " + placed_schema(*tool).dump();
      case CallPartKind::object:
        return " %json " + call_schema(*tool).dump();
      case CallPartKind::tagged:
        return tagged_arguments(*tool);
      default:
        return unsupported();
    }
  }

  Result<std::string> call_body(const GivenTool& tool, size_t number) {
    tool_number_ = number;
    return parts(dialect_.call, &tool);
  }

  // The schema of a tool's arguments, as a resource of its own, so that references to its root stay
  // right wherever it is put.
  Json placed_schema(const GivenTool& tool) const {
    Json schema = tool.parameters;
    if (schema.is_object() && !schema.contains("$id")) {
      schema["$id"] = fmt::format("tool:{}", tool_number_);
    }
    if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
    if (schema.is_object()) close_parameters(schema);
    return schema;
  }

  Json call_schema(const GivenTool& tool) const {
    const CallKeys& keys = dialect_.keys;
    Json properties = Json::object();
    Json required = Json::array();
    const auto add = [&](const std::string& key, Json schema) {
      properties[key] = std::move(schema);
      required.push_back(key);
    };
    if (keys.name_is_key) {
      add(tool.name, placed_schema(tool));
    } else {
      add(keys.name.at(0), Json{{"const", tool.name}});
      add(keys.arguments.at(0), placed_schema(tool));
      if (!keys.id.empty()) {
        const char* pattern = dialect_.has_ids ? "^[a-zA-Z0-9]{9}$" : "^[a-zA-Z0-9]{1,9}$";
        add(keys.id.at(0), Json{{"type", "string"}, {"pattern", pattern}});
      }
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
  }

  // Each property between its tags, in order; those that are not required may be left out.
  Result<std::string> tagged_arguments(const GivenTool& tool) {
    const Json* properties =
        tool.parameters.is_object() ? tool.parameters.find("properties") : nullptr;
    if (properties == nullptr) return std::string();
    if (!properties->is_object()) return fail(Code::invalid, "properties must be an object");
    const Json* list = tool.parameters.find("required");
    std::string made;
    for (const auto& [key, schema] : properties->items()) {
      const bool is_required =
          list != nullptr && list->is_array() && std::ranges::find(*list, Json(key)) != list->end();
      const std::string one = TRY(tagged_argument(key, schema));
      made += is_required ? one : fmt::format(" ({} )?", one);
    }
    return made;
  }

  Result<std::string> tagged_argument(std::string_view key, const Json& schema) {
    const Json* type = schema.is_object() ? schema.find("type") : nullptr;
    const bool is_text = type != nullptr && *type == "string";
    const auto form = std::ranges::find_if(dialect_.tagged.forms, [&](const TagForm& at) {
      return at.value == TagValue::by_schema || (at.value == TagValue::text) == is_text;
    });
    if (form == dialect_.tagged.forms.end()) return unsupported();
    std::string value;
    const Json* choices = is_text ? schema.find("enum") : nullptr;
    if (choices != nullptr && choices->is_array()) {
      for (const Json& choice : *choices) {
        if (!choice.is_string()) continue;
        value += (value.empty() ? "(" : " | ") + quoted_text(choice.text());
      }
      value += ")";
    } else if (is_text) {
      if (has_limits(schema)) return unsupported();
      value = text_without(form->value_end);
    } else {
      value = "%json " + schema.dump();
    }
    return fmt::format("{} {}{} {}{}", literal(dialect_.tagged.begin), quoted_text(key),
                       literal(form->key_end), value, literal(form->value_end));
  }

  const AnswerFormat& format_;
  const ToolDialect& dialect_;
  const CallGrammarOptions& options_;
  std::string text_;
  size_t n_texts_ = 0;
  size_t tool_number_ = 0;
};

}  // namespace

Result<std::string> call_grammar(const AnswerFormat& format, const Json& tools,
                                 const CallGrammarOptions& options) {
  return CallGrammar(format, options).run(tools);
}

}  // namespace ruv
