// What the tables of fields say is so, for each field of each route: with another value of a field
// that is honoured the answer differs, or what the engine was asked; a value that has no effect, or
// asks for nothing, changes neither; all else is refused by name. tests/cases/fields.json has the
// values, and the status where it is not 200: a form of the answer is refused by the scripted
// engine, which holds none. A field without a value, and a route that does not answer, fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "audit/audit_log.h"
#include "base/file.h"
#include "base/test_safetensors.h"
#include "net/body_tables.h"
#include "net/ollama/ollama.h"
#include "net/openai/sessions.h"
#include "net/openai/test_case_server.h"
#include "ruv/options.h"

namespace ruv {
namespace {

// Where fields stand in a body: in the object at the end of these steps.
struct FieldPlace {
  std::string name;  // in the file of values
  std::string table;
  std::span<const FieldRow> rows;
  bool has_options = false;
  std::string where = {};  // before a field's name in errors
  Json steps = Json::array();
};

std::vector<FieldPlace> field_places() {
  std::vector<FieldPlace> places;
  for (const BodyTable* table : body_tables()) {
    places.push_back({table->name, table->name, table->rows, table->has_options});
  }
  places.push_back({.name = "ollama_options",
                    .table = "ollama_chat",
                    .rows = ollama_options(),
                    .where = "options.",
                    .steps = {"options"}});
  places.push_back({.name = "message",
                    .table = "chat",
                    .rows = message_fields(),
                    .where = "messages[0].",
                    .steps = {"messages", 0}});
  return places;
}

// An option's value that is not the usual one.
Json other_value(const OptionRow& row) {
  const OptionValue usual = row.get({});
  if (row.kind == OptionRow::Kind::flag) return !std::get<bool>(usual);
  if (row.kind == OptionRow::Kind::texts) return row.words.empty() ? "x" : row.words.front();
  if (row.kind == OptionRow::Kind::integer) {
    const int64_t whole = std::get<int64_t>(usual);
    return whole < row.most ? whole + 1 : whole - 1;
  }
  const double middle = std::min(row.min + 1, (row.min + row.max) / 2);
  return middle == std::get<double>(usual) ? row.max : middle;
}

class FieldEffects : public testing::Test {
 protected:
  // "tuned" and "other", of a model that the scripted engine does not compute with.
  std::unique_ptr<AdapterRegistry> make_adapters() const {
    const auto model = *load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
    const ModelInfo info = model_info(*model);
    auto registry = std::make_unique<AdapterRegistry>(model);
    for (const std::string name : {"tuned", "other"}) {
      const std::string folder = folder_ + "/" + name;
      const std::string module = "base_model.model.model.layers.0.mlp.up_proj.lora_";
      std::filesystem::create_directory(folder);
      std::ofstream(folder + "/adapter_config.json") << R"({"peft_type":"LORA","r":2})";
      std::ofstream(folder + "/adapter_model.safetensors", std::ios::binary)
          << safetensors_of({counted(module + "A.weight", 2, info.n_embd),
                             counted(module + "B.weight", info.n_ff, 2)});
      EXPECT_TRUE(registry->load(name, std::filesystem::canonical(folder)));
    }
    return registry;
  }

  using RouteName = std::pair<std::string, std::string>;  // method and path

