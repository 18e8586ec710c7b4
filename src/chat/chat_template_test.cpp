// Renders the chat templates of real models and small language cases, and compares byte for byte
// with what Python's Jinja2 renders; then which bytes count as the user's, and hostile templates.
#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/json.h"

namespace ruv::chat_template_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFrozenClock = 1741964966;       // 2025-03-14 15:09:26
constexpr int64_t kHuggingFaceClock = 1752105600;  // 2025-07-10, when their targets were made

fs::path template_data() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return (given ? fs::path(given) : fs::path(RUV_SOURCE_DIR) / "../shared/data") / "templates";
}
fs::path template_cases() { return fs::path(RUV_SOURCE_DIR) / "tests/cases/template"; }

RenderOptions frozen_options(int64_t now = kFrozenClock) {
  RenderOptions options;
  options.bos_token = "<BOS>";
  options.eos_token = "<EOS>";
  options.now_unix_s = now;
  return options;
}

Result<std::string> rendered(std::string_view source, const Json& context,
                             const RenderOptions& options = frozen_options()) {
  const auto parsed = TRY(ChatTemplate::parse(source));
  return joined(TRY(parsed->render(context, options)));
}

Json json_file(const fs::path& path) {
  const auto text = read_text_file(path.string());
  EXPECT_TRUE(text.has_value()) << path;
  auto json = parse_json(text.value_or("null"), path.string());
  EXPECT_TRUE(json.has_value()) << path;
  return json.value_or(Json());
}

// `expected` is "raise: TemplateError: <message>" or another kind of error.
void check_error(const Result<std::string>& out, const std::string& expected,
                 const std::string& where) {
  ASSERT_FALSE(out.has_value()) << where << " must fail: " << expected;
  const std::string kRaised = "raise: TemplateError: ";
  if (!expected.starts_with(kRaised)) return;
  EXPECT_EQ(out.error().code(), Code::invalid) << where;
  EXPECT_NE(out.error().message().find(expected.substr(kRaised.size())), std::string::npos)
      << where << ": " << out.error().message();
}

void check_output(const Result<std::string>& out, const std::string& expected,
                  const std::string& where) {
  ASSERT_TRUE(out.has_value()) << where << ": " << out.error().message();
  EXPECT_EQ(*out, expected) << where;
}

TEST(ChatTemplates, EveryTemplateRendersAsJinja2Does) {
  const fs::path data = template_data();
  if (!fs::exists(data / "contexts.json")) GTEST_SKIP() << data << " is absent";
  const Json contexts = json_file(data / "contexts.json");
  int total = 0;
  for (const auto& file : fs::directory_iterator(data / "jinja")) {
    const std::string name = file.path().stem().string();
    const auto source = read_text_file(file.path().string());
    ASSERT_TRUE(source.has_value());
    const Json expectations = json_file(data / "expected" / (name + ".contexts.json"));
    for (const auto& [context, expected] : expectations.items()) {
      ++total;
      const std::string where = fmt::format("{} / {}", name, context);
      const auto out = rendered(*source, contexts.at(context));
      if (expected.contains("error")) {
        check_error(out, expected["error"].get<std::string>(), where);
      } else {
        check_output(out, expected["output"].get<std::string>(), where);
      }
    }
  }
  EXPECT_GT(total, 1000);
  RecordProperty("renderings", total);
}

// Triples of template, context and target. Those on which Python differs are other engines'
// choices and are not followed here.
void check_triples(const fs::path& path, const char* source_key, const char* context_key) {
  if (!fs::exists(path)) GTEST_SKIP() << path << " is absent";
  int compared = 0;
  for (const Json& triple : json_file(path)) {
    if (!triple["python_jinja2_agrees"].get<bool>()) continue;
    ++compared;
    check_output(rendered(triple[source_key].get<std::string>(), triple[context_key],
                          frozen_options(kHuggingFaceClock)),
                 triple["target"].get<std::string>(), triple["name"].get<std::string>());
  }
  EXPECT_GT(compared, 0);
  testing::Test::RecordProperty("renderings", compared);
}

TEST(ChatTemplates, HuggingFaceEndToEnd) {
  check_triples(template_data() / "hf_jinja_e2e.json", "chat_template", "data");
}
TEST(ChatTemplates, HuggingFaceLanguage) {
  check_triples(template_data() / "hf_jinja_language.json", "template", "context");
}
TEST(ChatTemplates, LlamaCppLanguage) {
  check_triples(template_data() / "llamacpp_jinja_language.json", "template", "context");
}

