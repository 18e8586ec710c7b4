// The accepted calls of the Berkeley function calling leaderboard, with the schemas of its tools:
// each is written as every dialect writes it, comes back equal and is valid. Accepted calls that
// are not valid are listed in tests/cases/tools/bfcl.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/rng.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"
#include "property/tool_forms.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInvalid = RUV_SOURCE_DIR "/tests/cases/tools/bfcl.txt";

fs::path bfcl_folder() {
  const char* given = std::getenv("RUV_DATA_DIR");
  const fs::path data = given != nullptr ? given : RUV_SOURCE_DIR "/../shared/data";
  return data / "function_calling/bfcl_v4";
}

std::vector<Json> json_lines(const fs::path& path) {
  std::vector<Json> made;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) made.push_back(*parse_json(line, "entry"));
  return made;
}

// The names of types are those of Python and JavaScript. Recursive as the tools are.
Json json_schema_of(const Json& given) {
  if (given.is_array()) {
    Json list = Json::array();
    for (const Json& item : given) list.push_back(json_schema_of(item));
    return list;
  }
  if (!given.is_object()) return given;
  Json made = Json::object();
  for (const auto& [key, value] : given.items()) {
    if (key == "type" && value.is_string()) {
      static const std::map<std::string, std::string, std::less<>> kTypes = {
          {"dict", "object"},
          {"tuple", "array"},
          {"float", "number"},
          {"String", "string"},
          {"Boolean", "boolean"}};
      const auto type = kTypes.find(value.text());
      if (value == "any" || value == "") continue;
      made["type"] = type == kTypes.end() ? value : Json(type->second);
    } else if (key == "properties" || key == "items") {
      Json inner = Json::object();
      if (key == "items") {
        inner = json_schema_of(value);
      } else {
        for (const auto& [name, schema] : value.items()) inner[name] = json_schema_of(schema);
      }
      made[key] = std::move(inner);
    } else if (key == "required" || key == "enum") {
      made[key] = value;
    }
  }
  // The choices of a list are those of its items.
  if (made.contains("items") && made.contains("enum")) {
    made["items"]["enum"] = made["enum"];
    made.erase("enum");
  }
  return made;
}

Json tool_of(const Json& function) {
  return {{"type", "function"},
          {"function",
           {{"name", function["name"]}, {"parameters", json_schema_of(function["parameters"])}}}};
}

