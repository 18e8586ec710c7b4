#include "net/openai/fields.h"
#include "net/anthropic/messages.h"
#include "net/audit/audit_routes.h"
#include "net/body_tables.h"
#include "net/llamacpp/infill.h"
#include "net/memory/memory_routes.h"
#include "net/memory/session_search.h"
#include "net/ollama/ollama.h"
#include "net/responses/responses.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "net/one_model.h"
#include "net/openai/generate_request.h"
#include "net/openai/routes.h"
#include "ruv/options.h"

namespace ruv {
namespace {

const Json kChatBody = {{"model", "m"}, {"messages", {{{"role", "user"}, {"content", "x"}}}}};
const Json kCompletionBody = {{"model", "m"}, {"prompt", "x"}};

ApiResult<GenerateRequest> parse_chat_request(const std::string& text) {
  return read_chat_request(TRY(parse_body(text, chat_fields())), {});
}
ApiResult<GenerateRequest> parse_completion_request(const std::string& text) {
  return read_completion_request(TRY(parse_body(text, completion_fields())), {});
}

TEST(Fields, EveryUnsupportedOneIsRefusedByName) {
  for (const BodyTable* table : body_tables()) {
    for (const FieldRow& row : table->rows) {
      if (row.use != FieldUse::unsupported) continue;
      const Json body = {{row.name, {{"something", 1}}}};
      const auto refused = parse_body(body.dump(), *table);
      ASSERT_FALSE(refused) << row.name;
      EXPECT_EQ(refused.error().status, 400) << row.name;
      EXPECT_EQ(refused.error().param, row.name);
      EXPECT_EQ(refused.error().code, "unsupported_field") << row.name;
      EXPECT_NE(refused.error().message.find(std::string("'") + row.name + "'"), std::string::npos);
    }
  }
}

// A request with them is the request without them.
TEST(Fields, NeutralValuesAskForNothing) {
  size_t n = 0;
  for (const BodyTable* table : body_tables()) {
    for (const FieldRow& row : table->rows) {
      Json neutral = *parse_json(row.neutral, row.name);
      ASSERT_TRUE(neutral.is_array()) << row.name;
      neutral.push_back(nullptr);
      for (const Json& value : neutral) {
        const auto body = parse_body(Json{{row.name, value}}.dump(), *table);
        ASSERT_TRUE(body) << row.name << ": " << body.error().message;
        EXPECT_EQ(*body, Json::object()) << row.name << " " << value.dump();
        ++n;
      }
    }
  }
  EXPECT_GT(n, 200U);
}

TEST(Fields, ThatSayNothingInTheirPlaceAreAccepted) {
  for (const char* text :
       {R"({"tool_choice": "auto", "parallel_tool_calls": true})", R"({"tool_choice": "none"})",
        R"({"stream": false, "stream_options": {"include_usage": true}})",
        R"({"top_logprobs": 0, "logprobs": false})", R"({"stop": [], "stop_token_ids": []})",
        R"({"top_k": -1, "typical_p": 1.0, "xtc_threshold": 0.1})"}) {
    Json body = kChatBody;
    body.update(*parse_json(text, "members"));
    const auto request = parse_chat_request(body.dump());
    EXPECT_TRUE(request) << text << ": " << request.error().message;
  }
  Json body = kChatBody;
  body["top_k"] = -1;
  EXPECT_EQ(parse_chat_request(body.dump())->params.top_k, 0);
}

TEST(Fields, NamesOfOneThingAreOneField) {
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    Json body = kChatBody;
    body[name] = 7;
    EXPECT_EQ(parse_chat_request(body.dump())->params.max_tokens, 7) << name;
    body["max_tokens"] = 8;
    const auto refused = parse_chat_request(body.dump());
    EXPECT_EQ(refused.has_value(), name == std::string_view("max_tokens")) << name;
  }
  Json body = kChatBody;
  body["repeat_last_n"] = 5;
  body["stop_token_ids"] = {3, 4};
  const auto request = parse_chat_request(body.dump());
  EXPECT_EQ(request->params.repetition_window, 5);
  EXPECT_EQ(request->params.stop_tokens, (std::vector<Token>{3, 4}));
}

TEST(Fields, StopsOfARequestTakeThePlaceOfTheModels) {
  const GenerateParams usual{.stop = {"END"}};
  const auto stops = [&](const Json& value) {
    Json body = kChatBody;
    body["stop"] = value;
    const Json checked = *parse_body(body.dump(), chat_fields());
    return read_chat_request(checked, usual)->params.stop;
  };
  EXPECT_EQ(stops(nullptr), usual.stop);
  EXPECT_EQ(stops(Json::array()), std::vector<std::string>()) << "none";
  EXPECT_EQ(stops("x"), (std::vector<std::string>{"x"}));
  EXPECT_EQ(stops({"x", "y"}), (std::vector<std::string>{"x", "y"}));
}

TEST(Fields, EveryOptionOfTheTableIsAField) {
  for (const OptionRow& row : generate_options()) {
    Json body = kChatBody;
    // Healing needs a message to go on with.
    body["messages"].push_back({{"role", "assistant"}, {"content", "Hel"}});
    body["continue_final_message"] = true;
    using Kind = OptionRow::Kind;
    const double number = std::min(1.0, row.max);
    const std::string text(row.words.empty() ? "x" : row.words.front());
    const OptionValue values[] = {true, int64_t{1}, number, std::vector<std::string>{text}};
    if (row.kind == Kind::flag) {
      body[row.name] = true;
    } else if (row.kind == Kind::texts) {
      body[row.name] = text;
    } else if (row.kind == Kind::number) {
      body[row.name] = number;
    } else {
      body[row.name] = 1;
    }
    // A flag in chats, with the number in top_logprobs.
    if (row.name == std::string_view("logprobs")) {
      body[row.name] = true;
      body["top_logprobs"] = 1;
    }
    const auto request = parse_chat_request(body.dump());
    ASSERT_TRUE(request) << row.name << ": " << request.error().message;
    EXPECT_EQ(row.get(request->params), values[static_cast<size_t>(row.kind)]) << row.name;
    body[row.name] = Json::object();
    EXPECT_FALSE(parse_chat_request(body.dump())) << row.name;
  }
}

TEST(Fields, HaveOneRowEach) {
  const BodyTable message{"message", message_fields(), 1};
  std::vector<const BodyTable*> tables(body_tables().begin(), body_tables().end());
  tables.push_back(&message);
  for (const BodyTable* table : tables) {
    std::set<std::string> names;
    for (const FieldRow& row : table->rows) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      const bool is_option = table->has_options && is_plain_option(row.name);
      EXPECT_TRUE(!is_option || row.use == FieldUse::unsupported) << row.name;
    }
  }
}