// Cases that tests/oracle/compare_templates.py made: what we answer otherwise is written beside
// them.
TEST(ChatTemplates, OracleCases) {
  const char* path = std::getenv("RUV_TEMPLATE_CASES");
  if (!path) GTEST_SKIP() << "RUV_TEMPLATE_CASES is not set";
  std::ifstream cases(path);
  std::ofstream failures(std::string(path) + ".failures");
  int64_t differences = 0;
  for (std::string line; std::getline(cases, line);) {
    const Json one = parse_json(line, path).value();
    const auto out = rendered(one["template"].get<std::string>(), one["context"]);
    const bool same = one.contains("error") ? !out : out && *out == one["output"];
    if (same) continue;
    ++differences;
    const Json ours = out ? Json{{"output", *out}} : Json{{"error", out.error().message()}};
    const char* key = one.contains("error") ? "error" : "output";
    failures << Json({{"template", one["template"]},
                      {"context", one["context"]},
                      {"theirs", {{key, one[key]}}},
                      {"ours", ours}})
                    .dump()
             << "\n";
  }
  EXPECT_EQ(differences, 0);
}

// A sample of the random programs that the oracle draws.
TEST(ChatTemplates, RandomSampleEqualsJinja) {
  const Json file = json_file(template_cases() / "random.json");
  ASSERT_GT(file["cases"].size(), 1000U);
  for (const Json& one : file["cases"]) {
    const std::string source = one[1].get<std::string>();
    const auto out = rendered(source, file["contexts"][one[0].get<size_t>()]);
    if (one[2].is_null()) {
      EXPECT_FALSE(out.has_value()) << source << " must fail, renders: " << *out;
    } else {
      check_output(out, one[2].get<std::string>(), source);
    }
  }
}

class TemplateCases : public testing::TestWithParam<const char*> {};