// A value of an accepted answer: members of objects have lists of accepted values, too, of which
// the first that is not "" counts.
Json accepted_value(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(accepted_value(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json made = Json::object();
  for (const auto& [key, values] : value.items()) {
    if (!values.is_array()) {
      made[key] = values;
      continue;
    }
    const auto first = std::ranges::find_if(values, [](const Json& one) { return one != ""; });
    if (!values.empty()) made[key] = accepted_value(first == values.end() ? values[0] : *first);
  }
  return made;
}

struct BfclEntry {
  std::string id;
  Json tools = Json::array();
  std::vector<ToolCall> calls = {};

  Json schema_of(const std::string& name) const {
    for (const Json& tool : tools) {
      if (tool["function"]["name"] == name) return tool["function"]["parameters"];
    }
    return {};
  }
  void add(std::string_view name, const Json& arguments) {
    calls.push_back({std::string(name), fmt::format("id{:07}", calls.size()), arguments.dump()});
  }
};

class BfclReader {
 public:
  BfclReader(ToolForms& forms, fs::path folder) : forms_(forms), folder_(std::move(folder)) {}

  std::vector<BfclEntry> category(const std::string& name) {
    const std::vector<Json> questions = json_lines(folder_ / ("BFCL_v4_" + name + ".jsonl"));
    const std::vector<Json> answers =
        json_lines(folder_ / "possible_answer" / ("BFCL_v4_" + name + ".jsonl"));
    EXPECT_EQ(questions.size(), answers.size());
    std::vector<BfclEntry> made;
    for (size_t i = 0; i < answers.size(); ++i) {
      BfclEntry entry{answers[i]["id"].get<std::string>()};
      EXPECT_EQ(questions[i]["id"], answers[i]["id"]);
      if (name.starts_with("multi_turn")) {
        read_turns(questions[i], answers[i], entry);
      } else {
        for (const Json& function : questions[i]["function"]) {
          entry.tools.push_back(tool_of(function));
        }
        for (const Json& call : answers[i]["ground_truth"]) add_accepted(call, entry);
      }
      made.push_back(std::move(entry));
    }
    return made;
  }

 private:
  // {"name": {"argument": [accepted values]}}: the first value that is valid counts, and "" means
  // that the argument may be missing.
  void add_accepted(const Json& call, BfclEntry& entry) {
    for (const auto& [name, accepted] : call.items()) {
      const Json schema = entry.schema_of(std::string(name));
      Json arguments = Json::object();
      for (const auto& [key, values] : accepted.items()) {
        const Json property = schema.is_null() ? Json::object() : schema["properties"][key];
        const Json value = valid_value(property, values);
        if (value != "") arguments[key] = value;
      }
      entry.add(name, arguments);
    }
  }

  // "": the argument is left out.
  Json valid_value(const Json& property, const Json& values) {
    for (const Json& value : values) {
      const Json made = accepted_value(value);
      if (value != "" && (property.is_null() || forms_.valid(property, made.dump()))) return made;
    }
    return std::ranges::find(values, Json("")) != values.end() ? Json("")
                                                               : accepted_value(values[0]);
  }

  // Calls are written in Python.
  void read_turns(const Json& question, const Json& answer, BfclEntry& entry) {
    static const std::map<std::string, std::string> kFiles = {
        {"GorillaFileSystem", "gorilla_file_system"},
        {"MathAPI", "math_api"},
        {"MessageAPI", "message_api"},
        {"TwitterAPI", "posting_api"},
        {"TicketAPI", "ticket_api"},
        {"TradingBot", "trading_bot"},
        {"TravelAPI", "travel_booking"},
        {"VehicleControlAPI", "vehicle_control"}};
    for (const Json& name : question["involved_classes"]) {
      const fs::path file = kFiles.at(name.get<std::string>()) + ".json";
      for (const Json& function : json_lines(folder_ / "multi_turn_func_doc" / file)) {
        entry.tools.push_back(tool_of(function));
      }
    }
    for (const Json& turn : answer["ground_truth"]) {
      for (const Json& call : turn) add_python(call.get<std::string>(), entry);
    }
  }

  static ToolMessage read_python(const std::string& text) {
    const auto dialect = std::ranges::find(tool_dialects(), "pythonic_list", &ToolDialect::name);
    return parse_output(*dialect, {}, "[" + text + "]");
  }

  // Arguments may come by position, in the order of the schema; all of them, or the first.
  void add_python(const std::string& text, BfclEntry& entry) {
    const size_t open = text.find('(') + 1;
    const std::string name = text.substr(0, open - 1);
    const Json schema = entry.schema_of(name);
    std::vector<std::string> keys;
    for (const auto& [key, property] : schema["properties"].items()) keys.emplace_back(key);
    std::vector<std::string> spellings = {text};
    if (!keys.empty()) spellings.push_back(name + "(" + keys[0] + "=" + text.substr(open));
    for (const std::string& spelling : spellings) {
      const ToolMessage message = read_python(spelling);
      if (message.calls().size() != 1) continue;
      entry.add(name, *parse_json(message.calls()[0].arguments, "arguments"));
      return;
    }
    const std::string list = "[" + text.substr(open, text.rfind(')') - open) + "]";
    const ToolMessage message = read_python("f(a=" + list + ")");
    ASSERT_EQ(message.calls().size(), 1U) << entry.id << ": " << text;
    const Json values = (*parse_json(message.calls()[0].arguments, "arguments"))["a"];
    ASSERT_LE(values.size(), keys.size()) << text;
    Json arguments = Json::object();
    for (size_t i = 0; i < values.size(); ++i) arguments[keys[i]] = values[i];
    entry.add(name, arguments);
  }

  ToolForms& forms_;
  fs::path folder_;
};

// Why a call is not valid; empty: it is.
std::string fault_of(ToolForms& forms, const BfclEntry& entry, const ToolCall& call) {
  const Json schema = entry.schema_of(call.name);
  if (schema.is_null()) return fmt::format("there is no tool {}", call.name);
  const Json arguments = *parse_json(call.arguments, "arguments");
  for (const auto& [key, value] : arguments.items()) {
    const bool is_text = schema["properties"][key].contains("type") || !value.is_string();
    if (is_text || !parse_json(value.text(), "text")) continue;
    return fmt::format(
        "{} of {} is a text, but any value is allowed and dialects without quotes "
        "write {} for another",
        key, call.name, value.text());
  }
  if (forms.valid(schema, call.arguments)) return {};
  for (const auto& [key, value] : arguments.items()) {
    const Json property = schema["properties"][key];
    if (!property.is_null() && !forms.valid(property, value.dump())) {
      return fmt::format("{} of {} is {}, not of {}", key, call.name, value.dump(),
                         property.dump());
    }
  }
  for (const Json& key : schema["required"]) {
    if (!arguments.contains(key.text())) {
      return fmt::format("{} has no {}, which is required", call.name, key.text());
    }
  }
  return fmt::format("{} of {}", call.arguments, call.name);
}

std::map<std::string, std::string> listed_faults() {
  std::map<std::string, std::string> made;
  std::ifstream file{std::string(kInvalid)};
  for (std::string id, why; std::getline(file, id, '\t') && std::getline(file, why);)
    made[id] = why;
  return made;
}

bool equal_calls(const std::vector<ToolCall>& a, const std::vector<ToolCall>& b) {
  return std::ranges::equal(a, b, [](const ToolCall& x, const ToolCall& y) {
    const auto left = parse_json(x.arguments, "arguments");
    const auto right = parse_json(y.arguments, "arguments");
    // Equal texts: numbers have the same digits.
    return x.name == y.name && left && right && left->dump() == right->dump();
  });
}

// Writes and reads the calls in every dialect. Returns the number of dialects.
int check_round_trips(ToolForms& forms, const BfclEntry& entry, Rng& rng) {
  const ToolParserOptions options = {.tools = ToolSchemas(entry.tools)};
  int n = 0;
  for (const ToolDialect& dialect : tool_dialects()) {
    const auto text = write_calls(dialect, entry.calls);
    EXPECT_TRUE(text) << entry.id << " " << dialect.name;
    if (!text) continue;
    std::vector<ToolWarning> warnings;
    const ToolMessage message = parse_output(dialect, options, *text, &warnings);
    const bool same =
        equal_calls(message.calls(), entry.calls) && warnings.empty() && message.content().empty();
    EXPECT_TRUE(same) << entry.id << " " << dialect.name << ": " << *text << "\n"
                      << message.content();
    for (const ToolCall& call : message.calls()) {
      EXPECT_TRUE(forms.valid(entry.schema_of(call.name), call.arguments))
          << entry.id << " " << dialect.name << ": " << call.arguments;
    }
    // In pieces, too.
    ToolParser parser(dialect, options);
    std::vector<ToolDelta> deltas;
    for (size_t at = 0; at < text->size();) {
      const size_t size = 1 + rng.below(16);
      parser.feed(std::string_view(*text).substr(at, size), deltas);
      at += size;
    }
    parser.finish(deltas);
    ToolMessage pieces;
    for (const ToolDelta& delta : deltas) pieces.add(delta);
    EXPECT_EQ(pieces.calls(), message.calls()) << entry.id << " " << dialect.name;
    ++n;
  }
  return n;
}

TEST(BfclCalls, EveryDialectGivesThemBackValid) {
  const fs::path folder = bfcl_folder();
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is absent";
  ToolForms forms({}, {});
  Rng rng(5);
  const std::map<std::string, std::string> listed = listed_faults();
  std::map<std::string, std::string> found;
  int n_trips = 0;
  int n_calls = 0;
  int n_entries = 0;
  for (const char* category : {"simple_python", "multiple", "parallel", "live_simple",
                               "simple_javascript", "multi_turn_base"}) {
    int n_valid = 0;
    BfclReader reader(forms, folder);
    const std::vector<BfclEntry> entries = reader.category(category);
    for (const BfclEntry& entry : entries) {
      ++n_entries;
      std::string fault;
      for (const ToolCall& call : entry.calls) {
        if (fault.empty()) fault = fault_of(forms, entry, call);
      }
      if (!fault.empty()) {
        found[entry.id] = fault;
        continue;
      }
      ++n_valid;
      n_calls += static_cast<int>(entry.calls.size());
      n_trips += check_round_trips(forms, entry, rng);
      if (forms.space().is_worn()) forms.renew();
    }
    RecordProperty(std::string(category) + "_valid_of_" + std::to_string(entries.size()), n_valid);
  }
  EXPECT_EQ(found, listed);
  RecordProperty("entries", n_entries);
  RecordProperty("calls", n_calls);
  RecordProperty("round_trips", n_trips);
  if (found != listed && std::getenv("RUV_WRITE_CASES") != nullptr) {
    std::ofstream file{std::string(kInvalid)};
    for (const auto& [id, why] : found) file << id << '\t' << why << '\n';
  }
}

}  // namespace
}  // namespace ruv
