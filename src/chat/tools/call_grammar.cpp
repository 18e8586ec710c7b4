// Two shapes: text with calls between marks, and messages with headers. Whatever begins a call in
// the eyes of the parser is kept out of all text before it.
#include "chat/tools/call_grammar.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/lark_writer.h"
#include "chat/tools/value_grammar.h"

namespace ruv {
namespace {

using Marks = std::vector<std::string_view>;

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
      : dialect_(format.dialect), options_(options), lark_(format.control) {}

  Result<std::string> run(const Json& list) {
    tools_ = TRY(chosen_tools(list));
    switch (dialect_.shape) {
      case ToolDialect::Shape::plain:
        return fail(Code::unsupported, "the format of the model's calls is not known");
      case ToolDialect::Shape::marked:
        TRY(marked_answer());
        break;
      case ToolDialect::Shape::channels:
        channel_answer();
        break;
    }
    return lark_.grammar();
  }

 private:
  Result<std::vector<GivenTool>> chosen_tools(const Json& list) const {
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

  // Text, and calls between marks.
  Status marked_answer() {
    std::string calls;
    for (size_t i = 0; i < tools_.size(); ++i) {
      lark_.rule(fmt::format("call{}", i), TRY(call_body(tools_[i], i)));
      calls += fmt::format("{}call{}", i == 0 ? "" : " | ", i);
    }
    lark_.rule("call", calls);
    const bool is_prefilled =
        !dialect_.prefilled.empty() && options_.prompt_tail.ends_with(dialect_.prefilled);
    std::string section = section_marks(dialect_.section_begin) + " call";
    if (options_.parallel && dialect_.parallel) {
      section += fmt::format(" ({} call)*", lark_.text(dialect_.separator));
    }
    section += section_marks(dialect_.section_end);
    lark_.rule("section", section);
    std::string answer = "section";
    if (is_prefilled) TRY(prefilled_section(answer));
    if (!options_.required) answer = fmt::format("({})", content_or(answer));
    lark_.rule("start", thinking() + " " + answer);
    return {};
  }

  // The prompt has written the mark of the first call.
  Status prefilled_section(std::string& answer) {
    std::string first;
    for (size_t i = 0; i < tools_.size(); ++i) {
      skips_mark_ = true;
      lark_.rule(fmt::format("first{}", i), TRY(call_body(tools_[i], i)));
      skips_mark_ = false;
      first += fmt::format("{}first{}", i == 0 ? "" : " | ", i);
    }
    answer = fmt::format("({})", first);
    if (options_.parallel && dialect_.parallel) {
      answer += fmt::format(" ({} call)*", lark_.text(dialect_.separator));
    }
    return {};
  }

  // A value of the schema instead of calls, or text and perhaps calls.
  std::string content_or(const std::string& calls) {
    if (options_.content_schema.empty()) return text_or(calls);
    return fmt::format("{} | %json {}", calls, options_.content_schema);
  }

  // Text in which nothing looks like a call, and then perhaps calls.
  std::string text_or(const std::string& calls) {
    Marks marks = begin_marks();
    if (!dialect_.reasoning.begin.empty()) marks.push_back(dialect_.reasoning.begin);
    if (!dialect_.bare) return fmt::format("{}? ({})?", lark_.text_without(marks), calls);
    // Calls without marks of their own are at the beginning of the answer.
    std::string starts = "{[";
    for (const std::string_view mark : marks) {
      starts += mark_core(mark).front();
    }
    const bool named =
        dialect_.section_begin.empty() && dialect_.call.front().kind == CallPartKind::name;
    if (named) starts += "a-zA-Z_";
    return fmt::format("{}? | {}", lark_.text_without(marks, {}, starts), calls);
  }

  // The marks by which a parser knows that a call begins.
  Marks begin_marks() const {
    const auto& first = dialect_.section_begin.empty() ? dialect_.call : dialect_.section_begin;
    Marks marks;
    for (const CallPart& part : first) {
      if (part.kind != CallPartKind::mark) break;
      const bool is_sign = dialect_.bare && mark_core(part.text).size() == 1;
      if (!is_sign && !mark_core(part.text).empty()) marks.push_back(part.text);
      if (!part.optional) break;
    }
    return marks;
  }

  // Marks that may be missing are left out by some models only where the dialect is bare or after
  // the last call.
  std::string section_marks(const std::vector<CallPart>& list) const {
    std::string made;
    for (const CallPart& part : list) {
      made += part.optional ? optional(lark_.text(part.text)) : lark_.text(part.text);
    }
    return made;
  }

  static std::string optional(const std::string& items) {
    return items.empty() ? items : fmt::format(" ({})?", items);
  }

  // Reasoning, which the prompt may have begun. A call inside it is none, unless it ends it.
  std::string thinking() {
    const ReasoningMarks& marks = dialect_.reasoning;
    if (marks.end.empty()) return "";
    const bool begun = open_reasoning(marks, options_.prompt_tail).has_value();
    Marks without = {marks.end};
    if (marks.ended_by_call) {
      for (const std::string_view mark : begin_marks()) without.push_back(mark);
    }
    const std::string rest =
        fmt::format("{} {} /\\n*/", lark_.text_without(without), lark_.text(marks.end));
    if (begun) return marks.ended_by_call ? optional(rest) : rest;
    return optional(lark_.text(marks.begin) + " " + rest);
  }

  Result<std::string> call_body(const GivenTool& tool, size_t number) {
    std::string made;
    for (const CallPart& part : dialect_.call) {
      const bool is_mark = part.kind == CallPartKind::mark;
      if (skips_mark_ && made.empty() && is_mark) continue;
      made += TRY(part_text(part, tool, number));
    }
    return made;
  }

  Result<std::string> part_text(const CallPart& part, const GivenTool& tool, size_t number) {
    const std::string id = fmt::format("tool:{}", number);
    switch (part.kind) {
      case CallPartKind::mark: {
        const bool may_miss = part.optional && (dialect_.bare || mark_core(part.text).empty());
        return may_miss ? optional(lark_.text(part.text)) : lark_.text(part.text);
      }
      case CallPartKind::number:
        return std::string(" /[0-9]{1,9}/");
      case CallPartKind::id:
        return std::string(dialect_.has_ids ? " /[a-zA-Z0-9]{9}/" : " /[a-zA-Z0-9_-]{1,64}/");
      case CallPartKind::skipped:
        return std::string(" /[a-zA-Z0-9_.-]{1,64}/");
      case CallPartKind::name:
        return lark_.text(tool.name);
      case CallPartKind::named_id:
        return lark_.text(part.text + tool.name + ":") + " /[0-9]{1,9}/";
      case CallPartKind::json:
        return " %json " + placed_schema(tool, id).dump();
      case CallPartKind::object:
        return " %json " + call_schema(tool, id).dump();
      case CallPartKind::tagged:
        return ValueGrammar(dialect_, lark_, tool.parameters, id).tagged_arguments();
      case CallPartKind::nested:
        return ValueGrammar(dialect_, lark_, tool.parameters, id).nested_arguments();
      case CallPartKind::literals:
        return ValueGrammar(dialect_, lark_, tool.parameters, id).literal_arguments();
    }
    return fail(Code::unsupported, "the format of the model's calls is not known");
  }

  // The schema of a tool's arguments, as a resource of its own, so that references to its root stay
  // right wherever it is put.
  static Json placed_schema(const GivenTool& tool, const std::string& id) {
    Json schema = tool.parameters;
    if (schema.is_object() && !schema.contains("$id")) schema["$id"] = id;
    if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
    if (schema.is_object()) close_parameters(schema);
    return schema;
  }

  Json call_schema(const GivenTool& tool, const std::string& id) const {
    const CallKeys& keys = dialect_.keys;
    Json properties = Json::object();
    Json required = Json::array();
    const auto add = [&](const std::string& key, Json schema) {
      properties[key] = std::move(schema);
      required.push_back(key);
    };
    if (keys.name_is_key) {
      add(tool.name, placed_schema(tool, id));
    } else {
      add(keys.name.at(0), Json{{"const", tool.name}});
      add(keys.arguments.at(0), placed_schema(tool, id));
      if (!keys.id.empty()) {
        const char* pattern = dialect_.has_ids ? "^[a-zA-Z0-9]{9}$" : "^[a-zA-Z0-9_-]{1,64}$";
        properties[keys.id.at(0)] = Json{{"type", "string"}, {"pattern", pattern}};
        if (dialect_.has_ids) required.push_back(keys.id.at(0));
      }
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
  }

  // Messages: reasoning, perhaps text, then calls. The prompt has written where the first begins.
  void channel_answer() {
    const std::string message = lark_.text("<|message|>");
    const std::string next = lark_.text("<|start|>assistant");
    std::string calls;
    for (size_t i = 0; i < tools_.size(); ++i) {
      const std::string to = " to=functions." + tools_[i].name;
      const std::string json =
          optional(fmt::format("{} | \" json\"", lark_.text(" <|constrain|>json")));
      lark_.rule(
          fmt::format("call{}", i),
          fmt::format("({}{} | {}{}) {} {} %json {}", lark_.text("<|channel|>commentary" + to),
                      json, lark_.text(to + "<|channel|>commentary"), json, message, "",
                      placed_schema(tools_[i], fmt::format("tool:{}", i)).dump()));
      calls += fmt::format("{}call{}", i == 0 ? "" : " | ", i);
    }
    lark_.rule("call", calls);
    const std::string call_end = lark_.text("<|call|>");
    std::string section = "call";
    if (options_.parallel && dialect_.parallel) {
      section += fmt::format(" ({} {} call)*", call_end, next);
    }
    // The last mark ends the answer, and engines that know that leave it out.
    section += optional(call_end);
    lark_.rule("section", section);
    const std::string text =
        lark_.text_without({"<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|message|>"});
    const std::string thought =
        fmt::format("{} {} {}", lark_.text("<|channel|>analysis<|message|>"), text,
                    lark_.text("<|end|><|start|>assistant"));
    const std::string content =
        options_.content_schema.empty() ? text : " %json " + options_.content_schema;
    const std::string said =
        fmt::format("{} {}", lark_.text("<|channel|>final<|message|>"), content);
    lark_.rule("start",
               fmt::format("({})* (section{})", thought,
                           options_.required ? ""
                                             : fmt::format(" | {} {}", said,
                                                           optional(lark_.text("<|return|>")))));
  }

  const ToolDialect& dialect_;
  const CallGrammarOptions& options_;
  LarkWriter lark_;
  std::vector<GivenTool> tools_;
  bool skips_mark_ = false;  // of the first call, which the prompt has written
};

}  // namespace

Result<std::string> call_grammar(const AnswerFormat& format, const Json& tools,
                                 const CallGrammarOptions& options) {
  return CallGrammar(format, options).run(tools);
}

}  // namespace ruv
