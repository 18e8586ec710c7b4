// The grammar of calls beside their writer and their parser, in every dialect, over random tools:
// what is written is accepted, what is wrong is not, and what a random walk along the grammar
// writes is read as calls whose arguments are valid.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"
#include "property/tool_forms.h"

namespace ruv {
namespace {

// Random schemas of arguments, and values of them.
class RandomTools {
 public:
  explicit RandomTools(uint64_t seed) : rng_(seed) {}
  Rng& rng() { return rng_; }

  // A tool of one to four arguments, some of which must be there.
  Json tool(const std::string& name) {
    Json parameters = object_schema(0, 1 + rng_.below(4));
    parameters["$defs"] = {
        {"place",
         {{"type", "object"},
          {"properties", {{"lat", {{"type", "number"}}}, {"word", {{"type", "string"}}}}},
          {"required", Json::array({"lat"})},
          {"additionalProperties", false}}}};
    return {{"type", "function"}, {"function", {{"name", name}, {"parameters", parameters}}}};
  }

  Json value(const Json& schema) {
    if (schema.contains("$ref")) {
      Json place = {{"lat", 1.5}};
      if (rng_.below(2) == 0) place["word"] = text();
      return place;
    }
    if (const Json* list = schema.find("enum")) return (*list)[rng_.below(list->size())];
    if (const Json* list = schema.find("anyOf")) return value((*list)[rng_.below(list->size())]);
    const std::string type = schema.value("type", "");
    if (type == "string") return limited_text(schema);
    if (type == "integer") return Json(static_cast<int>(rng_.below(50)));
    if (type == "number") return rng_.below(2) == 0 ? Json(-2.25) : Json(7);
    if (type == "boolean") return Json(rng_.below(2) == 0);
    if (type == "null") return Json();
    if (type == "array") {
      Json list = Json::array();
      const size_t n = schema.value("minItems", 0) + rng_.below(3);
      for (size_t i = 0; i < n; ++i) list.push_back(value(schema["items"]));
      return list;
    }
    return object(schema);
  }

  Json object(const Json& schema) {
    Json made = Json::object();
    for (const auto& [key, member] : schema["properties"].items()) {
      const Json& required = schema["required"];
      const bool must = std::ranges::find(required, Json(key)) != required.end();
      if (must || rng_.below(3) > 0) made[key] = value(member);
    }
    return made;
  }

 private:
  Json schema(int depth) {
    switch (rng_.below(depth < 2 ? 13 : 8)) {
      case 0:
      case 1:
        return {{"type", "string"}, {"description", "a text"}};
      case 2:
        return {{"type", "string"}, {"minLength", 2}, {"maxLength", 6}};
      case 3:
        return {{"type", "string"}, {"enum", Json::array({"red", "light blue", "5"})}};
      case 4:
        return {{"type", "integer"}, {"minimum", 0}, {"maximum", 49}};
      case 5:
        return {{"type", "number"}};
      case 6:
        return {{"type", "boolean"}};
      case 7:
        return {{"type", "string"}, {"pattern", "^[a-f]+(-[0-9]{2})?$"}};
      case 8:
        return {{"anyOf", Json::array({Json{{"type", "integer"}}, Json{{"type", "null"}}})}};
      case 9: {
        Json list = {{"type", "array"}, {"items", schema(depth + 1)}};
        if (rng_.below(2) == 0) list["minItems"] = 1;
        return list;
      }
      case 10:
        return {{"anyOf", Json::array({Json{{"type", "string"}, {"minLength", 1}},
                                       Json{{"type", "null"}}})}};
      case 11:
        return {{"$ref", "#/$defs/place"}};
      default:
        return object_schema(depth + 1, 1 + rng_.below(3));
    }
  }

  Json object_schema(int depth, size_t n) {
    constexpr const char* kKeys[] = {"city", "n", "flag", "list_of", "x1"};
    Json properties = Json::object();
    Json required = Json::array();
    for (size_t i = 0; i < n; ++i) {
      properties[kKeys[i]] = schema(depth);
      if (rng_.below(2) == 0) required.push_back(kKeys[i]);
    }
    return {{"type", "object"},
            {"properties", properties},
            {"required", required},
            {"additionalProperties", false}};
  }

  std::string text() {
    constexpr const char* kTexts[] = {"Oslo", "a \"b\" c", "two\nlines",  "é東🙂", "<b>&",
                                      "5",    "it's",      "back\\slash", "x = {1}",   "  pad  "};
    return kTexts[rng_.below(std::size(kTexts))];
  }
  Json limited_text(const Json& schema) {
    if (schema.contains("pattern")) return rng_.below(2) == 0 ? Json("abf") : Json("a-07");
    return schema.contains("maxLength") ? Json("t-" + std::to_string(rng_.below(99)))
                                        : Json(text());
  }