  FieldEffects() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-fields-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    store_ = *SessionStore::open({.folder = folder_ + "/sessions"});
    keeper_ = std::make_unique<SessionKeeper>(*store_);
    adapters_ = make_adapters();
    server_ = std::make_unique<CaseServer>(keeper_.get(), adapters_.get(), folder_, memory_.get());
    audit_ = std::move(*AuditLog::start(*AuditStore::open({.folder = folder_ + "/audit"}), {}));
    server_->keep_audit(*audit_);
    const std::string path = RUV_SOURCE_DIR "/tests/cases/fields.json";
    values_ = *parse_json(*read_text_file(path), path);
    MemoryCatalog& catalog = memory_.get()->catalog();
    const int64_t tenant = *catalog.tenant("");
    constexpr std::string_view kText =
        "The sea was wide and nobody spoke of the harbour, where the ships lay in a long row.";
    for (const char* id : {"a", "b"}) {
      CatalogFile file;
      file.id = file.name = id;
      file.n_bytes = std::ssize(kText);
      EXPECT_TRUE(catalog.add_file(tenant, file, kText, 1000).value_or(false));
    }
    CatalogStore store;
    store.id = "a";
    store.active_s = 1'700'000'000;
    EXPECT_TRUE(catalog.add_store(tenant, store).ok());
    put_session("kept", "Before");
  }
  ~FieldEffects() override {
    server_.reset();
    audit_.reset();
    keeper_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  // The routes with that table of fields, as "POST /path".
  static std::vector<RouteName> routes_of(const std::string& table) {
    const OpenAiService none;
    OneModel models(none);
    std::vector<RouteName> found;
    for (const Route& route : api_routes(models)) {
      if (route.body_table != table) continue;
      std::string path = route.path;
      for (size_t at = 0; (at = path.find('{')) != std::string::npos;) {
        path.replace(at, path.find('}', at) + 1 - at, "a");
      }
      found.emplace_back(route.method, path);
    }
    return found;
  }

  // What is to be sent for a field: {"value", "status"?, "beside"?, "without"?, "format"?}.
  Json sent_for(const FieldPlace& place, const std::string& field) const {
    const Json& own = values_.at("tables").at(place.name).at("fields");
    if (own.contains(field)) return own.at(field);
    if (values_.at("shared").contains(field)) return values_.at("shared").at(field);
    if (const OptionRow* row = find_generate_option(field); row != nullptr && place.has_options)
      return {{"value", other_value(*row)}};
    return nullptr;
  }

  Json body_for(const FieldPlace& place, const Json& sent) const {
    Json body = values_.at("tables").at(place.name).at("body");
    if (sent.contains("beside")) body.update(sent.at("beside"));
    for (const Json& name : sent.value("without", Json::array())) body.erase(name.text());
    return body;
  }

  static Json with(Json body, const FieldPlace& place, const std::string& field, Json value) {
    Json* at = &body;
    for (const Json& step : place.steps) {
      if (!step.is_string()) {
        at = &(*at)[step.get<size_t>()];
        continue;
      }
      if (!at->contains(step.text())) (*at)[step.text()] = Json::object();
      at = &(*at)[step.text()];
    }
    (*at)[field] = std::move(value);
    return body;
  }

  void put_session(const std::string& name, const std::string& text) {
    ask_once({"PUT", "/v1/sessions/" + name},
             {{"messages", {{{"role", "user"}, {"content", text}}}}});
  }

  // The memory is as it was before each request.
  Json ask(const RouteName& route, const Json& body) {
    if (route.second.starts_with("/v1/memory/")) {
      server_->answer({{"request",
                        {{"path", "/v1/memory/documents"},
                         {"body", values_.at("tables").at("memory_document").at("body")}}}});
    }
    if (route.second == "/v1/sessions/search") {
      put_session("kept", "Before");
      put_session("sea", "The sea was wide before.");
    }
    if (route.second.starts_with("/v1/vector_stores/")) {
      const Json file = {{"file_id", "a"}, {"attributes", {{"year", 2020}}}};
      server_->answer({{"request", {{"path", "/v1/vector_stores/a/files"}, {"body", file}}}});
    }
    return without_counts(ask_once(route, body));
  }
  // Ids that are counted are not an effect.
  static Json without_counts(const Json& answer) {
    return *parse_json(std::regex_replace(answer.dump(), std::regex("(vs|vsfb)_[0-9]+"), "$1_"),
                       "answer");
  }
  Json ask_once(const RouteName& route, const Json& body) {
    return server_->answer(
        {{"request", {{"method", route.first}, {"path", route.second}, {"body", body}}},
         {"format", values_.at("format")},
         {"bos", true},
         {"marks", values_.at("marks")},
         {"scripts", values_.at("scripts")}});
  }

  using Visit = std::function<void(const FieldPlace&, const RouteName&, const FieldRow&)>;
  // Calls `visit` for each row of that use, on each route that has it.
  void each(FieldUse use, const Visit& visit) const {
    for (const FieldPlace& place : field_places()) {
      const auto routes = routes_of(place.table);
      EXPECT_FALSE(routes.empty()) << place.table;
      for (const FieldRow& row : place.rows) {
        if (row.use != use) continue;
        for (const RouteName& route : routes) visit(place, route, row);
      }
    }
  }

  // That a value of the field, sent as the file says, gives another answer.
  void expect_effect(const FieldPlace& place, const RouteName& route, const std::string& field) {
    const std::string what = fmt::format("{} {}: {}", route.first, route.second, field);
    const Json sent = sent_for(place, field);
    ASSERT_TRUE(sent.is_object()) << what << " has no value in tests/cases/fields.json";
    const Json body = body_for(place, sent);
    const Json before = ask(route, body);
    const Json after = ask(route, with(body, place, field, sent.at("value")));
    if (!sent.contains("without")) {
      EXPECT_EQ(before.at("status"), 200) << what << " " << before.dump();
    }
    EXPECT_EQ(after.at("status"), sent.value("status", 200)) << what << " " << after.dump();
    EXPECT_NE(before, after) << what;
  }

  std::string folder_;
  CaseMemory memory_;
  std::unique_ptr<SessionStore> store_;
  std::unique_ptr<AdapterRegistry> adapters_;
  std::unique_ptr<SessionKeeper> keeper_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<CaseServer> server_;
  Json values_;
};

TEST_F(FieldEffects, OfHonouredFieldsAreSeen) {
  each(FieldUse::honoured, [&](const auto& place, const auto& route, const FieldRow& row) {
    expect_effect(place, route, row.name);
  });
}

TEST_F(FieldEffects, OfOptionsAreSeen) {
  for (const FieldPlace& place : field_places()) {
    const BodyTable table{"", place.rows, 0, place.has_options};
    for (const RouteName& route : routes_of(place.table)) {
      for (const OptionRow& row : generate_options()) {
        if (takes_option(table, row.name)) expect_effect(place, route, row.name);
      }
    }
  }
}

TEST_F(FieldEffects, OfFieldsWithoutEffectAreNone) {
  each(FieldUse::no_effect, [&](const auto& place, const auto& route, const FieldRow& row) {
    const Json sent = sent_for(place, row.name);
    ASSERT_TRUE(sent.is_object()) << row.name << " has no value in tests/cases/fields.json";
    const Json body = body_for(place, sent);
    Json before = ask(route, body);
    Json after = ask(route, with(body, place, row.name, sent.at("value")));
    EXPECT_EQ(before.at("status"), 200) << route.second << ": " << row.name << before.dump();
    // The caller's notes come back.
    if (sent.value("is_echoed", false)) {
      EXPECT_EQ(after.at("body").at(row.name), sent.at("value"));
      for (Json* answer : {&before, &after}) (*answer)["body"].erase(row.name);
    }
    EXPECT_EQ(before, after) << route.second << ": " << row.name;
  });
}

// As if the field were not there.
TEST_F(FieldEffects, OfNeutralValuesAreNone) {
  for (const FieldUse use : {kHonoured, kNoEffect, kUnsupported}) {
    each(use, [&](const auto& place, const auto& route, const FieldRow& row) {
      Json values = *parse_json(row.neutral, row.name);
      values.push_back(nullptr);
      Json body = with(body_for(place, Json::object()), place, row.name, nullptr);
      Json without = body;
      if (place.steps.empty()) without.erase(row.name);
      const Json before = ask(route, without);
      for (const Json& value : values) {
        const Json after = ask(route, with(body, place, row.name, value));
        EXPECT_EQ(before, after) << route.second << ": " << row.name << " " << value.dump();
      }
    });
  }
}

TEST_F(FieldEffects, OfUnsupportedFieldsAreRefusals) {
  each(kUnsupported, [&](const auto& place, const auto& route, const FieldRow& row) {
    const Json body = body_for(place, Json::object());
    const Json after = ask(route, with(body, place, row.name, {{"something", 1}}));
    EXPECT_EQ(after.at("status"), 400) << route.second << ": " << row.name;
    EXPECT_NE(after.dump().find(fmt::format("'{}{}'", place.where, row.name)), std::string::npos)
        << after.dump();
  });
}

TEST_F(FieldEffects, OfUnknownFieldsAreRefusals) {
  for (const FieldPlace& place : field_places()) {
    for (const RouteName& route : routes_of(place.table)) {
      for (const Json& value : {Json(1), Json(nullptr)}) {
        const Json body = body_for(place, Json::object());
        const Json after = ask(route, with(body, place, "no_such_field", value));
        EXPECT_EQ(after.at("status"), 400) << route.second;
        EXPECT_NE(after.dump().find(place.where + "no_such_field'"), std::string::npos)
            << after.dump();
      }
    }
  }
}

}  // namespace
}  // namespace ruv
