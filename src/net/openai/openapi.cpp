// GET /openapi.json: the routes and their fields, made of the tables that check requests.
#include <algorithm>

#include "base/json.h"
#include "net/anthropic/messages.h"
#include "net/body_tables.h"
#include "net/ollama/ollama.h"
#include "net/openai/field_kinds.h"
#include "net/openai/fields.h"
#include "net/openai/routes.h"
#include "ruv/options.h"
#include "ruv/version.h"

namespace ruv {
namespace {

// Type and range of an option.
Json option_schema(const OptionRow& row) {
  using Kind = OptionRow::Kind;
  Json schema = {{"description", row.doc}};
  if (row.kind == Kind::flag) {
    schema["type"] = {"boolean", "null"};
  } else if (row.kind == Kind::integer) {
    schema["type"] = {"integer", "null"};
    // -1 is one of top_k's names for 0.
    schema["minimum"] = row.name == std::string_view("top_k") ? -1 : row.least;
    schema["maximum"] = row.most;
  } else if (row.kind == Kind::number) {
    schema["type"] = {"number", "null"};
    schema["minimum"] = row.min;
    schema["maximum"] = row.max;
  } else if (row.kind == Kind::texts) {
    schema["type"] = {"array", "string", "null"};
    schema["items"] = {{"type", "string"}};
    schema["maxItems"] = row.most;
    for (const std::string_view word : row.words) schema["items"]["enum"].push_back(word);
  }
  return schema;
}

bool is_required(const FieldRow& row) { return std::string_view(row.doc).starts_with("required"); }

// A field that is not supported has its neutral values and null; these say nothing of others, too.
Json field_schema(const BodyTable& table, const FieldRow& row) {
  Json schema = Json::object();
  if (*row.doc != '\0') schema["description"] = row.doc;
  Json kind = row.use == FieldUse::honoured ? field_kind(table, row.name) : Json::object();
  if (row.use != FieldUse::unsupported && kind.empty()) return schema;
  Json values = *parse_json(row.neutral, "neutral values");
  if (!is_required(row)) values.push_back(nullptr);
  if (kind.empty()) {
    schema["enum"] = std::move(values);
  } else if (values.empty()) {
    for (const auto& [name, value] : kind.items()) schema[name] = value;
  } else {
    schema["anyOf"] = {std::move(kind), Json{{"enum", std::move(values)}}};
  }
  return schema;
}

// Fields that are not in the table are refused.
Json body_schema(const BodyTable& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const FieldRow& row : table.rows) {
    properties[row.name] = field_schema(table, row);
    if (is_required(row)) required.push_back(row.name);
  }
  for (const OptionRow& row : generate_options()) {
    if (takes_option(table, row.name)) properties[row.name] = option_schema(row);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

// A body or answer in JSON.
Json json_content(Json schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

// The name of the schema of errors as the route's API writes them.
const char* error_name(const Route& route) {
  if (route.write_error == messages_error) return "anthropic_error";
  return route.write_error == ollama_error ? "ollama_error" : "error";
}

// Errors that are found before a request is one of an API's are OpenAI's.
Json error_content(const Route& route) {
  const Json openai = {{"$ref", "#/components/schemas/error"}};
  const std::string name = error_name(route);
  if (name == "error") return json_content(openai);
  return json_content({{"anyOf", {Json{{"$ref", "#/components/schemas/" + name}}, openai}}});
}

// The types of an answer; what is in it, the pages of the APIs say.
Json answer_content(const Route& route) {
  Json content = Json::object();
  for (const std::string& type : route.types) content[type] = Json::object();
  return content;
}

// One method of one path.
Json operation_json(const Route& route) {
  Json operation = Json::object();
  for (size_t at = 0; (at = route.path.find('{', at)) != std::string::npos; ++at) {
    const std::string name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    operation["parameters"].push_back(
        Json{{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  if (!route.body_table.empty()) {
    operation["requestBody"] = {
        {"required", true},
        {"content", json_content({{"$ref", "#/components/schemas/" + route.body_table}})}};
  }
  operation["responses"] = {
      {"200", {{"description", "The answer."}, {"content", answer_content(route)}}},
      {"default", {{"description", "An error."}, {"content", error_content(route)}}}};
  if (!route.needs_key) operation["security"] = Json::array();
  return operation;
}

// The error object of OpenAI's API.
Json error_schema() {
  const Json text = {{"type", "string"}};
  const Json text_or_null = {{"type", {"string", "null"}}};
  return {{"type", "object"},
          {"required", {"error"}},
          {"properties",
           {{"error",
             {{"type", "object"},
              {"required", {"message", "type", "param", "code"}},
              {"properties",
               {{"message", text},
                {"type", text},
                {"param", text_or_null},
                {"code", text_or_null}}}}}}}};
}

// {"type": "error", "error": {"type", "message"}}.
Json anthropic_error_schema() {
  const Json text = {{"type", "string"}};
  return {{"type", "object"},
          {"required", {"type", "error"}},
          {"properties",
           {{"type", {{"const", "error"}}},
            {"error",
             {{"type", "object"},
              {"required", {"type", "message"}},
              {"properties", {{"type", text}, {"message", text}}}}}}}};
}

Json ollama_error_schema() {
  return {{"type", "object"},
          {"required", Json::array({"error"})},
          {"properties", {{"error", {{"type", "string"}}}}}};
}

Json document(const std::vector<Route>& routes) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    std::string method = route.method;
    std::ranges::transform(method, method.begin(),
                           [](char c) { return static_cast<char>(c | 32); });
    paths[route.path][method] = operation_json(route);
  }
  Json schemas = {{"error", error_schema()},
                  {"anthropic_error", anthropic_error_schema()},
                  {"ollama_error", ollama_error_schema()}};
  for (const BodyTable* table : body_tables()) schemas[table->name] = body_schema(*table);
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "RuvLLM"}, {"version", RUV_VERSION}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}}}};
}

// The same for a server that asks for keys.
Json with_keys(Json document) {
  document["components"]["securitySchemes"] = {{"key", {{"type", "http"}, {"scheme", "bearer"}}}};
  document["security"] = Json::array({Json{{"key", Json::array()}}});
  return document;
}

}  // namespace

Route openapi_route(const std::vector<Route>& routes) {
  const Json open = document(routes);
  Route route = simple_route(
      "GET", "/openapi.json",
      [open = open.dump(), keyed = with_keys(open).dump()](const HttpRequest& request) {
        return HttpResponse{.body = request.has_own_key ? keyed : open};
      });
  route.thread = RouteThread::network;
  route.scope = KeyScope::any;
  return route;
}

}  // namespace ruv
