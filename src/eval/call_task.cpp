#include "eval/call_task.h"

#include <algorithm>
#include <map>

#include "eval/call_check.h"
#include "eval/line_objects.h"

namespace ruv {
namespace {

constexpr int64_t kMostCallTokens = 512;
constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"dict", "object"},     {"float", "number"},  {"tuple", "array"},
    {"integer", "integer"}, {"string", "string"}, {"boolean", "boolean"},
    {"array", "array"},     {"object", "object"}, {"number", "number"}};
constexpr std::string_view kAnyType = "any";

std::string without_dots(std::string_view name) {
  std::string plain(name);
  std::ranges::replace(plain, '.', '_');
  return plain;
}

// Types of JSON schema in a schema and those below it.
Status translate_types(Json& schema) {
  std::vector<Json*> open = {&schema};
  while (!open.empty()) {
    Json& at = *open.back();
    open.pop_back();
    if (!at.is_object()) return fail(Code::corrupt, "a schema is not an object");
    if (const Json* const type = at.find("type")) {
      if (!type->is_string()) return fail(Code::corrupt, "a schema's type is not a text");
      const std::string name(type->text());
      const auto row = std::ranges::find(kTypes, name, [](const auto& pair) { return pair.first; });
      if (row != std::end(kTypes)) {
        at["type"] = row->second;
      } else if (name == kAnyType) {
        at.erase("type");
      } else {
        return fail(Code::corrupt, "a schema has the type '{}'", name.substr(0, 80));
      }
    }
    if (Json* const items = at.find("items"); items != nullptr && items->is_object()) {
      open.push_back(items);
    }
    Json* const properties = at.find("properties");
    if (properties == nullptr) continue;
    if (!properties->is_object()) return fail(Code::corrupt, "\"properties\" is not an object");
    for (auto [key, property] : properties->items()) open.push_back(&property);
  }
  return {};
}

// The functions of a question, as tools have them.
Result<Json> functions_of(const Json& line) {
  Json functions = line["function"];
  if (!functions.is_array() || functions.empty()) {
    return fail(Code::corrupt, "\"function\" must be a list of functions");
  }
  for (Json& function : functions.elements()) {
    if (!function["name"].is_string() || !function["parameters"].is_object()) {
      return fail(Code::corrupt, "a function needs \"name\" and \"parameters\"");
    }
    function["name"] = without_dots(function["name"].text());
    TRY(translate_types(function["parameters"]));
  }
  return functions;
}

// The turn, with the functions as its tools.
Result<Conversation> conversation_of(const Json& line, const Json& functions) {
  const Json& turns = line["question"];
  if (!turns.is_array() || turns.size() != 1) {
    return fail(Code::invalid, "\"question\" must be a list of one turn, which has messages");
  }
  Json tools = Json::array();
  for (const Json& function : functions.elements()) {
    Json tool = Json::object();
    tool["type"] = "function";
    tool["function"] = function;
    tools.push_back(std::move(tool));
  }
  Json request = Json::object();
  request["messages"] = turns.front();
  request["tools"] = std::move(tools);
  return parse_conversation(request.dump());
}

// The expected calls by the question's id.
using Answers = std::map<std::string, Json, std::less<>>;

Result<Answers> read_answers(const PublishedFile& file) {
  Answers answers;
  TRY(each_line_object(file.content, file.source, 0, [&](const Json& line) -> Status {
    if (!line["id"].is_string()) return fail(Code::corrupt, "\"id\" must be a text");
    Json expected = line["ground_truth"];
    if (!expected.is_array()) return fail(Code::corrupt, "\"ground_truth\" must be a list");
    Json calls = Json::array();
    for (const Json& call : expected.elements()) {
      if (!call.is_object()) return fail(Code::corrupt, "\"ground_truth\" has no calls");
      Json renamed = Json::object();
      for (const auto& [name, right] : call.items()) renamed[without_dots(name)] = right;
      calls.push_back(std::move(renamed));
    }
    answers.insert_or_assign(line["id"].get<std::string>(), std::move(calls));
    return {};
  }));
  return answers;
}

}  // namespace

Result<EvalTask> read_call_questions(const PublishedFile& file, const PublishedFile& answers,
                                     int64_t limit) {
  const Answers known = TRY(read_answers(answers));
  EvalTask task{.kind = SampleKind::calls, .rules = {}, .samples = {}};
  TRY(each_line_object(file.content, file.source, limit, [&](const Json& line) -> Status {
    if (!line["id"].is_string()) return fail(Code::corrupt, "\"id\" must be a text");
    Json functions = TRY(functions_of(line));
    EvalSample& sample = task.samples.emplace_back();
    sample.conversation = TRY(conversation_of(line, functions));
    sample.max_new_tokens = kMostCallTokens;
    Json expected = Json::array();
    if (!answers.source.empty()) {
      const auto found = known.find(line["id"].text());
      if (found == known.end()) {
        return fail(Code::invalid, "{} has no answer to \"{}\"", answers.source,
                    line["id"].text().substr(0, 80));
      }
      expected = found->second;
      TRY(check_expected_calls(expected, functions));
    }
    sample.functions = TemplateValue(std::move(functions));
    sample.expected_calls = TemplateValue(std::move(expected));
    return {};
  }));
  if (task.samples.empty()) return fail(Code::invalid, "{}: there is no sample", file.source);
  return task;
}

}  // namespace ruv