TEST(Fields, AnUnknownOneIsRefusedWhereverItStands) {
  for (const char* name : {"", "Model", "temperature ", "extra_body", "top_a"}) {
    Json body = kChatBody;
    body[name] = nullptr;  // even null: the name itself is wrong
    const auto refused = parse_chat_request(body.dump());
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "unknown_field");
  }
}

// What a template sees costs more than the bytes of the body.
TEST(Bodies, OfConversationsHaveFewerValuesThanListsOfIds) {
  const auto with_list = [](Json body, const char* name, const Json& item, size_t n) {
    body[name] = std::vector<Json>(n, item);
    return body.dump();
  };
  const size_t most = kMaxConversationValues;
  const auto refused = parse_chat_request(with_list(kChatBody, "stop", "x", most));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "invalid_body");
  EXPECT_NE(refused.error().message.find("more than 131072 values"), std::string::npos);
  const Json message = {{"role", "user"}, {"content", "x"}};
  EXPECT_TRUE(parse_chat_request(with_list(kChatBody, "messages", message, most / 3 - 1)));
  EXPECT_TRUE(parse_completion_request(with_list(kCompletionBody, "prompt", 1, 2 * most)));
}

TEST(ErrorTable, HasOneRowPerCode) {
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    int n_rows = 0;
    for (const ErrorRow& row : error_table()) n_rows += static_cast<int>(row.code) == code;
    EXPECT_EQ(n_rows, 1) << code_name(static_cast<Code>(code));
  }
  EXPECT_EQ(api_error(Status(Code::unavailable, "x")).status, 429);
  EXPECT_EQ(api_error(Status(Code::invalid, "x")).status, 400);
}

// The tables of docs/http.md come from the tables here.

std::string field_lines(std::span<const FieldRow> rows) {
  std::string text = "| field | meaning |\n|---|---|\n";
  for (const FieldRow& row : rows) {
    if (row.use == FieldUse::unsupported) continue;
    std::string neutral = accepted_values(row);
    if (!neutral.empty()) neutral = fmt::format("; as if absent: {}", neutral);
    text += fmt::format("| `{}` | {}{}{} |\n", row.name,
                        row.use == FieldUse::no_effect ? "no effect: " : "", row.doc, neutral);
  }
  return text;
}