TEST_P(TemplateCases, RenderAsWritten) {
  const Json file = json_file(template_cases() / GetParam());
  for (const Json& one : file["cases"]) {
    const std::string source = one["template"].get<std::string>();
    const auto out = rendered(source, file["context"]);
    if (one.contains("error")) {
      EXPECT_FALSE(out.has_value()) << source << " must fail, renders: " << *out;
    } else {
      check_output(out, one["output"].get<std::string>(), source);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Files, TemplateCases,
                         testing::Values("arithmetic.json", "attributes.json", "dates.json",
                                         "expressions.json", "formats.json", "generators.json",
                                         "numbers.json", "rare.json", "refused.json", "scopes.json",
                                         "sequences.json", "statements.json", "texts.json",
                                         "whitespace.json"));

TEST(Provenance, PartsSayWhichBytesTheTemplateWrote) {
  const Json file = json_file(template_cases() / "provenance.json");
  for (const Json& one : file["cases"]) {
    const std::string source = one["template"].get<std::string>();
    const auto parsed = ChatTemplate::parse(source);
    ASSERT_TRUE(parsed.has_value()) << source << ": " << parsed.error().message();
    const auto parts = (*parsed)->render(file["context"], frozen_options());
    ASSERT_TRUE(parts.has_value()) << source << ": " << parts.error().message();
    Json seen = Json::array();
    for (const RenderedPart& part : *parts)
      seen.push_back(Json::array({part.text, part.from_user}));
    EXPECT_EQ(seen, one["parts"]) << source << "\n" << seen.dump();
  }
}

// Whatever a real template does with a message, bytes that only the message has stay the user's.
TEST(Provenance, NoTemplateLaundersUserText) {
  const fs::path data = template_data();
  if (!fs::exists(data / "jinja")) GTEST_SKIP() << data << " is absent";
  const Json context = {
      {"messages",
       {{{"role", "system"}, {"content", "\x01sys\x01"}},
        {{"role", "user"}, {"content", " \x01usr\x01 "}},
        {{"role", "assistant"}, {"content", "\x01<think>\x01</think>\x01"}},
        {{"role", "user"}, {"content", "\x01"}}}},
      {"tools",
       {{{"type", "function"},
         {"function",
          {{"name", "\x01"},
           {"description", "\x01"},
           {"parameters",
            {{"type", "object"},
             {"properties", {{"a\x01", {{"type", "string\x01"}, {"description", "\x01"}}}}},
             {"required", {"\x01"}}}}}}}}},
      {"add_generation_prompt", true}};
  int with_marks = 0;
  for (const auto& file : fs::directory_iterator(data / "jinja")) {
    const auto parsed = ChatTemplate::parse(*read_text_file(file.path().string()));
    ASSERT_TRUE(parsed.has_value());
    const auto parts = (*parsed)->render(context, frozen_options());
    if (!parts) continue;
    for (const RenderedPart& part : *parts) {
      if (part.from_user) {
        with_marks += part.text.find('\x01') != std::string::npos;
      } else {
        EXPECT_EQ(part.text.find('\x01'), std::string::npos) << file.path() << ": " << part.text;
      }
    }
  }
  EXPECT_GT(with_marks, 100);
}

void expect_failure(const std::string& source, std::string_view part, RenderOptions options = {}) {
  const auto out = rendered(source, Json::object(), options);
  ASSERT_FALSE(out.has_value()) << source.substr(0, 80);
  EXPECT_NE(out.error().message().find(part), std::string::npos) << out.error().message();
}

std::string repeated_text(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(HostileTemplates, NestingIsBounded) {
  const auto nested = [](std::string_view open, std::string_view close) {
    return repeated_text(open, 60'000) + "1" + repeated_text(close, 60'000);
  };
  expect_failure("{{ " + repeated_text("[", 60'000), "line 1, column");
  expect_failure("{{ " + nested("[", "]") + " }}", "nested deeper");
  expect_failure("{{ " + nested("(", ")") + " }}", "nested deeper");
  expect_failure("{{ " + nested("{1:", "}") + " }}", "nested deeper");
  expect_failure("{{ " + nested("a[", "]") + " }}", "nested deeper");
  expect_failure("{{ " + nested("f(", ")") + " }}", "nested deeper");
  expect_failure("{% set " + nested("(", ")") + " = 1 %}", "nested deeper");
  expect_failure("{{ " + repeated_text("not ", 60'000) + "1 }}", "nested deeper");
  expect_failure("{{ " + repeated_text("-", 60'000) + "1 }}", "nested deeper");
  expect_failure("{{ " + repeated_text("1 if 1 else ", 60'000) + "1 }}", "nested deeper");
  expect_failure(repeated_text("{% if 1 %}", 60'000), "nested deeper");
  expect_failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeper than");
  expect_failure("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deeper than");
  expect_failure(
      "{% macro m() %}{% for x in [1] recursive %}{{ loop([m()]) }}{% endfor %}{% endmacro %}"
      "{{ m() }}",
      "deeper than");
}

TEST(HostileTemplates, LongFlatChainsAreFine) {
  const auto sum = rendered("{{ 0" + repeated_text(" + 1", 50'000) + " }}", Json::object());
  ASSERT_TRUE(sum.has_value()) << sum.error().message();
  EXPECT_EQ(*sum, "50000");
  EXPECT_TRUE(rendered("{{ 'x'" + repeated_text("|trim", 50'000) + " }}", Json::object()));
  EXPECT_TRUE(rendered("{{ 1" + repeated_text(" and 1", 50'000) + " }}", Json::object()));
  EXPECT_TRUE(rendered("{% if 0 %}" + repeated_text("{% elif 0 %}", 20'000) + "{% endif %}",
                       Json::object()));
}

TEST(HostileTemplates, WorkAndMemoryAreBounded) {
  expect_failure(
      "{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}",
      "max_steps");
  expect_failure("{% for i in range(10000000) %}{% endfor %}", "range() is limited");
  expect_failure("{{ 'x' * 1000000000000 }}", "max_output_bytes");
  expect_failure("{{ [1] * 1000000000000 }}", "too long");
  expect_failure("{{ 'x'.ljust(1000000000) }}", "max_output_bytes");
  expect_failure("{{ '%1000000000d' % 1 }}", "wider");
  expect_failure("{{ '{:1000000000}'.format(1) }}", "wider");
  expect_failure(
      "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}"
      "{% endfor %}",
      "max_output_bytes");
  expect_failure(
      "{% set ns = namespace(l=[0]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% endfor %}{{ ns.l }}",
      "m");
  expect_failure(
      "{% set ns = namespace(l=[0]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor "
      "%}",
      "nested deeper");
  expect_failure(
      "{% set ns = namespace(l=[0]) %}{% for i in range(1000) %}{% set ns.l = ns.l | select %}"
      "{% endfor %}",
      "nested deeper");
  expect_failure("{{ ('a' * 4000000).find('a' * 2000000 + 'b') }}", "max_steps");
  expect_failure("{{ ('a' * 4000000).strip('b' * 2000000 + 'a') }}", "max_steps");
  expect_failure("{{ 'a' * 2000000 + 'b' in 'a' * 4000000 }}", "max_steps");
  RenderOptions small;
  small.max_output_bytes = 100;
  expect_failure("{% for i in range(1000) %}xxxxxxxxxx{% endfor %}", "max_output_bytes", small);
}

TEST(HostileTemplates, FieldsHaveAGreatestWidth) {
  EXPECT_EQ(rendered("{{ ('%100000d' % 1) | length }}", Json::object()).value(), "100000");
  EXPECT_EQ(rendered("{{ ('%.100000d' % 1) | length }}", Json::object()).value(), "100000");
  EXPECT_EQ(rendered("{{ '{:100000}'.format(1) | length }}", Json::object()).value(), "100000");
  expect_failure("{{ '%100001d' % 1 }}", "wider");
  expect_failure("{{ '%.100001d' % 1 }}", "wider");
  expect_failure("{{ '{:100001}'.format(1) }}", "wider");
}

TEST(HostileTemplates, EveryLimitNamesItself) {
  expect_failure(std::string((1 << 20) + 1, 'x'), "at most 1048576 are read");
  expect_failure("{{ [1] | tojson(indent=100000) }}", "indent above");
  expect_failure("{{ 'a'.center(10000000000) }}", "max_output_bytes");
  expect_failure("{{ ('a b ' * 2000000).split() | length }}", "max_steps");
  expect_failure("{{ 'a\t'.expandtabs(100000000000) }}", "max_output_bytes");
  expect_failure("{{ ('a ' * 20000000) | wordwrap(1) }}", "max_steps");
  expect_failure("{{ strftime_now('%Y' * 1000) }}", "too long");
  RenderOptions few;
  few.max_steps = 50;
  expect_failure("{% for i in range(60) %}{{ i }}{% endfor %}", "50 steps (max_steps)", few);
}

// A small piece takes far more memory than its bytes.
TEST(HostileTemplates, EachPieceOfASplitTextTakesFourSteps) {
  RenderOptions options;
  options.max_steps = 400;
  expect_failure("{{ ('a ' * 100).split() | length }}", "max_steps", options);
  options.max_steps = 600;
  EXPECT_TRUE(rendered("{{ ('a ' * 100).split() | length }}", Json::object(), options));
}

// What was half made when the steps ran out is freed: the leak sanitizer watches.
TEST(HostileTemplates, StoppedAnywhereTheyLeaveNothing) {
  const Json context = {{"d", {{"k", "v"}, {"a", "b"}}}, {"l", {3, 1, 2}}};
  for (const char* source :
       {"{{ d | dictsort(true, 'value') }}", "{{ l | unique | sort | join('-') }}",
        "{{ dict.fromkeys(l, 0) | tojson }}", "{% for x in l recursive %}{{ [x, d] }}{% endfor %}",
        "{{ d | items | list | map('first') | list }}", "{{ [d] | groupby('k') }}"}) {
    const auto parsed = ChatTemplate::parse(source);
    ASSERT_TRUE(parsed);
    RenderOptions few;
    for (few.max_steps = 1; few.max_steps < 60; ++few.max_steps) {
      const auto result = (*parsed)->render(context, few);
      if (result) break;
      EXPECT_NE(result.error().message().find("max_steps"), std::string::npos) << source;
    }
  }
}

TEST(Generation, PartsSayWhatTheAssistantSaid) {
  const auto parsed = ChatTemplate::parse(
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}"
      "{{ m.content }}!{% endgeneration %}{% endif %}{% endfor %}{% set x %}{% generation %}y"
      "{% endgeneration %}{% endset %}{{ x }}");
  ASSERT_TRUE(parsed.has_value());
  const Json context = {{"messages",
                         {{{"role", "user"}, {"content", "q"}},
                          {{"role", "assistant"}, {"content", "a"}},
                          {{"role", "assistant"}, {"content", "b"}}}}};
  const auto parts = (*parsed)->render(context, {});
  ASSERT_TRUE(parts.has_value());
  std::string seen;
  for (const RenderedPart& part : *parts)
    seen += (part.assistant ? "[" : "") + part.text + (part.assistant ? "]" : "");
  EXPECT_EQ(seen, "<user><assistant>[a][!]<assistant>[b][!]y");
}

TEST(HostileTemplates, CirclesAndChainsAreFreed) {
  const char* kCircles[] = {
      "{% set ns = namespace() %}{% set ns.me = [ns] %}{% set ns.other = namespace(back=ns) %}",
      "{% macro m() %}{{ m }}{% endmacro %}{% set keep = [m] %}",
      "{% for i in [1] %}{% set _ = loop.changed(loop) %}{% endfor %}",
      "{% set ns = namespace() %}{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}"
      "{% set ns.m = m %}{% set ns.l = loop %}{% endfor %}{{ ns.m() }}",
      "{% set ns = namespace(n=none) %}{% for i in range(100000) %}"
      "{% set ns.n = namespace(n=ns.n) %}{% endfor %}",
  };
  for (const char* source : kCircles) {
    const auto out = rendered(source, Json::object());
    EXPECT_TRUE(out.has_value()) << source << ": " << out.error().message();
  }
  expect_failure(
      "{% set ns = namespace(n=none) %}{% for i in range(100000) %}"
      "{% set ns.n = [ns.n].index %}{% endfor %}",
      "nested deeper");
  expect_failure(
      "{% set ns = namespace(n=none) %}{% for i in range(100000) %}"
      "{% for x in [ns.n] %}{% set ns.n = loop %}{% endfor %}{% endfor %}",
      "nested deeper");
}

TEST(Texts, AreSplitFromTheRightDownToTheFirstLetter) {
  EXPECT_EQ(rendered("{{ 'a b cd'.rsplit() }}", Json::object()).value(), "['a', 'b', 'cd']");
  EXPECT_EQ(rendered("{{ 'a b cd'.rsplit(none, 1) }}", Json::object()).value(), "['a b', 'cd']");
}

TEST(Texts, ASigmaThatEndsAWordHasAFormOfItsOwn) {
  EXPECT_EQ(rendered("{{ 'ΟΔΟΣ'.lower() }}", Json::object()).value(), "οδος");
  EXPECT_EQ(rendered("{{ 'ΟΔΟΣ.'.lower() }}", Json::object()).value(), "οδος.");
  EXPECT_EQ(rendered("{{ 'ΣΟΣ ΟΣΑ Σ'.lower() }}", Json::object()).value(), "σος οσα σ");
}

TEST(TemplateContexts, HaveWholeNumbersOfAnySize) {
  const Json context =
      parse_json(R"({"n": 12345678901234567890123, "m": -9223372036854775809})", "context").value();
  EXPECT_EQ(rendered("{{ n }} {{ n + 1 }} {{ m }} {{ m | tojson }}", context).value(),
            "12345678901234567890123 12345678901234567890124 -9223372036854775809 "
            "-9223372036854775809");
}

TEST(TemplateErrors, NameThePlace) {
  expect_failure("a\nb {{ x.y.z }}", "template: line 2, column 7: 'x' is undefined");
  expect_failure("{% if x %}", "the template ends before {% endif %}");
  expect_failure("\n\n{% frob %}", "template: line 3, column 4: unknown tag 'frob'");
  expect_failure("{{ 1|frob }}", "no filter named 'frob'");
  expect_failure("{{ 1 is frob }}", "no test named 'frob'");
  expect_failure("{{ raise_exception('say why') }}", "say why");
  expect_failure("{{ 'abc }}", "line 1, column 4: this string is not closed");
  expect_failure("{# abc", "not closed");
  expect_failure("{{ [1, 2 }}", "unexpected '}', expected ']'");
  const auto raised = rendered("{{ raise_exception('x') }}", Json::object());
  EXPECT_EQ(raised.error().code(), Code::invalid);
  EXPECT_EQ(ChatTemplate::parse("{{ 1|frob }}").error().code(), Code::unsupported);
  EXPECT_EQ(ChatTemplate::parse("{{ 1").error().code(), Code::corrupt);
}

TEST(ChatTemplates, ContextMustBeAnObject) {
  const auto parsed = ChatTemplate::parse("x");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_FALSE((*parsed)->render(Json::array(), {}).has_value());
}

}  // namespace
}  // namespace ruv::chat_template_test
