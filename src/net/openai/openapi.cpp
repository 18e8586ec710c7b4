// GET /openapi.json: the routes and their fields, made of the tables that check requests.
#include <algorithm>

#include "base/json.h"
#include "net/body_tables.h"
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
    schema["minimum"] = row.least;
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

// A field that is not supported has its neutral values and null.
Json field_schema(const FieldRow& row) {
  Json schema = Json::object();
  if (*row.doc != '\0') schema["description"] = row.doc;
  if (row.use != FieldUse::unsupported) return schema;
  Json values = *parse_json(row.neutral, "neutral values");
  values.push_back(nullptr);
  schema["enum"] = std::move(values);
  return schema;
}

// Fields that are not in the table are refused.
Json body_schema(const BodyTable& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const FieldRow& row : table.rows) {
    properties[row.name] = field_schema(row);
    if (std::string_view(row.doc).starts_with("required")) required.push_back(row.name);
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

// One method of one path.
Json operation_json(const Route& route) {
  Json operation = Json::object();
  const size_t brace = route.path.find('{');
  if (brace != std::string::npos) {
    const std::string name = route.path.substr(brace + 1, route.path.find('}') - brace - 1);
    operation["parameters"].push_back(
        Json{{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  if (!route.body_table.empty()) {
    operation["requestBody"] = {
        {"required", true},
        {"content", json_content({{"$ref", "#/components/schemas/" + route.body_table}})}};
  }
  operation["responses"] = {
      {"200", {{"description", "The answer."}}},
      {"default",
       {{"description", "An error."},
        {"content", json_content({{"$ref", "#/components/schemas/error"}})}}}};
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

Json document(const std::vector<Route>& routes) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    std::string method = route.method;
    std::ranges::transform(method, method.begin(),
                           [](char c) { return static_cast<char>(c | 32); });
    paths[route.path][method] = operation_json(route);
  }
  Json schemas = {{"error", error_schema()}};
  for (const BodyTable* table : body_tables()) schemas[table->name] = body_schema(*table);
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "RuvLLM"}, {"version", RUV_VERSION}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
          {"security", Json::array({Json{{"key", Json::array()}}})}};
}

}  // namespace

Route openapi_route(const std::vector<Route>& routes) {
  Route route = simple_route(
      "GET", "/openapi.json",
      [text = document(routes).dump()](const HttpRequest&) { return HttpResponse{.body = text}; });
  route.thread = RouteThread::network;
  route.scope = KeyScope::any;
  return route;
}

}  // namespace ruv