std::string refused_lines(std::span<const FieldRow> rows) {
  std::string text = "| field | accepted values | |\n|---|---|---|\n";
  for (const FieldRow& row : rows) {
    if (row.use != FieldUse::unsupported) continue;
    text += fmt::format("| `{}` | {} | {} |\n", row.name, accepted_values(row), row.doc);
  }
  return text;
}

std::string option_lines() {
  std::string text;
  for (const OptionRow& row : generate_options()) {
    if (!is_plain_option(row.name)) continue;
    const std::string range =
        row.kind == OptionRow::Kind::flag      ? std::string("true or false")
        : row.kind == OptionRow::Kind::integer ? fmt::format("{} to {}", row.least, row.most)
        : !row.words.empty() ? fmt::format("a list of {}", fmt::join(row.words, ", "))
        : row.kind == OptionRow::Kind::texts
            ? fmt::format("up to {} texts of {} bytes", row.most, row.most_bytes)
            : fmt::format("{} to {}", row.min, row.max);
    text += fmt::format("| `{}` | {} | {} |\n", row.name, range, row.doc);
  }
  return text;
}

const char* scope_words(const Route& route) {
  if (!route.needs_key) return "none is asked for";
  constexpr const char* kNames[] = {"any", "infer", "sessions", "observe", "manage"};
  return kNames[static_cast<size_t>(route.scope)];
}

// Every route, whichever API it belongs to.
std::string route_lines() {
  std::vector<std::string> lines;
  const OpenAiService none;
  OneModel models(none);
  for (const Route& route : api_routes(models)) {
    lines.push_back(fmt::format("| `{} {}` | {} | {} |\n", route.method, route.path,
                                scope_words(route),
                                route.body_table.empty() ? "" : "`" + route.body_table + "`"));
  }
  std::ranges::sort(lines);
  std::string text = "| endpoint | scope of the key | fields |\n|---|---|---|\n";
  for (const std::string& line : lines) text += line;
  return text;
}

std::string error_lines() {
  std::string text;
  for (const ErrorRow& row : error_table()) {
    if (row.code == Code::ok) continue;
    text += fmt::format("| {} | `{}` | `{}` | {} |\n", row.status, row.type, row.name,
                        code_name(row.code));
  }
  return text;
}

// `text` with what stands between the two marks of `name` replaced.
std::string with_section(std::string text, const std::string& name, const std::string& lines) {
  const std::string begin = fmt::format("<!-- table {} -->\n", name);
  const size_t at = text.find(begin);
  EXPECT_NE(at, std::string::npos) << name;
  if (at == std::string::npos) return text;
  const size_t start = at + begin.size();
  const size_t end = text.find("<!-- end -->", start);
  return text.replace(start, end - start, lines);
}

// Compares a page with what it should be, or writes it.
void settle_page(const std::string& path, const std::string& page, const std::string& fresh) {
  if (std::getenv("RUV_UPDATE") != nullptr) {
    std::ofstream(path) << fresh;
    return;
  }
  EXPECT_EQ(page == fresh, true) << path << " is stale: run net_tests with RUV_UPDATE=1";
}

// The path of the first route that has a table of fields.
std::string path_of_table(std::string_view table) {
  const OpenAiService none;
  OneModel models(none);
  for (const Route& route : api_routes(models)) {
    if (route.body_table == table) return route.path;
  }
  return {};
}

// What a table says of a field; empty: nothing.
std::string field_cell(const BodyTable& table, const std::string& name) {
  for (const FieldRow& row : table.rows) {
    if (row.name != name) continue;
    constexpr const char* kWords[] = {"yes", "no effect", "refused"};
    return kWords[static_cast<size_t>(row.use)];
  }
  return takes_option(table, name) ? "yes" : "";
}

// A column for each table, a row for each field that one of them has.
std::string matrix_lines(std::span<const BodyTable* const> tables) {
  std::set<std::string> names;
  std::string head = "| field |", rule = "|---|", text;
  for (const BodyTable* table : tables) {
    head += fmt::format(" `{}` |", path_of_table(table->name));
    rule += "---|";
    for (const FieldRow& row : table->rows) names.insert(row.name);
    if (!table->has_options) continue;
    for (const OptionRow& row : generate_options()) {
      if (is_plain_option(row.name)) names.insert(row.name);
    }
  }
  for (const std::string& name : names) {
    text += fmt::format("| `{}` |", name);
    for (const BodyTable* table : tables) text += fmt::format(" {} |", field_cell(*table, name));
    text += "\n";
  }
  return head + "\n" + rule + "\n" + text;
}