  Rng rng_;
};

AnswerFormat format_of_dialect(const ToolDialect& dialect, const ToolForms& forms) {
  AnswerFormat format;
  format.dialect = dialect;
  format.has_calls = true;
  format.control = forms.control();
  return format;
}

// What follows the marks that a grammar without ids of its own leaves to the template.
bool read_text(FormReader& reader, std::string_view text,
               const std::vector<std::pair<std::string, Token>>& control) {
  while (!text.empty()) {
    size_t at = text.size();
    const std::pair<std::string, Token>* first = nullptr;
    for (const auto& one : control) {
      const size_t found = text.find(one.first);
      if (found < at) {
        at = found;
        first = &one;
      }
    }
    if (at > 0 && !reader.accept(text.substr(0, at))) return false;
    text.remove_prefix(at);
    if (first == nullptr) break;
    if (!reader.accept_token(first->second)) return false;
    text.remove_prefix(first->first.size());
  }
  return true;
}

bool accepts_all(ToolForms& forms, const Form& form, std::string_view text) {
  const Lock guard(forms.space().mutex());
  FormReader reader = form.reader();
  return read_text(reader, text, forms.control()) && reader.may_end();
}

// Marks of calls that could be control tokens: they have no space or letter at their ends.
std::vector<std::string> control_marks(const ToolDialect& dialect) {
  std::vector<std::string> made;
  for (const auto* parts : {&dialect.section_begin, &dialect.call, &dialect.section_end}) {
    for (const CallPart& part : *parts) {
      const std::string core(mark_core(part.text));
      const bool is_token = core.size() > 3 && (core.front() == '<' || core.front() == '[') &&
                            (core.back() == '>' || core.back() == ']') &&
                            core.find(' ') == core.npos && core.find('=') == core.npos;
      if (is_token && std::ranges::find(made, core) == made.end()) made.push_back(core);
    }
  }
  if (dialect.shape == ToolDialect::Shape::channels) made = dialect.strays;
  if (!dialect.literals.quote.empty()) made.push_back(dialect.literals.quote);
  return made;
}

std::vector<std::string> walk_pieces(const ToolDialect& dialect) {
  std::vector<std::string> made = {"\"}", "\"]", "\", ", "\": ", "ab",   "red",  "Paris", "12",
                                   "'",   "</",  "{\"",  "true", "null", "a-07", ", ",    "\n\n"};
  for (const std::string& mark : dialect_marks(dialect)) {
    if (mark.size() > 1) made.push_back(mark);
  }
  std::ranges::sort(made);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

// Writes at random along the form; after a while whatever ends something comes first. Empty: it
// did not come to an end.
std::string random_answer(ToolForms& forms, const Form& form, Rng& rng) {
  const Lock guard(forms.space().mutex());
  FormReader reader = form.reader();
  std::string text;
  const Token n_vocab = forms.tokenizer().vocab_size();
  for (int step = 0; step < 600; ++step) {
    if (reader.only_ends() || (reader.may_end() && rng.below(2) == 0)) return text;
    TokenMask mask(n_vocab);
    reader.allow(mask);
    std::vector<Token> allowed;
    std::vector<Token> ending;
    for (Token id = 0; id < n_vocab; ++id) {
      if (!mask.has(id)) continue;
      const std::string_view bytes = forms.prefixes().bytes(id);
      allowed.push_back(id);
      const bool ends =
          bytes.empty() || std::string_view("\"'}])<>").find(bytes.back()) != bytes.npos;
      if (ends) ending.push_back(id);
    }
    if (allowed.empty()) {
      ADD_FAILURE() << "a dead end after " << text;
      return {};
    }
    const auto& from = step > 25 && !ending.empty() && rng.below(4) > 0 ? ending : allowed;
    const Token id = from[rng.below(from.size())];
    const auto control =
        std::ranges::find(forms.control(), id, &std::pair<std::string, Token>::second);
    const bool is_control = control != forms.control().end();
    const std::string bytes = is_control ? control->first : std::string(forms.prefixes().bytes(id));
    if (is_control ? !reader.accept_token(id) : !reader.accept(bytes)) {
      ADD_FAILURE() << "not accepted after all: " << text << "|" << bytes;
      return {};
    }
    text += bytes;
  }
  return {};
}

// One dialect with one list of random tools.
class CallForms : public testing::TestWithParam<size_t> {
 protected:
  const ToolDialect& dialect() const { return tool_dialects()[GetParam()]; }

  // Arguments that are wrong, by the schema of the tool.
  static std::vector<Json> wrong_arguments(const Json& parameters, const Json& right) {
    std::vector<Json> made;
    Json more = right;
    more["zq_unknown"] = 1;
    made.push_back(more);
    for (const Json& key : parameters["required"]) {
      Json less = right;
      less.erase(key.text());
      made.push_back(less);
    }
    for (const auto& [key, schema] : parameters["properties"].items()) {
      const std::string type = schema.value("type", "");
      const bool is_text =
          type == "string" && !schema.contains("enum") && !schema.contains("pattern");
      if (is_text || schema.contains("anyOf")) continue;
      Json other = right;
      other[key] = "Zq!";
      made.push_back(other);
    }
    return made;
  }

  std::string written(const std::vector<ToolCall>& calls) {
    return write_calls(dialect(), calls).value_or("");
  }
};

TEST_P(CallForms, WrittenCallsAreAcceptedAndWrongOnesAreNot) {
  int n_accepted = 0;
  int n_rejected = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    RandomTools random(seed * 41 + GetParam());
    ToolForms forms({}, seed % 2 == 0 ? std::vector<std::string>() : control_marks(dialect()));
    const Json tools =
        Json::array({random.tool("find"), random.tool("send_all"), random.tool("z3")});
    CallGrammarOptions options = {.names = {"find", "z3"}, .required = true};
    const auto grammar = call_grammar(format_of_dialect(dialect(), forms), tools, options);
    ASSERT_TRUE(grammar) << grammar.error().message() << tools;
    const auto form = forms.of_lark(*grammar);
    ASSERT_TRUE(form) << form.error().message() << "\n" << *grammar;
    for (int round = 0; round < 6; ++round) {
      std::vector<ToolCall> calls;
      const size_t n = dialect().parallel ? 1 + random.rng().below(2) : 1;
      for (size_t i = 0; i < n; ++i) {
        const size_t which = random.rng().below(2) * 2;
        const Json& function = tools[which]["function"];
        calls.push_back({function["name"].get<std::string>(), fmt::format("id{:07}", i),
                         random.object(function["parameters"]).dump()});
      }
      const std::string text = written(calls);
      if (text.empty()) continue;  // a text that the dialect cannot hold
      EXPECT_TRUE(accepts_all(forms, **form, text)) << text << "\n" << *grammar;
      ++n_accepted;
      ToolCall other = calls[0];
      other.name = "send_all";
      EXPECT_FALSE(accepts_all(forms, **form, written({other}))) << written({other});
      const Json& parameters = tools[calls[0].name == "z3" ? 2 : 0]["function"]["parameters"];
      for (const Json& wrong : wrong_arguments(parameters, *parse_json(calls[0].arguments, "a"))) {
        ToolCall bad = calls[0];
        bad.arguments = wrong.dump();
        const std::string bad_text = written({bad});
        EXPECT_FALSE(accepts_all(forms, **form, bad_text)) << bad_text << "\n" << *grammar;
        ++n_rejected;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(n_accepted, 60);
  RecordProperty("accepted", n_accepted);
  RecordProperty("rejected", n_rejected);
}

TEST_P(CallForms, RandomAnswersAreValidCalls) {
  int n_ended = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    RandomTools random(seed * 97 + GetParam());
    ToolForms forms(walk_pieces(dialect()),
                    seed % 2 == 0 ? std::vector<std::string>() : control_marks(dialect()));
    const Json tools = Json::array({random.tool("find"), random.tool("z3")});
    const bool required = seed < 6;
    const auto grammar =
        call_grammar(format_of_dialect(dialect(), forms), tools, {.required = required});
    ASSERT_TRUE(grammar) << grammar.error().message();
    const auto form = forms.of_lark(*grammar);
    ASSERT_TRUE(form) << form.error().message() << "\n" << *grammar;
    for (int round = 0; round < 12; ++round) {
      const std::string text = random_answer(forms, **form, random.rng());
      if (HasFailure()) return;
      if (text.empty()) continue;
      ++n_ended;
      std::vector<ToolWarning> warnings;
      const ToolMessage message =
          parse_output(dialect(), {.tools = ToolSchemas(tools)}, text, &warnings);
      if (required) {
        EXPECT_FALSE(message.calls().empty()) << text << "\n" << *grammar;
        EXPECT_EQ(message.content(), "") << text;
      }
      for (const ToolWarning& warning : warnings) {
        ADD_FAILURE() << warning_name(warning.kind) << ": " << text;
      }
      for (const ToolCall& call : message.calls()) {
        const Json& function = tools[call.name == "z3" ? 1 : 0]["function"];
        EXPECT_EQ(function["name"], call.name) << text;
        // Readers escape characters in one way, forms in the shortest.
        const std::string shortest = parse_json(call.arguments, "arguments")->dump();
        const Json& parameters = function["parameters"];
        EXPECT_TRUE(forms.valid(parameters, call.arguments) || forms.valid(parameters, shortest))
            << text << "\n"
            << call.arguments << "\n"
            << *grammar;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(n_ended, 30);
  RecordProperty("answers", n_ended);
}

INSTANTIATE_TEST_SUITE_P(Dialects, CallForms, testing::Range<size_t>(0, tool_dialects().size()),
                         [](const auto& at) { return tool_dialects()[at.param].name; });

}  // namespace
}  // namespace ruv