TEST(FieldsPage, HoldsTheMatrix) {
  const std::string path = RUV_SOURCE_DIR "/docs/fields.md";
  const Result<std::string> page = read_text_file(path);
  ASSERT_TRUE(page);
  const BodyTable inside{"ollama_chat", ollama_options(), 1};
  const std::vector<const BodyTable*> options = {&inside};
  const std::vector<const BodyTable*> answers = {
      &chat_fields(),        &completion_fields(),      &responses_fields(), &messages_fields(),
      &ollama_chat_fields(), &ollama_generate_fields(), &infill_fields()};
  const std::vector<const BodyTable*> vectors = {&embedding_fields(), &ollama_embed_fields(),
                                                 &ollama_old_embed_fields(), &rerank_fields(),
                                                 &score_fields()};
  const std::vector<const BodyTable*> others = {
      &tokenize_fields(),       &detokenize_fields(), &template_fields(),    &count_tokens_fields(),
      &session_fields(),        &model_fields(),      &ollama_show_fields(), &load_adapter_fields(),
      &unload_adapter_fields(), &feedback_fields(),   &undo_fields()};
  const std::vector<const BodyTable*> memory = {&memory_document_fields(),
                                                &memory_search_fields(),
                                                &session_search_fields(),
                                                &file_batch_fields(),
                                                &rating_fields(),
                                                &vector_store_fields(),
                                                &vector_store_change_fields(),
                                                &vector_store_file_fields(),
                                                &vector_store_file_change_fields(),
                                                &vector_store_search_fields(),
                                                &memory_context_fields()};
  EXPECT_EQ(answers.size() + vectors.size() + others.size() + memory.size(), body_tables().size());
  std::string fresh = with_section(*page, "answers", matrix_lines(answers));
  fresh = with_section(fresh, "vectors", matrix_lines(vectors));
  fresh = with_section(fresh, "others", matrix_lines(others));
  fresh = with_section(fresh, "memory", matrix_lines(memory));
  fresh = with_section(fresh, "options", matrix_lines(options));
  settle_page(path, *page, fresh);
}

TEST(OtherApisPage, HoldsTheTables) {
  const std::string path = RUV_SOURCE_DIR "/docs/other-apis.md";
  const Result<std::string> page = read_text_file(path);
  ASSERT_TRUE(page);
  std::string fresh = *page;
  for (const BodyTable* table :
       {&messages_fields(), &ollama_chat_fields(), &ollama_generate_fields(),
        &ollama_embed_fields(), &responses_fields(), &infill_fields()}) {
    fresh = with_section(fresh, table->name, field_lines(table->rows));
    fresh = with_section(fresh, table->name + std::string(" refused"), refused_lines(table->rows));
  }
  fresh = with_section(fresh, "ollama_options", field_lines(ollama_options()));
  fresh = with_section(fresh, "ollama_options refused", refused_lines(ollama_options()));
  settle_page(path, *page, fresh);
}

TEST(HttpPage, HoldsTheTables) {
  const std::string path = RUV_SOURCE_DIR "/docs/http.md";
  const Result<std::string> text = read_text_file(path);
  ASSERT_TRUE(text);
  const std::string page = *text;
  std::string fresh = page;
  for (const BodyTable* table :
       {&chat_fields(), &completion_fields(), &embedding_fields(), &rerank_fields(),
        &score_fields(), &tokenize_fields(), &detokenize_fields(), &template_fields()}) {
    fresh = with_section(fresh, table->name, field_lines(table->rows));
  }
  fresh = with_section(fresh, "chat refused", refused_lines(chat_fields().rows));
  fresh = with_section(fresh, "completion refused", refused_lines(completion_fields().rows));
  fresh = with_section(fresh, "message", field_lines(message_fields()));
  fresh = with_section(fresh, "message refused", refused_lines(message_fields()));
  fresh = with_section(fresh, "options",
                       "| field | range | meaning |\n|---|---|---|\n" + option_lines());
  fresh = with_section(fresh, "routes", route_lines());
  fresh = with_section(fresh, "errors",
                       "| status | type | code | cause |\n|---|---|---|---|\n" + error_lines());
  settle_page(path, page, fresh);
}

}  // namespace
}  // namespace ruv
