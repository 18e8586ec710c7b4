// Renders the chat templates of real models and small language cases, and compares byte for byte
// with what Python's Jinja2 renders; then which bytes count as the user's, and hostile templates.
#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/file.h"
#include "base/json.h"

namespace ruv {
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
                         testing::Values("attributes.json", "dates.json", "expressions.json",
                                         "generators.json", "numbers.json", "statements.json",
                                         "whitespace.json"));

// What Jinja2 3.1.6 renders where templates rarely go.
struct Rendering {
  const char* source;
  const char* output;
};

constexpr Rendering kEscapes[] = {
    {R"({{ '\x41\u00e9\U0001F600' }} {{ '\101\7x\0' | tojson }})", "Aé😀 \"A\\u0007x\\u0000\""},
    {R"({{ '\1234' | tojson }} {{ '\q\é\'\"\\' }})", "\"S4\" \\q\\xe9'\"\\"},
    {R"({{ '\n\r\t\a\b\f\v' | tojson }})", "\"\\n\\r\\t\\u0007\\b\\f\\u000b\""},
    {R"({{ '\777' | tojson }})", "\"ǿ\""},
};

constexpr Rendering kWrapping[] = {
    {R"({{ 'well-known-thing' | wordwrap(6) }})", "well-\nknown-\nthing"},
    {R"({{ 'well-known-thing' | wordwrap(12) }})", "well-known-\nthing"},
    {R"({{ 'well-known-thing' | wordwrap(6, break_on_hyphens=false) }})", "well-k\nnown-t\nhing"},
    {R"({{ 'a-b-c-d-e' | wordwrap(3) }})", "a-\nb-\nc-\nd-e"},
    {R"({{ 'x1-2y-zz' | wordwrap(4) }} {{ 'ab-cd' | wordwrap(4) }})", "x1-\n2y-\nzz ab-\ncd"},
    {R"({{ 'ab-c d' | wordwrap(3) }} {{ 'ab-1c' | wordwrap(3) }})", "ab-\nc d ab-\n1c"},
    {R"({{ 'a-bc-de' | wordwrap(4) }})", "a-\nbc-\nde"},
    {R"({{ '--option=value --x' | wordwrap(9) }})", "--option=\nvalue --x"},
    {R"({{ 'one--two---three' | wordwrap(6) }})", "one--\ntwo---\nthree"},
    {R"({{ 'one --two' | wordwrap(5) }})", "one\n--two"},
    {R"({{ 'aaaa-bbbb' | wordwrap(3) }})", "aaa\na-b\nbbb"},
    {R"({{ '----------' | wordwrap(4) }})", "----\n----\n--"},
    {R"({{ '-----abc-d' | wordwrap(4) }})", "----\n-abc\n-d"},
    {R"({{ 'abcdefghij' | wordwrap(4) }})", "abcd\nefgh\nij"},
    {R"({{ 'abcdefghij kl' | wordwrap(4, false) }})", "abcdefghij\nkl"},
    {R"({{ 'ab cdefghij kl' | wordwrap(4, false) }})", "ab\ncdefghij\nkl"},
    {R"({{ 'ab cdefghij kl' | wordwrap(4) }})", "ab c\ndefg\nhij\nkl"},
    {R"({{ 'abcd  efgh' | wordwrap(4) }})", "abcd\nefgh"},
    {R"({{ 'abcd  efgh' | wordwrap(5) }})", "abcd\nefgh"},
    {R"({{ 'a  b   c' | wordwrap(3, true, '|') }})", "a|b|c"},
    {R"({{ '  ab cd' | wordwrap(4, true, '|') }})", "  ab|cd"},
    {R"({{ 'ab\n\ncd ef\n' | wordwrap(3, true, '|') }})", "ab||cd|ef"},
    {R"({{ 'don\'t-stop! why?' | wordwrap(6, true, '|') }})", "don't-|stop!|why?"},
    {R"({{ '' | wordwrap(0) }} {{ 'aé-üb cd' | wordwrap(4, true, '|') }})", " aé-|üb|cd"},
    {R"({{ 'abc-d-e' | wordwrap(5, true, '|') }})", "abc-|d-e"},
    {R"({{ 'abc-defgh-i' | wordwrap(5, true, '|') }})", "abc-d|efgh-|i"},
    {R"({{ 'a.-bb' | wordwrap(3, true, '|') }})", "a.-|bb"},
    {R"({{ 'x-yz' | wordwrap(2, true, '|') }})", "x-|yz"},
    {R"({{ 'ab-c-d' | wordwrap(4, true, '|') }})", "ab-|c-d"},
    {R"({{ 'q-.-r' | wordwrap(3, true, '|') }})", "q-|.-r"},
};

constexpr Rendering kNumbers[] = {
    {R"({{ '0x1F' | int(base=16) }} {{ '0x_1f' | int(base=16) }})", "31 31"},
    {R"({{ '0x1F' | int(base=0) }} {{ '0o17' | int(base=0) }})", "31 15"},
    {R"({{ '0b101' | int(base=0) }} {{ '0x1F' | int(7) }} {{ '0b1' | int(7, 16) }})", "5 7 177"},
    {R"({{ '12' | int(base=3) }} {{ '13' | int(7, base=3) }} {{ '0x' | int(7, 16) }})", "5 13 7"},
    {R"({{ '0' | int(7, 0) }} {{ '00' | int(7, 0) }} {{ '10' | int(base=0) }})", "0 0 10"},
    {R"({{ '1b2' | int(base=16) }} {{ '1_000' | int }} {{ '_1' | int(7) }})", "434 1000 7"},
    {R"({{ '1_' | int(7) }} {{ '1__0' | int(7) }} {{ ' 12 ' | int }})", "7 7 12"},
    {R"({{ '+5' | int }} {{ '-5' | int }} {{ '+-5' | int(7) }} {{ '- 5' | int(7) }})", "5 -5 7 7"},
    {R"({{ 'zz' | int(base=36) }} {{ 'ZZ' | int(base=36) }})", "1295 1295"},
    {R"({{ 'z' | int(7, 35) }} {{ '1' | int(7, 37) }} {{ '1' | int(7, 1) }})", "7 1 1"},
    {R"({{ '@' | int(7, 36) }} {{ '`' | int(7, 36) }} {{ '{' | int(7, 36) }})", "7 7 7"},
    {R"({{ ':' | int(7, 36) }} {{ '3.9' | int }} {{ '1e3' | int }})", "7 3 1000"},
    {R"({{ 'x' | int(7) }} {{ '' | int(7) }} {{ none | int(7) }} {{ [] | int(7) }})", "7 7 7 7"},
    {R"({{ true | int }} {{ 3.99 | int }} {{ -3.99 | int }} {{ '１２' | int }})", "1 3 -3 12"},
    {R"({{ '१२' | float }} {{ '1_0.5' | float }} {{ '.5' | float }})", "12.0 10.5 0.5"},
    {R"({{ '5.' | float }} {{ '1e400' | float }} {{ '-1e400' | float }})", "5.0 inf -inf"},
    {R"({{ '1e-400' | float }} {{ 'inf' | float }} {{ '-inf' | float }})", "0.0 inf -inf"},
    {R"({{ 'nan' | float }} {{ '--1' | float(7) }} {{ '+-1' | float(7) }})", "nan 7 7"},
    {R"({{ 'x' | float }} {{ 'x' | float(2) }} {{ '0x10' | float(7) }})", "0.0 2 7"},
    {R"({{ 2.5 | round }} {{ 3.5 | round }} {{ -2.5 | round }})", "2.0 4.0 -2.0"},
    {R"({{ 2.675 | round(2) }} {{ 1234.5 | round(-2) }})", "2.67 1200.0"},
    {R"({{ 1250 | round(-2) }} {{ 1350 | round(-2) }})", "1200 1400"},
    {R"({{ -1250 | round(-2) }} {{ 5 | round(2) }} {{ 15 | round(-1) }})", "-1200 5 20"},
    {R"({{ 25 | round(-1) }} {{ 2.1 | round(0, 'ceil') }})", "20 3.0"},
    {R"({{ 2.9 | round(0, 'floor') }} {{ 2.15 | round(1, 'ceil') }})", "2.0 2.2"},
    {R"({{ -2.15 | round(1, 'floor') }} {{ 12 | round(-1, 'ceil') }})", "-2.2 20.0"},
    {R"({{ 12 | round(-1, 'floor') }} {{ true | round }} {{ -5 | abs }})", "10.0 1 5"},
    {R"({{ -5.5 | abs }} {{ true | abs }} {{ -0.0 | abs }})", "5.5 1 0.0"},
    {R"({{ (255).bit_length() }} {{ (256).bit_length() }} {{ (0).bit_length() }})", "8 9 0"},
    {R"({{ (-1).bit_length() }} {{ (255).bit_count() }} {{ (-7).bit_count() }})", "1 8 3"},
    {R"({{ (2**70).bit_length() }} {{ (2**70 + 1).bit_count() }})", "71 2"},
    {R"({{ (0.75).as_integer_ratio() }} {{ (5).as_integer_ratio() }})", "(3, 4) (5, 1)"},
    {R"({{ (-0.1).as_integer_ratio() }})", "(-3602879701896397, 36028797018963968)"},
    {R"({{ (4.0).as_integer_ratio() }} {{ (2.5).is_integer() }})", "(4, 1) False"},
    {R"({{ (2.0).is_integer() }} {{ (0.375).as_integer_ratio() }})", "True (3, 8)"},
    {R"({{ (3).real }} {{ (3).imag }} {{ (3).numerator }} {{ (3).denominator }})", "3 0 3 1"},
    {R"({{ (3.5).real }} {{ (3.5).imag }} {{ true.real }} {{ (3).conjugate() }})", "3.5 0.0 1 3"},
    {R"({{ (3.5).conjugate() }} {{ (3.5).numerator }})", "3.5 "},
    {R"({{ (3.5).bit_length is defined }} {{ (3).is_integer is defined }})", "False False"},
    {R"({{ 1e16 }} {{ 1e15 }})", "1e+16 1000000000000000.0"},
    {R"({{ 123456789012345680.0 }} {{ 0.0001 }})", "1.2345678901234568e+17 0.0001"},
    {R"({{ 0.00001 }} {{ 1.5e-7 }} {{ -0.0 }} {{ 1e22 }})", "1e-05 1.5e-07 -0.0 1e+22"},
    {R"({{ 1e300 * 1e10 }} {{ -1e300 * 1e10 }} {{ 5e-324 }})", "inf -inf 5e-324"},
    {R"({{ 0.1 + 0.2 }} {{ 100.0 }} {{ 1e100 }})", "0.30000000000000004 100.0 1e+100"},
    {R"({{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ 7 % -3 }} {{ -7 % 3 }})", "3 -4 -4 -2 2"},
    {R"({{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % -2 }} {{ -7.5 % 2 }})", "3.0 -4.0 -0.5 0.5"},
    {R"({{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }})", "1024 0.5 1.4142135623730951"},
    {R"({{ 0 ** 0 }} {{ 1 / 4 }} {{ 4 / 2 }} {{ 0.0 ** 2 }})", "1 0.25 2.0 0.0"},
    {R"({{ 0.0 ** 0 }} {{ (-2.0) ** 3 }} {{ (-2.0) ** -1 }} {{ 0 ** 5 }})", "1.0 -8.0 -0.5 0"},
    {R"({{ (-1) ** 3 }} {{ (-1) ** 4 }} {{ (-1) ** 10**20 }})", "-1 1 1"},
    {R"({{ (-1) ** (10**20 + 1) }} {{ 1 ** 10**20 }} {{ 0 ** 10**20 }})", "-1 1 0"},
    {R"({{ 9223372036854775807 + 1 }})", "9223372036854775808"},
    {R"({{ -9223372036854775808 - 1 }})", "-9223372036854775809"},
    {R"({{ 9223372036854775807 * 2 }})", "18446744073709551614"},
    {R"({{ 3037000500 * 3037000500 }})", "9223372037000250000"},
    {R"({{ 4611686018427387904 * 2 }})", "9223372036854775808"},
    {R"({{ -9223372036854775808 // -1 }})", "9223372036854775808"},
    {R"({{ -9223372036854775808 % -1 }} {{ 5 // -1 }} {{ 5 % -1 }})", "0 -5 0"},
    {R"({{ -(-9223372036854775807 - 1) }})", "9223372036854775808"},
    {R"({{ 2**64 // 3 }} {{ -(2**64) // 3 }})", "6148914691236517205 -6148914691236517206"},
    {R"({{ -(2**64) % 3 }} {{ 2**64 % -3 }} {{ 2**64 / 2**60 }})", "2 -2 16.0"},
    {R"({{ 2**64 - 2**64 }} {{ 2**64 > 2**63 }} {{ 2**64 == 2.0**64 }})", "0 True True"},
    {R"({{ 2**64 < 1.5 }} {{ 2**64 + 0.5 }})", "False 1.8446744073709552e+19"},
    {R"({{ (2**64) | float }} {{ 2**64 is odd }})", "1.8446744073709552e+19 1"},
    {R"({{ 2**64 is even }} {{ -(2**64) | abs }} {{ 1 < 2 < 3 }})", "2 18446744073709551616 True"},
    {R"({{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 }} {{ 1 == 1.0 }} {{ true == 1 }})", "False True True True"},
    {R"({{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) <= (1, 2) }})", "True True True"},
    {R"({{ [1] < [1, 0] }} {{ 1 != 1.0 }} {{ not 1 }} {{ true + true }})", "True False False 2"},
    {R"({{ 2 >= 2 }} {{ 1 >= 2 }} {{ 2 <= 1 }} {{ -true }} {{ +true }})", "True False False -1 1"},
    {R"({{ -2.5 }} {{ - 3 }} {{ 'ab' * 3 }} {{ 2 * 'ab' }})", "-2.5 -3 ababab abab"},
    {R"({{ 'ab' * -1 }} {{ [1, 2] * 2 }} {{ (1,) * 3 }})", " [1, 2, 1, 2] (1, 1, 1)"},
    {R"({{ [1] + [2] }} {{ (1,) + (2,) }} {{ 'a' ~ 1 ~ none ~ 2.0 }})", "[1, 2] (1, 2) a1None2.0"},
};

constexpr Rendering kFormats[] = {
    {R"({{ '%d|%5d|%-5d|%05d|%+d|% d|%i|%u' % (42, 42, 42, 42, 42, 42, 42, 42) }})",
     "42|   42|42   |00042|+42| 42|42|42"},
    {R"({{ '%.3d|%8.3d|%-8.3d|%08.3d|%+.3d|%.0d' % (7, 7, 7, 7, 7, 0) }})",
     "007|     007|007     |00000007|+007|0"},
    {R"({{ '%x|%X|%#x|%#X|%o|%#o|%.4x|%#.4x|%#8.4x|%-#8.4x|' % (255, 255, 255, 255, 8, 8, 255, 255, 255, 255) }})",
     "ff|FF|0xff|0XFF|10|0o10|00ff|0x00ff|  0x00ff|0x00ff  |"},
    {R"({{ '%x' % -255 }} {{ '%#o' % -8 }} {{ '%05d' % -42 }})", "-ff -0o10 -0042"},
    {R"({{ '%.5d' % -42 }} {{ '%+5d' % -42 }})", "-00042   -42"},
    {R"({{ '%f|%.2f|%10.3f|%-10.1f|%+.1f|%010.2f|%.0f|%#.0f' % (3.14159, 3.14159, 3.14159, 3.14159, 3.14159, 3.14159, 2.5, 2.5) }})",
     "3.141590|3.14|     3.142|3.1       |+3.1|0000003.14|2|2."},
    {R"({{ '%e|%E|%.2e|%#.0e|%.0e' % (12345.678, 12345.678, 12345.678, 12345.678, 12345.678) }})",
     "1.234568e+04|1.234568E+04|1.23e+04|1.e+04|1e+04"},
    {R"({{ '%g|%g|%g|%G|%.3g|%#g|%#.3g|%#.3g' % (0.0001, 0.00001, 1e10, 1e-10, 1234.5, 1.5, 1.0, 0.0) }})",
     "0.0001|1e-05|1e+10|1E-10|1.23e+03|1.50000|1.00|0.00"},
    {R"({{ '%#g|%#.2g|%#g|%#.5g|%#G' % (1e10, 1e10, 0.00001234, 0.001234, 1e-10) }})",
     "1.00000e+10|1.0e+10|1.23400e-05|0.0012340|1.00000E-10"},
    {R"({{ '%s|%5s|%-5s|%.2s|%5.1s|%r|%.2r|%05s' % ('abc', 'ab', 'ab', 'abc', 'abc', 'a', 'abc', 'a') }})",
     "abc|   ab|ab   |ab|    a|'a'|'a|    a"},
    {R"({{ '%c%c|%3c|%-3c|' % ('a', 98, 'c', 'd') }})", "ab|  c|d  |"},
    {R"({{ '%c' % 1114111 == '\U0010FFFF' }} {{ '%%|%d%%' % 5 }})", "True %|5%"},
    {R"({{ '%(a)d %(b)s %(a)05d' % {'a': 1, 'b': 'x'} }} {{ 'abc' % [] }})", "1 x 00001 abc"},
    {R"({{ 'abc' % {} }} {{ 'abc' % () }} {{ '%s' % [1, 2] }})", "abc abc [1, 2]"},
    {R"({{ '%s %s' % ([1], none) }} {{ '%d' % 3.99 }} {{ '%d' % -3.99 }})", "[1] None 3 -3"},
    {R"({{ '%d' % true }} {{ '%s' % true }} {{ '%x' % 255 }})", "1 True ff"},
    {R"({{ '%f' % (1e300 * 1e10) }} {{ '%5.1f|' % (1e300 * 1e10) }})", "inf   inf|"},
    {R"({{ '%e' % (-1e300 * 1e10) }})", "-inf"},
    {R"({% set t = 'inf' %}{% set i = t | float %}{{ '%F %E|%-6G|%06E|%+F|%g' % (i, -i, i, i, i, i) }})",
     "INF -INF|INF   |000INF|+INF|inf"},
    {R"({% set t = 'nan' %}{% set n = t | float %}{{ '%F %E %G %f' % (n, n, n, n) }} {{ '{:F}{:E}{:g}'.format(n, n, n) }})",
     "NAN NAN NAN nan NANNANnan"},
    {R"({% set t = 'inf' %}{% set i = t | float %}{{ '{:F} {:E} {:G} {:f} {:%}'.format(i, -i, i, i, i) }})",
     "INF -INF INF inf inf%"},
    {R"({{ '% 5d|%- 5d|%+-5d|%-+5d|%0-5d|%-05d|% +d' % (1, 2, 3, 4, 5, 6, 7) }})",
     "    1| 2   |+3   |+4   |5    |6    |+7"},
    {R"({{ '%+ d|%0+ 5d|%  d|%+#x|%+#010x|%#0 10x|%--5d|%+s' % (8, 8, 8, 255, 255, 255, 8, 'a') }})",
     "+8|+0008| 8|+0xff|+0x00000ff| 0x00000ff|8    |a"},
    {R"({{ '%0-+ #8x|%+  f|%- 5s|' % (255, 1.5, 'b') }})", "+0xff   |+1.500000|b    |"},
    {R"({{ '%d' % 2**70 }} {{ '%x' % (2**70) }})", "1180591620717411303424 400000000000000000"},
    {R"({{ '%30d|' % (2**70) }})", "        1180591620717411303424|"},
    {R"({{ '%.25d' % (2**70) }} {{ '%e' % (2**70) }})", "0001180591620717411303424 1.180592e+21"},
    {R"({{ '{}|{}'.format(1, 'a') }} {{ '{0}{1}{0}'.format('a', 'b') }})", "1|a aba"},
    {R"({{ '{x}{y}'.format(x=1, y=2) }} {{ '{{}}'.format() }})", "12 {}"},
    {R"({{ '{{{}}}'.format(1) }})", "{1}"},
    {R"({{ '{0.a}{0[a]}{1[0]}{1[1]}'.format({'a': 5}, [7, 8]) }})", "5578"},
    {R"({{ '{0[a][1]}{x[b].c}'.format({'a': [1, 2]}, x={'b': {'c': 3}}) }})", "23"},
    {R"({{ '{0[1]}'.format({1: 'one', '1': 'text'}) }})", "one"},
    {R"({{ '{a1}{b_2}'.format(a1=1, b_2=2) }})", "12"},
    {R"({{ '{0[-1]}{0[+1]}'.format({'-1': 'a', -1: 'b', '+1': 'c', 1: 'd'}) }})", "ac"},
    {R"({{ '{0[-1]}|'.format([1, 2]) }} {{ '{-1}'.format(**{'-1': 5}) }} {{ '{0[1a]}'.format({'1a': 6}) }})",
     "| 5 6"},
    {R"({{ '{:5}|{:<5}|{:>5}|{:^5}|{:*^7}|{:é>4}'.format(1, 2, 3, 4, 5, 6) }})",
     "    1|2    |    3|  4  |***5***|ééé6"},
    {R"({{ '{:5}|{:<5}|{:>5}|{:^6}|{:.2}|{:5.1}|{:05}'.format('ab', 'ab', 'ab', 'ab', 'abc', 'abc', 'ab') }})",
     "ab   |ab   |   ab|  ab  |ab|a    |ab000"},
    {R"({{ '{:d}|{:05d}|{:+d}|{: d}|{:-d}|{:x}|{:X}|{:#x}|{:o}|{:#o}|{:b}|{:#b}|{:#010b}'.format(5, 5, 5, 5, 5, 255, 255, 255, 8, 8, 5, 5, 5) }})",
     "5|00005|+5| 5|5|ff|FF|0xff|10|0o10|101|0b101|0b00000101"},
    {R"({{ '{:,}|{:,}|{:,}|{:,.2f}|{:10,}'.format(1234567, 123, -1234, 1234567.891, 1234) }})",
     "1,234,567|123|-1,234|1,234,567.89|     1,234"},
    {R"({{ '{:f}|{:.2f}|{:8.2f}|{:e}|{:E}|{:g}|{:G}|{:%}|{:.1%}|{:+.1f}|{:08.2f}|{:#.0f}|{:#g}'.format(1.5, 1.555, 1.5, 1.5, 1.5, 1.5, 1e-10, 0.5, 0.256, 1.5, -1.5, 2.0, 2.0) }})",
     "1.500000|1.55|    "
     "1.50|1.500000e+00|1.500000E+00|1.5|1E-10|50.000000%|25.6%|+1.5|-0001.50|2.|2.00000"},
    {R"({{ '{:=5}|{:*=6}|{:=+5}|{:0=5}'.format(-1, -2, 3, 4) }})", "-   1|-****2|+   3|00004"},
    {R"({{ '{:010,}|{:07,}|{:08,}|{:09,}|{:05,}|{:+010,}|{:010,}|{:04,}|{:03,}|{:01,}'.format(1234, 1234, 1234, 1234, 1234, 1234, -1234, 1, 12, 0) }})",
     "00,001,234|001,234|0,001,234|0,001,234|1,234|+0,001,234|-0,001,234|0,001|012|0"},
    {R"({{ '{:012,.2f}|{:014,.2f}|{:010,}|{:014,e}|{:015,e}|{:#010,.0f}|{:012,%}'.format(1234.5, 1234.5, 1e20, 1.5, 1.5, 1234.5, 0.5) }})",
     "0,001,234.50|000,001,234.50|00,001e+20|001.500000e+00|0,001.500000e+00|0,001,234.|0,050."
     "000000%"},
    {R"({{ '{:0=10,}|{:0>10,}|{:<010,}|{:^010,}|{:=010,}|{:030,}'.format(1234, 1234, 1234, 1234, 1234, 2**70) }})",
     "00,001,234|000001,234|1,23400000|001,234000|00,001,234|01,180,591,620,717,411,303,424"},
    {R"({% set t = 'inf' %}{% set i = t | float %}{{ '{:010,}|{:+010,F}|{:011,%}'.format(i, -i, i) }})",
     "0000000inf|-000000INF|0000000inf%"},
    {R"({{ '{:<05}|{:^05}|{:>05}|{:=05}|{:^05}|{:>06}|{:<+07.1f}|{:^#08x}'.format(3, 3, 3, -3, -3, -3, 2.5, 255) }})",
     "30000|00300|00003|-0003|0-300|0000-3|+2.5000|000xff00"},
    {R"({{ '{:<05}|{:^05}|{:>05}'.format('ab', 'ab', 'ab') }} {{ '{:*<05}|{:*=05}'.format(3, -3) }})",
     "ab000|0ab00|000ab 3****|-***3"},
    {R"({{ '{:.1}|{:.3}|{:.3}|{:.2}|{:.1}|{:.2}|{:8,.3}|{:.17}|{:.2}'.format(1.5, 12.0, 123.0, 0.0, 0.0, 100.0, 0.0, 1e16, 1e-5) }})",
     "2e+00|12.0|1.23e+02|0.0|0e+00|1e+02|     0.0|1e+16|1e-05"},
    {R"({{ '{:,}{:<}{:^+}{:}{}'.format(true, true, true, true, true) }} {{ '{:-}|{:-5}'.format(5, -5) }} {{ '{:#}|{:#}'.format(1e20, 1.5) }} {{ '{:#.2}|{:#.1}'.format(0.0, 2.0) }} {{ '%.0c' % 'a' }})",
     "11+1TrueTrue 5|   -5 1.e+20|1.5 0.0|2.e+00 a"},
    {R"({{ '{!r}|{!s}|{!r:>5}|{!s:<4}|'.format('a', 'b', 'c', 'd') }})", "'a'|b|  'c'|d   |"},
    {R"({{ '{!a}|{!a}|{!a}|{!a}'.format('é', '五😀', "it's", ['é', 1]) }})",
     "'\\xe9'|'\\u4e94\\U0001f600'|\"it's\"|['\\xe9', 1]"},
    {R"({{ '{0!a:>10}|{0!a:.3}|{x!r:^7}|{0!s:.1}'.format('é', x='ß') }} {{ '{!a}'.format('a\x80\n\\') }})",
     "    '\\xe9'|'\\x|  'ß'  |é 'a\\x80\\n\\\\'"},
    {R"({{ '{!r:05}|{!s:<5}|{!a:^5}|'.format(5, 5, 5) }} {{ '%a|%8a|%-8a|%.3a' % ('é', 'é', 'é', 'é') }})",
     "50000|5    |  5  | '\\xe9'|  '\\xe9'|'\\xe9'  |'\\x"},
    {R"({{ '{}'.format(none) }} {{ '{}'.format([1]) }} {{ '{}'.format(true) }})", "None [1] True"},
    {R"({{ '{:5}|{:d}'.format(true, true) }} {{ '{:<}|{:>}'.format(1, 'a') }})", "    1|1 1|a"},
    {R"({{ '{:10.3}|{:.3}|{:.10}|{:}|{:8}'.format(3.14159, 1234.5, 0.1, 2.0, 1e20) }})",
     "      3.14|1.23e+03|0.1|2.0|   1e+20"},
    {R"({{ '{a}{b}'.format_map({'a': 1, 'b': 2}) }})", "12"},
    {R"({{ '{a:>3}'.format_map({'a': 1}) }} {{ '%s and %d' | format('a', 5) }})", "  1 a and 5"},
    {R"({{ '%(a)s' | format(a=1) }} {{ 'x' | format }})", "1 x"},
    {R"({{ '{:5}|{:<5}'.format(2.5, 2.5) }})", "  2.5|2.5  "},
    {R"({{ '{:.0f}|{:.0f}|{:.0e}'.format(0.5, 1.5, 15.0) }})", "0|2|2e+01"},
    {R"({{ '{:#.3g}|{:#.3g}|{:#.2e}'.format(10, 1000, 5) }})", "10.0|1.00e+03|5.00e+00"},
};

constexpr Rendering kTexts[] = {
    {R"({{ 'straße'.upper() }} {{ 'STRASSE'.casefold() }})", "STRASSE strasse"},
    {R"({{ 'straße'.casefold() }} {{ 'ﬃ'.upper() }} {{ 'ŉ'.capitalize() }})", "strasse FFI ʼN"},
    {R"({{ 'ǆ'.title() }} {{ 'ǆ'.upper() }} {{ 'İ'.lower() | length }})", "ǅ Ǆ 2"},
    {R"({{ 'ΐ'.casefold() | length }} {{ 'ﬁx'.capitalize() }} {{ 'µ'.casefold() }})", "3 Fix μ"},
    {R"({{ 'ſ'.upper() }} {{ "Α'Σ" | lower }} {{ 'ΑΣ’Β' | lower }})", "S α'ς ασ’β"},
    {R"({{ 'Α.Σ' | lower }} {{ 'Α Σ' | lower }} {{ 'ΑΣ\u0301' | lower }})", "α.ς α σ ας́"},
    {R"({{ 'Σ' | lower }} {{ '1Σ' | lower }} {{ 'ΑΣΑ' | lower }})", "σ 1σ ασα"},
    {R"({{ 'aΣ' | lower }} {{ 'Α·Σ' | lower }} {{ 'ΑΣ.1' | lower }})", "aς α·ς ας.1"},
    {R"({{ 'ΑΣ.Α' | lower }} {{ 'hello wORLD' | capitalize }})", "ασ.α Hello world"},
    {R"({{ 'hELLO wORLD' | title }})", "Hello World"},
    {R"({{ "it's a-b (c) {d} [e] <f>" | title }})", "It's A-B (C) {D} [E] <F>"},
    {R"({{ "it's 3rd x2y" .title() }} {{ 'hELLO'.swapcase() }})", "It'S 3Rd X2Y Hello"},
    {R"({{ 'ßA'.swapcase() }} {{ 'ǅ'.swapcase() }} {{ 'ΑΣ'.title() }})", "SSa ǅ Ας"},
    {R"({{ 'ΑΣ'.swapcase() }} {{ 'bΣ'.capitalize() }} {{ 'a1'.isalnum() }})", "ας Bς True"},
    {R"({{ ''.isalnum() }} {{ 'a '.isalnum() }} {{ 'é'.isalpha() }})", "False False True"},
    {R"({{ '1'.isalpha() }} {{ 'ª'.isalpha() }} {{ '²'.isdigit() }})", "False True True"},
    {R"({{ '²'.isdecimal() }} {{ '½'.isnumeric() }} {{ '½'.isdigit() }})", "False True False"},
    {R"({{ 'Ⅷ'.isnumeric() }} {{ 'Ⅷ'.isalpha() }} {{ '१'.isdecimal() }})", "True False True"},
    {R"({{ '五'.isnumeric() }} {{ '五'.isdigit() }} {{ '五'.isdecimal() }} {{ '一人'.isnumeric() }})",
     "True False False False"},
    {R"({{ '〇一二三萬億零参㊀½'.isnumeric() }} {{ '\u3405\u9678\uf96b\U0002f890'.isnumeric() }} {{ '\u3404'.isnumeric() }} {{ '\u3406'.isnumeric() }} {{ '五'.isalnum() }})",
     "True True False False True"},
    {R"({{ '①'.isdigit() }} {{ ' \t\u00a0'.isspace() }} {{ ''.isspace() }})", "True True False"},
    {R"({{ 'a'.isspace() }} {{ '\x1c'.isspace() }} {{ '\x85'.isspace() }})", "False True True"},
    {R"({{ '\u2028'.isspace() }} {{ '\u200b'.isspace() }})", "True False"},
    {R"({{ '\u3000'.isspace() }} {{ ''.isprintable() }})", "True True"},
    {R"({{ 'a b'.isprintable() }} {{ 'a\n'.isprintable() }})", "True False"},
    {R"({{ '\u00a0'.isprintable() }} {{ 'é'.isprintable() }})", "False True"},
    {R"({{ '\x7f'.isprintable() }} {{ '\u200b'.isprintable() }})", "False False"},
    {R"({{ '\ue000'.isprintable() }} {{ 'a_1'.isidentifier() }})", "False True"},
    {R"({{ '1a'.isidentifier() }} {{ ''.isidentifier() }})", "False False"},
    {R"({{ 'é'.isidentifier() }} {{ 'a-b'.isidentifier() }})", "True False"},
    {R"({{ 'a·b'.isidentifier() }} {{ '_'.isidentifier() }})", "True True"},
    {R"({{ 'a\u0301'.isidentifier() }} {{ '\u0301a'.isidentifier() }})", "True False"},
    {R"({{ 'Ⅷ'.isidentifier() }} {{ 'abc'.islower() }} {{ 'aBc'.islower() }})", "True True False"},
    {R"({{ '1'.islower() }} {{ 'ABC1'.isupper() }} {{ 'AbC'.isupper() }})", "False True False"},
    {R"({{ ''.isupper() }} {{ 'ǅ'.isupper() }} {{ 'ǅ'.islower() }})", "False False False"},
    {R"({{ 'Ab Cd'.istitle() }} {{ 'AbC'.istitle() }} {{ 'ab'.istitle() }})", "True False False"},
    {R"({{ ''.istitle() }} {{ '1 A'.istitle() }} {{ 'A1b'.istitle() }})", "False True False"},
    {R"({{ 'ǅa'.istitle() }} {{ 'é'.isascii() }} {{ 'e'.isascii() }})", "True False True"},
    {R"({{ ''.isascii() }} {{ 'A b'.istitle() }} {{ 'a' is lower }})", "True False True"},
    {R"({{ 'A' is upper }} {{ 1 is lower }} {{ 'xxaxx'.strip('x') }})", "True False a"},
    {R"({{ 'xyaxy'.lstrip('yx') }} {{ 'xyaxy'.rstrip('yx') }})", "axy xya"},
    {R"({{ 'éaé'.strip('é') }} {{ ' \t a \n'.strip() }} {{ '\u00a0a\u3000'.strip() }})", "a a a"},
    {R"({{ 'a'.strip('') }} {{ 'xxx'.strip('x') }} {{ 'aé'.rstrip('é') }})", "a  a"},
    {R"({{ 'xa'.strip(none) }} {{ '  a ' | trim }} {{ 'xax' | trim('x') }})", "xa a a"},
    {R"({{ 5 | trim }} {{ 'a ' | trim(none) }})", "5 a"},
    {R"({{ 'a,b,,c'.split(',') }})", "['a', 'b', '', 'c']"},
    {R"({{ 'a,b,,c'.split(',', 1) }})", "['a', 'b,,c']"},
    {R"({{ 'a,b,,c'.rsplit(',', 1) }} {{ ',a,'.split(',') }})", "['a,b,', 'c'] ['', 'a', '']"},
    {R"({{ 'a'.split(',') }} {{ ''.split(',') }} {{ ''.split() }})", "['a'] [''] []"},
    {R"({{ ' a  b '.split() }} {{ ' a  b c '.split(none, 1) }})", "['a', 'b'] ['a', 'b c ']"},
    {R"({{ ' a  b c '.rsplit(none, 1) }})", "[' a  b', 'c']"},
    {R"({{ 'aXXbXXc'.rsplit('XX') }} {{ 'a,b'.split(',', 0) }})", "['a', 'b', 'c'] ['a,b']"},
    {R"({{ ' a b'.split(none, 0) }} {{ 'aaa'.rsplit('aa') }})", "['a b'] ['a', '']"},
    {R"({{ 'aaa'.split('aa') }} {{ 'ab'.rsplit('abc') }})", "['', 'a'] ['ab']"},
    {R"({{ 'a é\u2003b'.rsplit() }})", "['a', 'é', 'b']"},
    {R"({{ 'a\nb\r\nc\rd\x0be\x0cf\x1cg\x1dh\x1ei\x85j\u2028k\u2029l'.splitlines() | length }})",
     "12"},
    {R"({{ 'a\n\nb\n'.splitlines() }})", "['a', '', 'b']"},
    {R"({{ 'a\r\nb\n'.splitlines(true) | tojson }})", "[\"a\\r\\n\", \"b\\n\"]"},
    {R"({{ ''.splitlines() }} {{ '\n'.splitlines() }})", "[] ['']"},
    {R"({{ 'a\x84b\x1fc\x0ed\x09'.splitlines() | length }})", "1"},
    {R"({{ 'a\r'.splitlines(true) | tojson }})", "[\"a\\r\"]"},
    {R"({{ 'a-b-c'.partition('-') }})", "('a', '-', 'b-c')"},
    {R"({{ 'a-b-c'.rpartition('-') }})", "('a-b', '-', 'c')"},
    {R"({{ 'abc'.partition('-') }})", "('abc', '', '')"},
    {R"({{ 'abc'.rpartition('-') }} {{ 'abcabc'.find('c') }})", "('', '', 'abc') 2"},
    {R"({{ 'abcabc'.rfind('c') }} {{ 'abcabc'.find('c', 3) }})", "5 5"},
    {R"({{ 'abcabc'.find('c', 0, 2) }} {{ 'abcabc'.find('c', -1) }})", "-1 5"},
    {R"({{ 'abcabc'.find('', 6) }} {{ 'abcabc'.find('', 7) }} {{ 'ééx'.find('x') }})", "6 -1 2"},
    {R"({{ 'ééx'.find('x', 2) }} {{ 'abc'.rfind('b', 0, -1) }})", "2 1"},
    {R"({{ 'abc'.find('c', none, -1) }} {{ 'abc'.find('a', 2, 1) }})", "-1 -1"},
    {R"({{ 'abc'.find('', 2, 1) }} {{ 'abcabc'.index('b', 2) }})", "-1 4"},
    {R"({{ 'abcabc'.rindex('b') }} {{ 'abc'.find('a', -10) }})", "4 0"},
    {R"({{ 'abc'.find('c', 0, 10) }} {{ 'aaaa'.count('a') }} {{ 'aaaa'.count('aa') }})", "2 4 2"},
    {R"({{ 'aaaa'.count('a', 1) }} {{ 'aaaa'.count('a', 1, 3) }} {{ 'abc'.count('') }})", "3 2 4"},
    {R"({{ 'é'.count('') }} {{ 'abc'.count('', 3) }} {{ 'abc'.count('', 4) }})", "2 1 0"},
    {R"({{ ''.count('') }} {{ 'abc'.startswith('ab') }})", "1 True"},
    {R"({{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.startswith('b', 1) }})", "True True"},
    {R"({{ 'abc'.startswith('b', 1, 1) }} {{ 'abc'.endswith('bc') }})", "False True"},
    {R"({{ 'abc'.endswith(('x', 'y')) }} {{ 'abc'.endswith('b', 0, 2) }})", "False True"},
    {R"({{ 'abc'.startswith('', 3) }} {{ 'abc'.startswith('', 4) }})", "True False"},
    {R"({{ 'abc'.startswith(()) }} {{ 'abc'.endswith('') }})", "False True"},
    {R"({{ 'aXbXc'.replace('X', '-') }} {{ 'aXbXc'.replace('X', '-', 1) }})", "a-b-c a-bXc"},
    {R"({{ 'aXbXc'.replace('X', '', 0) }} {{ 'ab'.replace('', '-') }})", "aXbXc -a-b-"},
    {R"({{ 'ab'.replace('', '-', 2) }} {{ ''.replace('', 'x') }})", "-a-b x"},
    {R"({{ 'é'.replace('', '-') }} {{ 'aaa'.replace('aa', 'b') }})", "-é- ba"},
    {R"({{ 'a-b' | replace('-', '+') }} {{ 'a-b-c' | replace('-', '+', 1) }})", "a+b a+b-c"},
    {R"({{ 'abc'.replace('x', 'y') }} {{ 'abc'.removeprefix('ab') }})", "abc c"},
    {R"({{ 'abc'.removesuffix('bc') }} {{ 'abc'.removeprefix('x') }})", "a abc"},
    {R"({{ 'abc'.removesuffix('x') }} {{ 'abc'.removesuffix('') }})", "abc abc"},
    {R"({{ '-'.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ '-'.join([]) }})", "a-b a-b-c "},
    {R"({{ '-'.join({'a': 1, 'b': 2}) }} {{ 'ab'.ljust(4) }})", "a-b ab  "},
    {R"({{ 'ab'.rjust(4, '*') }} {{ 'ab'.center(5) }})", "**ab   ab "},
    {R"({{ 'abc'.center(6) }} {{ 'ab'.center(7, 'é') }})", " abc   éééabéé"},
    {R"({{ 'a'.center(4) }} {{ '-5'.zfill(4) }} {{ '+5'.zfill(4) }})", " a   -005 +005"},
    {R"({{ '5'.zfill(3) }} {{ 'ab'.zfill(1) }} {{ 'ab' | center(6) }})", "005 ab   ab  "},
    {R"({{ ''.zfill(2) }} {{ 'ab'.ljust(2) }} {{ 'ab'.rjust(3) }})", "00 ab  ab"},
    {R"({{ 'a\tb\tc'.expandtabs() }} {{ 'ab\tc'.expandtabs(4) }})", "a       b       c ab  c"},
    {R"({{ 'a\tb'.expandtabs(0) }} {{ 'a\nbc\td'.expandtabs(4) }})", "ab a\nbc  d"},
    {R"({{ 'a\r\td'.expandtabs(2) }} {{ 'abcd\te'.expandtabs(4) }})", "a\r  d abcd    e"},
    {R"({{ 'a\tb'.expandtabs(-1) }} {{ 'é\tb'.expandtabs(3) }})", "ab é  b"},
    {R"({{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2, true) }})", "a\n    b\n\n    c   a\n  b"},
    {R"({{ 'a\n\nb' | indent(2, blank=true) }} {{ 'a\nb' | indent('--') }})", "a\n  \n  b a\n--b"},
    {R"({{ 'a\n' | indent(2) }} {{ '' | indent(2, true) }})", "a\n   "},
    {R"({{ 'a\nb' | indent(0) }} {{ '\na' | indent(2, true) }})", "a\nb   \n  a"},
    {R"({{ 'a\n\nb' | indent(2, true, true) }})", "  a\n  \n  b"},
    {R"({{ 'hello world foo' | truncate(9) }})", "hello..."},
    {R"({{ 'hello world' | truncate(9, true) }})", "hello world"},
    {R"({{ 'hello world' | truncate(11) }})", "hello world"},
    {R"({{ 'hello world' | truncate(8) }})", "hello world"},
    {R"({{ 'hello world foo' | truncate(9, false, '…') }})", "hello…"},
    {R"({{ 'hello world foo' | truncate(9, true, '', 0) }})", "hello wor"},
    {R"({{ 'helloworldfoo' | truncate(9) }})", "helloworldfoo"},
    {R"({{ 'hello world' | truncate(6, leeway=0) }})", "hel..."},
    {R"({{ 'hello world' | truncate(6, leeway=5) }} {{ 'a b c' | wordcount }})", "hello world 3"},
    {R"({{ 'it\'s a-b' | wordcount }} {{ '' | wordcount }} {{ '...' | wordcount }})", "4 0 0"},
    {R"({{ 'é_1 ²' | wordcount }})", "2"},
    {R"({{ '<a href="x">&\'</a>' | escape }})", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;"},
    {R"({{ '<' | e | e }} {{ ('<' | e) ~ '>' }} {{ ('<' | safe) ~ '>' }})", "&lt; &lt;> <>"},
    {R"({{ '<' | forceescape }} {{ ('<' | e) | forceescape }})", "&lt; &amp;lt;"},
    {R"({{ 5 | escape }} {{ 'a b&c=é/~' | urlencode }})", "5 a%20b%26c%3D%C3%A9/~"},
    {R"({{ {'a': 1, 'b c': 'd&e'} | urlencode }})", "a=1&b+c=d%26e"},
    {R"({{ [('a', 1), ('b', 2)] | urlencode }} {{ 'a+b%' | urlencode }})", "a=1&b=2 a%2Bb%25"},
    {R"({{ 5 | urlencode }} {{ 'abc' | reverse }} {{ [1, 2] | reverse | list }})", "5 cba [2, 1]"},
    {R"({{ 'aé' | reverse }} {{ 'abc' | first }} {{ 'abc' | last }})", "éa a c"},
    {R"({{ 'éa' | length }} {{ 'abc' | list }} {{ 'abc'[1] }})", "2 ['a', 'b', 'c'] b"},
    {R"({{ 'abc'[-1] }} {{ 'abc'[5] is defined }} {{ 'abcde'[1:3] }})", "c False bc"},
    {R"({{ 'abcde'[::2] }} {{ 'abcde'[::-1] }} {{ 'abcde'[-2:] }})", "ace edcba de"},
    {R"({{ 'abcde'[:-2] }} {{ 'abcde'[3:1] }} {{ 'abcde'[10:] }} {{ 'aéb'[1:2] }})", "abc   é"},
    {R"({{ 'abcde'[4:1:-1] }} {{ 'abcde'[-100:2] }} {{ 'abcde'[1::2] }})", "edc ab bd"},
    {R"({{ 'abcde'[:1:-2] }} {{ 'b' in 'abc' }} {{ '' in 'abc' }})", "ec True True"},
    {R"({{ 'x' not in 'abc' }} {{ 'bc' in 'abc' }} {{ 'a' < 'B' }})", "True True False"},
    {R"({{ 'é' > 'z' }} {{ 'a' == 'a' }} {{ 'ab' < 'abc' }})", "True True True"},
    {R"({{ '😀' > '\uffff' }} {{ 'a\tb\\\'' | string | tojson }})", "True \"a\\tb\\\\'\""},
    {R"({{ ['a\'b', 'a"b', 'a\'"b', '\n\t\x00\x7f\xa0é\u200b\U0001F600\ue000\\'] }})",
     "[\"a'b\", 'a\"b', 'a\\'\"b', '\\n\\t\\x00\\x7f\\xa0é\\u200b😀\\ue000\\\\']"},
};

constexpr Rendering kSequences[] = {
    {R"({% for g in [{'k': 'b', 'v': 1}, {'k': 'A', 'v': 2}, {'k': 'B', 'v': 3}] | groupby('k') %}{{ g.grouper }}{{ g.list | length }}{{ g[0] }} {% endfor %})",
     "A1A b2b "},
    {R"({% for k, l in [{'k': 'b', 'v': 1}, {'k': 'A', 'v': 2}, {'k': 'B', 'v': 3}] | groupby('k', case_sensitive=true) %}{{ k }}{{ l | length }} {% endfor %})",
     "A1 B1 b1 "},
    {R"({% for k, l in [{'k': 'b', 'v': 1}, {'v': 2}] | groupby('k', default='z') %}{{ k }}{{ l | map(attribute='v') | list }} {% endfor %})",
     "b[1] z[2] "},
    {R"({% set c = cycler('a', 'b', 'c') %}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.pos }}{% set _ = c.reset() %}{{ c.current }}{{ c.pos }}{{ c.items }})",
     "aabcca1a0('a', 'b', 'c')"},
    {R"({% set j = joiner() %}{{ j() }}a{{ j() }}b{{ j() }}c {% set k = joiner('|') %}{{ k.used }}{{ k() }}a{{ k.used }}{{ k() }}b{{ k.sep }})",
     "a, b, c FalseaTrue|b|"},
    {R"({{ [1, 2, 3, 2].index(2) }} {{ [1, 2, 3, 2].index(2, 2) }})", "1 3"},
    {R"({{ [1, 2, 3, 2].index(2, -1) }} {{ [1, 2, 3, 2].index(1, -10) }})", "3 0"},
    {R"({{ (1, 2).index(2) }} {{ [1, 2, 2].count(2) }} {{ (1, 2).count(5) }})", "1 2 0"},
    {R"({{ [1, true, 1.0].count(1) }} {{ [1, 2].copy() }})", "3 [1, 2]"},
    {R"({{ {'a': 1}.copy() }} {{ {'a': 1}.get('a') }})", "{'a': 1} 1"},
    {R"({{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 5) }})", "None 5"},
    {R"({{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }})", "['a'] [1]"},
    {R"({{ {'a': 1}.items() | list }})", "[('a', 1)]"},
    {R"({{ {'a': 1}.items() }} {{ {'a': 1}.keys() }})", "dict_items([('a', 1)]) dict_keys(['a'])"},
    {R"({{ {'a': 1}.values() }})", "dict_values([1])"},
    {R"({{ [1, 2, 3] | batch(2) | list }})", "[[1, 2], [3]]"},
    {R"({{ [1, 2, 3] | batch(2, 'x') | list }})", "[[1, 2], [3, 'x']]"},
    {R"({{ [1, 2, 3, 4] | batch(2, 'x') | list }})", "[[1, 2], [3, 4]]"},
    {R"({{ [] | batch(2, 'x') | list }} {{ [1, 2] | batch(5) | list }})", "[] [[1, 2]]"},
    {R"({{ [1, 2, 3] | batch(3, none) | list }})", "[[1, 2, 3]]"},
    {R"({{ [1, 2, 3, 4, 5, 6, 7] | batch(3, 0) | list }})", "[[1, 2, 3], [4, 5, 6], [7, 0, 0]]"},
    {R"({{ [1, 2, 3, 4, 5] | slice(2) | list }})", "[[1, 2, 3], [4, 5]]"},
    {R"({{ [1, 2, 3, 4, 5] | slice(3, 'x') | list }})", "[[1, 2], [3, 4], [5, 'x']]"},
    {R"({{ [1, 2] | slice(3) | list }})", "[[1], [2], []]"},
    {R"({{ [1, 2, 3, 4] | slice(2, 'x') | list }})", "[[1, 2, 'x'], [3, 4, 'x']]"},
    {R"({{ [] | slice(2) | list }} {{ [1, 2, 3] | sum }})", "[[], []] 6"},
    {R"({{ [{'a': 1}, {'a': 2}] | sum('a') }} {{ [1] | sum(start=10) }})", "3 11"},
    {R"({{ [[1], [2]] | sum(start=[]) }} {{ [1.5, 2] | sum }} {{ [] | sum }})", "[1, 2] 3.5 0"},
    {R"({{ [{'a': {'b': 1}}] | sum('a.b') }} {{ [[5, 6]] | sum(1) }})", "1 6"},
    {R"({{ [[5, 6]] | sum('1') }} {{ {'a': 1} | attr('a') is defined }})", "6 False"},
    {R"({{ {'a': 1} | attr('get') is defined }} {{ ({'a': 5} | attr('get'))('a') }})", "True 5"},
    {R"({{ 'x' | attr('upper') is defined }})", "True"},
    {R"({{ 'abc' | attr('nope') is defined }})", "False"},
    {R"({{ [1] | attr('count') is defined }} {{ ('x' | attr('upper'))() }})", "True X"},
    {R"({{ [3, 1, 2] | sort }} {{ [3, 1, 2] | sort(true) }})", "[1, 2, 3] [3, 2, 1]"},
    {R"({{ ['b', 'A', 'c'] | sort }})", "['A', 'b', 'c']"},
    {R"({{ ['b', 'A', 'c'] | sort(case_sensitive=true) }})", "['A', 'b', 'c']"},
    {R"({{ [{'a': 2, 'b': 1}, {'a': 1, 'b': 2}, {'a': 1, 'b': 1}] | sort(attribute='a,b') }})",
     "[{'a': 1, 'b': 1}, {'a': 1, 'b': 2}, {'a': 2, 'b': 1}]"},
    {R"({{ [{'a': 2}, {'a': 1}] | sort(attribute='a', reverse=true) }})", "[{'a': 2}, {'a': 1}]"},
    {R"({{ [[2, 'x'], [1, 'y']] | sort(attribute=0) }})", "[[1, 'y'], [2, 'x']]"},
    {R"({{ [[1, 'B'], [1, 'a']] | sort(attribute='1') }})", "[[1, 'a'], [1, 'B']]"},
    {R"({{ [{'k': 1, 'i': 1}, {'k': 0, 'i': 2}, {'k': 1, 'i': 3}] | sort(attribute='k', reverse=true) | map(attribute='i') | list }})",
     "[1, 3, 2]"},
    {R"({{ {'b': 1, 'A': 2} | dictsort }})", "[('A', 2), ('b', 1)]"},
    {R"({{ {'b': 1, 'A': 2} | dictsort(true) }})", "[('A', 2), ('b', 1)]"},
    {R"({{ {'b': 1, 'a': 2} | dictsort(by='value') }})", "[('b', 1), ('a', 2)]"},
    {R"({{ {'b': 1, 'a': 2} | dictsort(reverse=true) }})", "[('b', 1), ('a', 2)]"},
    {R"({{ {'b': 'B', 'a': 'a'} | dictsort(false, 'value') }})", "[('a', 'a'), ('b', 'B')]"},
    {R"({{ {'b': 'B', 'a': 'a'} | dictsort(true, 'value') }})", "[('b', 'B'), ('a', 'a')]"},
    {R"({{ [1, 3, 2] | max }} {{ [1, 3, 2] | min }} {{ ['b', 'A'] | min }})", "3 1 A"},
    {R"({{ ['b', 'A'] | max }} {{ ['b', 'A'] | min(true) }})", "b A"},
    {R"({{ ['a', 'B'] | max(case_sensitive=true) }})", "a"},
    {R"({{ [{'a': 1}, {'a': 3}] | max(attribute='a') }})", "{'a': 3}"},
    {R"({{ [] | max is defined }} {{ [[1, 2], [0, 5]] | max(attribute=1) }})", "False [0, 5]"},
    {R"({{ ['a', 'A'] | max }} {{ ['A', 'a'] | min }})", "a A"},
    {R"({{ [{'a': 1, 'b': 1}, {'a': 1, 'b': 2}] | max(attribute='a') }})", "{'a': 1, 'b': 1}"},
    {R"({{ [1, 2, 1, 'a', 'A'] | unique | list }})", "[1, 2, 'a']"},
    {R"({{ ['a', 'A'] | unique(true) | list }})", "['a', 'A']"},
    {R"({{ [{'a': 1, 'b': 1}, {'a': 1, 'b': 2}] | unique(attribute='a') | list }})",
     "[{'a': 1, 'b': 1}]"},
    {R"({{ [1, 1.0, true] | unique | list }})", "[1]"},
    {R"({{ [{'k': {'n': 1}}, {'k': {'n': 0}}] | groupby('k.n') | map(attribute='grouper') | list }})",
     "[0, 1]"},
    {R"({{ [1, 2, 3, 4] | select('even') | list }})", "[2, 4]"},
    {R"({{ [1, 2, 3, 4] | reject('even') | list }})", "[1, 3]"},
    {R"({{ [0, 1, '', 'a'] | select | list }})", "[1, 'a']"},
    {R"({{ [0, 1, '', 'a'] | reject | list }})", "[0, '']"},
    {R"({{ [1, 5, 9] | select('gt', 4) | list }})", "[5, 9]"},
    {R"({{ [1, 6] | select('divisibleby', 3) | list }})", "[6]"},
    {R"({{ [{'a': 1}, {'a': 0}, {}] | selectattr('a') | list }})", "[{'a': 1}]"},
    {R"({{ [{'a': 1}, {'a': 0}, {}] | rejectattr('a') | list }})", "[{'a': 0}, {}]"},
    {R"({{ [{'a': 1}, {'a': 2}] | selectattr('a', 'equalto', 2) | list }})", "[{'a': 2}]"},
    {R"({{ [{'a': 1}, {}] | selectattr('a', 'defined') | list }})", "[{'a': 1}]"},
    {R"({{ [{'a': 1}, {}] | rejectattr('a', 'defined') | list }})", "[{}]"},
    {R"({{ [{'a': {'b': 1}}] | selectattr('a.b') | list | length }})", "1"},
    {R"({{ ['a', 'b'] | map('upper') | list }})", "['A', 'B']"},
    {R"({{ ['a,b'] | map('replace', ',', '-') | list }})", "['a-b']"},
    {R"({{ [{'a': 1}, {}] | map(attribute='a', default=0) | list }})", "[1, 0]"},
    {R"({{ [{'a': [5]}] | map(attribute='a.0') | list }})", "[5]"},
    {R"({{ [[1, 2]] | map(attribute=1) | list }} {{ [' a '] | map('trim') | join }})", "[2] a"},
    {R"({{ [[3, 1]] | map('sort') | list }} {{ [] | map('upper') | list }})", "[[1, 3]] []"},
    {R"({{ ['5'] | map('int', base=8) | list }} {{ [1, 2] | join(', ') }})", "[5] 1, 2"},
    {R"({{ [{'a': 1}, {'a': 2}] | join('-', attribute='a') }})", "1-2"},
    {R"({{ [1, none, 'x'] | join }} {{ {'a': 1, 'b': 2} | join(',') }})", "1Nonex a,b"},
    {R"({{ 'abc' | join('.') }} {{ [[1, 2], [3, 4]] | join('-', 0) }})", "a.b.c 1-3"},
    {R"({{ [] | first is defined }} {{ [] | last is defined }})", "False False"},
    {R"({{ [1, 2] | first }} {{ [1, 2] | last }} {{ {'a': 1} | first }})", "1 2 a"},
    {R"({{ {'a': 1, 'b': 2} | last }} {{ range(3) | last }} {{ (1, 2) | first }})", "b 2 1"},
    {R"({{ undefined_thing | length }} {{ {'a': 1} | length }} {{ range(5) | length }})", "0 1 5"},
    {R"({{ (1, 2) | count }} {{ x | default('d') }} {{ '' | default('d') }})", "2 d "},
    {R"({{ '' | default('d', true) }} {{ none | d('x', boolean=true) }})", "d x"},
    {R"({{ none | default('x') }} {{ x | default }} {{ 0 | default(1, true) }})", "None  1"},
    {R"({{ range(5) | list }} {{ range(2, 5) | list }})", "[0, 1, 2, 3, 4] [2, 3, 4]"},
    {R"({{ range(5, 2) | list }} {{ range(5, 2, -1) | list }})", "[] [5, 4, 3]"},
    {R"({{ range(0, 10, 3) | list }} {{ range(0, -5, -2) | list }})", "[0, 3, 6, 9] [0, -2, -4]"},
    {R"({{ range(3) }} {{ range(1, 3) }})", "range(0, 3) range(1, 3)"},
    {R"({{ range(1, 10, 2) }} {{ range(10, 0, -3) | list }})", "range(1, 10, 2) [10, 7, 4, 1]"},
    {R"({{ range(2)[1] }} {{ 3 in range(5) }} {{ range(0, 9, 3) | list }})", "1 True [0, 3, 6]"},
    {R"({{ range(0) | list }} {{ range(1, 2) == range(1, 2) }})", "[] True"},
    {R"({{ dict(a=1, b=2) }} {{ dict({'a': 1}, b=2) }})", "{'a': 1, 'b': 2} {'a': 1, 'b': 2}"},
    {R"({{ dict([('a', 1), ('b', 2)]) }})", "{'a': 1, 'b': 2}"},
    {R"({{ dict.fromkeys(['a', 'b']) }})", "{'a': None, 'b': None}"},
    {R"({{ dict.fromkeys('ab', 0) }} {{ dict() }})", "{'a': 0, 'b': 0} {}"},
    {R"({{ [1, [2, (3,)], {'a': none}, true, 1.5, 'x'] }} {{ (1,) }} {{ () }} {{ [] }} {{ {} }})",
     "[1, [2, (3,)], {'a': None}, True, 1.5, 'x'] (1,) () [] {}"},
    {R"({{ {1: 2, 'a': {}} }})", "{1: 2, 'a': {}}"},
    {R"({{ {(1, 2): 3, none: 4, true: 5, 1.5: 6} }})", "{(1, 2): 3, None: 4, True: 5, 1.5: 6}"},
    {R"({{ {1: 'a', 1.0: 'b', true: 'c'} }} {{ {'a': 1}['a'] }})", "{1: 'c'} 1"},
    {R"({{ {'a': 1}.a }} {{ {1: 2}[1] }} {{ {(1, 2): 3}[(1, 2)] }})", "1 2 3"},
    {R"({{ {(1, 2): 3}[(2, 1)] is defined }} {{ {'items': 5}.items is callable }})", "False True"},
    {R"({{ {'items': 5}['items'] }} {{ {1: 2}[true] }} {{ {2**70: 1}[2**70] }})", "5 2 1"},
    {R"({{ {1.0: 'f'}[1] }} {{ {'a': 1, 'b': 2, 'a': 3} }})", "f {'a': 3, 'b': 2}"},
    {R"({{ [1, 2, 3][0] }} {{ [1, 2, 3][-1] }} {{ [1, 2, 3][3] is defined }})", "1 3 False"},
    {R"({{ [1, 2, 3][1:] }} {{ [1, 2, 3][::-1] }})", "[2, 3] [3, 2, 1]"},
    {R"({{ (1, 2, 3)[:2] }} {{ [1, 2, 3][-4] is defined }} {{ [1, 2][true] }})", "(1, 2) False 2"},
    {R"({{ range(10)[2:8:3] }} {{ range(10)[::-3] | list }})", "range(2, 8, 3) [9, 6, 3, 0]"},
    {R"({{ range(5)[-2:] }} {{ [1, 2, 3, 4][-3:-1] }})", "range(3, 5) [2, 3]"},
    {R"({{ [1, 2, 3, 4][3:0:-2] }} {{ [1, 2, 3][:10] }})", "[4, 2] [1, 2, 3]"},
    {R"({{ [1, 2, 3][none:2] }} {{ [1, 2] == [1, 2] }})", "[1, 2] True"},
    {R"({{ [1, 2] == (1, 2) }} {{ {'a': 1} == {'a': 1.0} }})", "False True"},
    {R"({{ {'a': 1} == {'a': 2} }} {{ {'a': 1} == {'b': 1} }})", "False False"},
    {R"({{ [1] != [2] }} {{ none == none }} {{ [] == false }})", "True True False"},
    {R"({{ [1, 2] == [1] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }})", "False True"},
    {R"({{ 1 in [1, 2] }} {{ 3 not in (1, 2) }} {{ 'a' in {'a': 1} }})", "True True True"},
    {R"({{ 1 in {'a': 1} }} {{ [1] in [[1]] }} {{ 'a' in {'a': 1}.keys() }})", "False True True"},
    {R"({{ 1 in {'a': 1}.values() }} {{ ('a', 1) in {'a': 1}.items() }})", "True True"},
    {R"({{ {'a': 1} | items | list }} {{ undefined_thing | items | list }})", "[('a', 1)] []"},
    {R"({{ [1, 2] | list }} {{ {'a': 1} | list }} {{ 'é1' | list }})", "[1, 2] ['a'] ['é', '1']"},
    {R"({{ [{'a': 1}, {'a': 2}] | map(attribute='a') | sum }})", "3"},
    {R"({{ [[1, 2], [3]] | map('length') | list }})", "[2, 1]"},
    {R"({{ [1, 2, 3] | map('string') | join('+') }})", "1+2+3"},
    {R"({{ {'a': [1, 2]} | xmlattr }})", " a=\"[1, 2]\""},
    {R"({{ {'a': 1, 'b': none, 'c': '<'} | xmlattr }})", " a=\"1\" c=\"&lt;\""},
    {R"({{ {'a': 1} | xmlattr(false) }})", "a=\"1\""},
};

constexpr Rendering kStatements[] = {
    {R"({% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %})",
     "1032TrueFalse3102;2121FalseFalse31013;3210FalseTrue3102;"},
    {R"({% for x in [1, 1, 2] %}{{ loop.changed(x) }}{{ loop.cycle('a', 'b') }}{% endfor %})",
     "TrueaFalsebTruea"},
    {R"({% for x in [1, 2, 3, 4] if x is even %}{{ x }}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %})",
     "21False42True"},
    {R"({% for x in [] %}{{ x }}{% else %}none{% endfor %} {% for x in [1, 3] if x is even %}{{ x }}{% else %}none{% endfor %})",
     "none none"},
    {R"({% for x in [1, 2, 3, 4, 5] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %})",
     "13"},
    {R"({% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %} {% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %} {% for x in 'éa' %}{{ x }}.{% endfor %})",
     "a1b2 123 é.a."},
    {R"({% for x in [1, [2, [3]]] recursive %}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %})",
     "1@1(2@2(3@3))"},
    {R"({% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }} {% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }})",
     "21 4"},
    {R"({% set a, b = [1, 2] %}{{ a }}{{ b }} {% set t %}x{{ a }}y{% endset %}{{ t }} {% set u | upper %}abc{% endset %}{{ u }})",
     "12 x1y ABC"},
    {R"({% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c='y') }} {{ m() }} {{ m.name }} {{ m.arguments }} {{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }})",
     "12x 13x 12y 2x m ('a', 'b', 'c') FalseFalseFalse"},
    {R"({% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, z=4) }} {{ m(1) }} {{ m.catch_varargs }})",
     "1(2, 3){'z': 4} 1(){} True"},
    {R"({% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %} {% macro n(a) %}{{ caller(a, 2) }}{% endmacro %}{% call(p, q) n(1) %}{{ p }}-{{ q }}{% endcall %})",
     "[x] 1-2"},
    {R"({% macro m(x, y=x) %}{{ x }}{{ y }}{% endmacro %}{{ m(1) }})", "11"},
    {R"({% macro a() %}{{ z }}{% endmacro %}{% set z = 1 %}{{ a() }})", "1"},
    {R"({% if false %}a{% elif true %}b{% else %}c{% endif %}{% if 0 %}a{% elif '' %}b{% else %}c{% endif %}{% if [0] %}d{% endif %})",
     "bcd"},
    {R"({% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }} {% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }})",
     "12False 1False"},
    {R"({% filter upper %}a{{ 'b' }}{% endfilter %} {% filter replace('a', 'b') | upper %}aba{% endfilter %})",
     "AB BBB"},
    {R"({% raw %}{{ x }}{% y %}{% endraw %} {# note #}a{#- note -#} b)", "{{ x }}{% y %} ab"},
    {R"(  {%- if true -%}  a  {%- endif -%}  b {{- ' c' -}} d)", "ab cd"},
    {R"({% set x %}a{% endset %}{% set x = x ~ 'b' %}{{ x }} {% set d = {'a': 1} %}{{ dict(d, b=2) }})",
     "ab {'a': 1, 'b': 2}"},
    {R"({% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{{ i }}{% endfor %}{{ loop.index }};{% endfor %})",
     "10201;11212;12223;"},
    {R"({% for i in range(3) %}{% set outer = loop %}{% for j in range(2) %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %})",
     "11 12 21 22 31 32 "},
    {R"({% macro a() %}{% macro b() %}x{% endmacro %}{{ b() }}{% endmacro %}{{ a() }} {% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(3) }})",
     "x 3210"},
    {R"({% set y = 5 %}{% if true %}{% set y = 6 %}{% endif %}{{ y }} {% if false %}{% set w = 6 %}{% endif %}{{ w is defined }})",
     "6 False"},
    {R"({% for i in [1] %}{% if true %}{% set q = 7 %}{% endif %}{{ q }}{% endfor %}{{ q is defined }} {% macro u() %}{% set q = 8 %}{{ q }}{% endmacro %}{{ u() }}{{ q is defined }})",
     "7False 8False"},
    {R"({% for i in [1, 2] %}{{ v is defined }}{% set v = i %}{{ v }}{% endfor %})",
     "False1False2"},
    {R"({% set v = 0 %}{% for i in [1, 2] %}{{ v }}{% set v = i %}{{ v }}{% endfor %}{{ v }})",
     "01020"},
    {R"({% set v = 0 %}{% macro m() %}{{ v }}{% set v = 1 %}{{ v }}{% endmacro %}{{ m() }}{{ v }})",
     "010"},
    {R"({% set v = 0 %}{% for i in [1] %}{% for j in [1] %}{{ v }}{% set v = 2 %}{{ v }}{% endfor %}{{ v }}{% endfor %})",
     "020"},
    {R"({{ 1 if true }} {{ 1 if false }} {{ 1 if false else 2 }})", "1  2"},
    {R"({{ 1 if 0 else 2 if 0 else 3 }} {{ (1 if x is defined else 'no') }})", "3 no"},
    {R"({{ 'a' if 1 and 0 else 'b' }} {{ 0 or 'x' }} {{ 1 and 'y' }})", "b x y"},
    {R"({{ not 0 and 1 }} {{ '' or [] or 0 }} {{ none and 1 }})", "1 0 None"},
    {R"({{ 1 is defined }} {{ x is undefined }} {{ none is none }})", "True True True"},
    {R"({{ 1 is number }} {{ 1.5 is float }} {{ 1 is integer }})", "True True True"},
    {R"({{ true is boolean }} {{ true is integer }} {{ 'a' is string }})", "True False True"},
    {R"({{ [] is sequence }} {{ {} is mapping }} {{ [] is iterable }})", "True True True"},
    {R"({{ 5 is iterable }} {{ 'a' is sequence }} {{ {} is sequence }})", "False True True"},
    {R"({{ 1 is sequence }} {{ true is number }} {{ true is true }})", "False True True"},
    {R"({{ 1 is true }} {{ false is false }} {{ range is callable }})", "False True True"},
    {R"({{ 1 is callable }} {{ [1, ] }} {{ (1, 2,) }})", "False [1] (1, 2)"},
    {R"({{ {'a': 1,} }} {{ [] }} {{ (1) }} {{ 1, 2 }} {{ 'a' 'b' }})", "{'a': 1} [] 1 (1, 2) ab"},
    {R"({{ "a" 'b' ~ 'c' }} {{ 'a'.nope is defined }})", "abc False"},
    {R"({{ none.a is defined }} {{ (1).a is defined }})", "False False"},
    {R"({{ [].a is defined }})", "False"},
    {R"({{ range(3) | map('string') | map('upper') | join(',') }})", "0,1,2"},
    {R"({{ ['a', 'b'] | join | length }} {{ [1, 2, 3] | sum * 2 }})", "2 12"},
    {R"({{ 'a,b'.split(',')[1] | upper }} {{ {'a': {'b': [1, 2]}}.a.b[1] }})", "B 2"},
    {R"({{ {'a': {'b': [1, 2]}}['a']['b'][-1] }} {{ self is defined }})", "2 True"},
    {R"({{ loop is defined }} {{ caller is defined }})", "False False"},
    {R"({{ varargs is defined }})", "False"},
};

constexpr Rendering kClock[] = {
    {R"({{ strftime_now('%Y-%m-%d %H:%M:%S') }})", "2025-03-14 15:09:26"},
    {R"({{ strftime_now('%y %B %b %A %a %j %p %I %w %u %U %W %V %G %g %e %k %l %%') }})",
     "25 March Mar Friday Fri 073 PM 03 5 5 10 10 11 2025 25 14 15  3 %"},
    {R"({{ strftime_now('%D|%F|%T|%R|%r|%c|%x|%X|%h|%C|%n|%t|%s') | tojson }})",
     "\"03/14/25|2025-03-14|15:09:26|15:09|03:09:26 PM|Fri Mar 14 15:09:26 "
     "2025|03/14/25|15:09:26|Mar|20|\\n|\\t|1741964966\""},
    {R"({{ strftime_now('%-d %-m %-H %_d %^a %^B %#p %5Y %05d %-j %_m %010Y %-I %3d %_5H') }})",
     "14 3 15 14 FRI MARCH pm 02025 00014 73  3 0000002025 3 014    15"},
    {R"({{ strftime_now('%f %Z %z|%q|%') }})", "000000  |%q|%"},
};

constexpr Rendering kOthers[] = {
    {R"({% set a = 1 %}{% for i in [1] %}{% macro m() %}[{{ a }}]{% endmacro %}{{ m() }})"
     R"({% set a = 2 %}{{ m() }}{% endfor %}{{ a }})",
     "[1][2]1"},
    {R"({% set a = 1 %}{% for i in [1] %}{% for j in [1] %}{{ a }}{% endfor %}{% set a = 2 %})"
     R"({{ a }}{% endfor %})",
     "12"},
    {R"({% for i in [1] %}{% for j in [1] %}{{ a }}.{% endfor %}{% set a = 2 %}{{ a }}{% endfor %})",
     ".2"},
    {R"({{ 'hello world' | truncate(3, true, leeway=0) }})", "..."},
    {R"({{ '%x' % (2**68 - 1) }} {{ '%X' % (2**68 - 6) }})", "fffffffffffffffff FFFFFFFFFFFFFFFFA"},
    {R"({% for x in [1, 2, 3] %}{% for y in [1] %}{% set z = x %}{% endfor %}{{ z is defined }}{% endfor %})",
     "FalseFalseFalse"},
    {R"({% set a = 1 %}{% macro m() %}{% for i in [1] %}{{ a }}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}{% endmacro %}{{ m() }})",
     "121"},
    {R"({% macro m() %}{{ a }}{% set a = 2 %}{% endmacro %}{% set a = 1 %}{{ m() }})", "1"},
    {R"({% for i in [1] %}{{ a }}{% set a = 2 %}{{ a }}{% endfor %}{{ a }})", "2"},
    {R"({% set a = 1 %}{% for i in [1, 2] %}{% if i == 2 %}{% set a = 2 %}{% endif %}{{ a }}{% endfor %})",
     "12"},
    {R"({{ 'a' is lower }} {{ '\udc00x' is string }} {{ [2**70].index(2**70) }})", "True True 0"},
    {R"({{ 'a'.ljust(3) | length }} {{ dict.fromkeys(['a'], 5) }})", "3 {'a': 5}"},
    {R"({{ dict.fromkeys(['a'], none) }} {{ 'ﷺ'.casefold() }})", "{'a': None} ﷺ"},
    {R"({{ 'ᾳ'.casefold() | length }} {{ 'ﬃ'.casefold() }})", "2 ffi"},
    {R"({{ {'b': [1], 2: 'x'} }})", "{'b': [1], 2: 'x'}"},
    {R"({{ {'a': [[1]]} | tojson }} {{ 1 is divisibleby 1 is odd }})", "{\"a\": [[1]]} True"},
    {R"({{ 2**2000 | string | length }})", "16"},
    {R"({{ (2**200) }})", "1606938044258990275541962092341162602522202993782792835301376"},
    {R"({{ '%x' % 2**64 }} {{ '%X' % 48879 }})", "10000000000000000 BEEF"},
    {R"({{ '%x' % 11259375 }} {{ '{:x}'.format(11259375) }})", "abcdef abcdef"},
};

// What it refuses.
// clang-format off
constexpr const char* kRefused[] = {
    R"({{ '\x4' }})", R"({{ '\u12g4' }})", R"({{ '\U00110000' }})", R"({{ 'a\u20' }})",
    R"({{ '\U0001F60' }})", R"({{ 'ab' | wordwrap(0) }})", R"({{ 2.5 | round(0, 'up') }})",
    R"({{ 'x' | round }})",
    R"({{ 0 | filesizeformat }} {{ 1 | filesizeformat }} {{ 2 | filesizeformat }} {{ 999 | filesizeformat }} {{ 1000 | filesizeformat }} {{ 1023 | filesizeformat(true) }} {{ 1024 | filesizeformat(true) }} {{ 1500000 | filesizeformat }} {{ 1048576 | filesizeformat(true) }} {{ 10**27 | filesizeformat }} {{ (10**24) | filesizeformat }} {{ '2000' | filesizeformat }} {{ 1.5 | filesizeformat }} {{ 999999 | filesizeformat }})",
    R"({{ 'x' | abs }})", R"({{ 0.0 ** -1 }})", R"({{ 0 ** -1 }})", R"({{ 1 // 0 }})",
    R"({{ 1 % 0 }})", R"({{ 1.0 % 0 }})", R"({{ 1 / 0 }})", R"({{ 1 < 'a' }})", R"({{ none < 1 }})",
    R"({{ [1] < (1, 2) }})", R"({{ -'a' }})", R"({{ 'a' + 1 }})", R"({{ [1] + (2,) }})",
    R"({{ 'a' * 1.5 }})", R"({{ '%c' % 1114112 }})", R"({{ '%c' % 'ab' }})", R"({{ '%c' % -1 }})",
    R"({{ '%c' % 1.5 }})", R"({{ '%(a)d' % 5 }})", R"({{ '%(a' % {'a': 1} }})",
    R"({{ '%(c)d' % {'a': 1} }})", R"({{ '%d %d' % (1,) }})", R"({{ '%d' % (1, 2) }})",
    R"({{ '%d' % 'x' }})", R"({{ '%q' % 1 }})", R"({{ '%' % 1 }})", R"({{ '%5' % 1 }})",
    R"({{ '%.2' % 1 }})", R"({{ 'abc' % 1 }})", R"({{ '%x' % 2.5 }})",
    R"({{ '%d' % (1e300 * 1e10) }})", R"({{ '{1a}'.format(1) }})", R"({{ '{}{0}'.format(1) }})",
    R"({{ '{0}{}'.format(1) }})", R"({{ '{2}'.format(1) }})", R"({{ '{}'.format() }})",
    R"({{ '{x}'.format(1) }})", R"({{ '{'.format(1) }})", R"({{ '}'.format(1) }})",
    R"({{ '{0[a}'.format({'a': 1}) }})", R"({{ '{0]a}'.format({'a': 1}) }})",
    R"({{ '{!r:d}'.format(1) }})", R"({{ '{:d}'.format('a') }})", R"({{ '{:s}'.format(1) }})",
    R"({{ '{:.2d}'.format(1) }})", R"({{ '{:.2}'.format(1) }})", R"({{ '{:.}'.format(1.5) }})",
    R"({{ '{:q}'.format(1) }})", R"({{ '{:dd}'.format(1) }})", R"({{ '{:d}'.format(1.5) }})",
    R"({{ '{:x}'.format(1.5) }})", R"({{ '{:5}'.format(none) }})", R"({{ '{:5}'.format([1]) }})",
    R"({{ '{:+}'.format('a') }})", R"({{ '{:,}'.format('a') }})", R"({{ '{:#}'.format('a') }})",
    R"({{ '{:=5}'.format('a') }})", R"({{ '{a}'.format_map({'b': 1}) }})",
    R"({{ '{a}'.format_map([1]) }})", R"({{ '%s' | format(1, a=2) }})", R"({{ 'a'.strip(1) }})",
    R"({{ 'a' | trim(1) }})", R"({{ 'a'.split('') }})", R"({{ 'a'.split(1) }})",
    R"({{ 'a'.partition('') }})", R"({{ 'abc'.index('x') }})", R"({{ 'abc'.startswith(1) }})",
    R"({{ 'abc'.startswith(['a']) }})", R"({{ '-'.join([1]) }})", R"({{ 'a'.ljust(4, 'xx') }})",
    R"({{ 'a'.ljust(4, '') }})", R"({{ 'hello world foo' | truncate(2) }})", R"({{ 'abc'[::0] }})",
    R"({{ 1 in 'abc' }})", R"({{ [1, 2, 3].index(3, 0, 2) }})",
    R"({{ [1, 2, 3].index(3, 0, -1) }})", R"({{ [1, 2, 3].index(1, 1) }})", R"({{ [1].index(9) }})",
    R"({{ (1, 2).copy() }})", R"({{ [1] | slice(0) | list }})", R"({{ ['a'] | sum }})",
    R"({{ ['a'] | sum(start='') }})", R"({{ [1, 'a'] | sort }})",
    R"({{ {'a': 1} | dictsort(by='x') }})", R"({{ [1] | dictsort }})",
    R"({{ [[1]] | unique | list }})", R"({{ [1] | select('nope') | list }})",
    R"({{ [1] | selectattr | list }})", R"({{ ['a'] | map('nope') | list }})",
    R"({{ ['a'] | map | list }})", R"({{ ['a'] | map(x=1) | list }})", R"({{ (x for x in [1]) }})",
    R"({{ [1, 2] | select | last }})", R"({{ [1, 2] | select | length }})", R"({{ 5 | length }})",
    R"({{ none | length }})", R"({{ range(1, 2, 0) }})", R"({{ range(1.5) }})",
    R"({{ range(1, 2, 3, 4) }})", R"({{ dict([1]) }})", R"({{ dict([(1, 2, 3)]) }})",
    R"({{ dict({}, {}) }})", R"({{ cycler() }})", R"({{ {[1]: 2} }})", R"({{ 1 in 5 }})",
    R"({{ [1] in {} }})", R"({{ [1] in {'a': 1}.keys() }})",
    R"({{ {'b': 1, 'a': [1, {'c': none}]} | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ [1, {'a': [2]}] | tojson(indent=2) }} {{ [1, 2] | tojson(separators=(',', ':')) }} {{ 'é\x7f\u2028😀' | tojson }} {{ 'é\x7f\x80😀' | tojson(ensure_ascii=true) }} {{ {1: 1, none: 2, true: 3, 1.5: 4} | tojson }} {{ [] | tojson(indent=2) }} {{ {} | tojson(indent=2) }} {{ 1e300 * 1e10 | tojson }} {{ (1, 2) | tojson }} {{ [1.0, -0.0, 1e22, 1e-7] | tojson }} {{ '"\\/\b\f\n\r\t\x01\x1f' | tojson }} {{ '<>&\'' | tojson }} {{ [[], {}, [[]]] | tojson(indent=1) }} {{ {'b': {'d': 1, 'c': 2}, 'a': 0} | tojson(sort_keys=true, indent=1) }} {{ [1] | tojson(indent='-') }}{{ '~\x7e\x7f' | tojson(ensure_ascii=true) }})",
    R"({{ {1: 1, 'a': 2} | tojson(sort_keys=true) }})", R"({{ undefined_thing | tojson }})",
    R"({{ {(1, 2): 3} | tojson }})", R"({{ range(3) | tojson }})",
    R"({% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %})",
    R"({{ '{:-}'.format('a') }})", R"({{ '{!s:-5}'.format(5) }})", R"({{ '{:<}'.format([1]) }})",
    R"({{ '{!a:d}'.format(5) }})", R"({{ '{!r:+}'.format(5) }})", R"({{ '{!r:,}'.format(5) }})",
    R"({{ '{!s:=5}'.format(5) }})", R"({{ '{!b}'.format(5) }})", R"({{ '{!aa}'.format(5) }})",
    R"({{ '{!}'.format(5) }})", R"({{ '{:,x}'.format(1234) }})", R"({{ '{:010,b}'.format(1234) }})",
    R"({{ '{:,o}'.format(8) }})", R"({{ '{:,X}'.format(8) }})", R"({{ '{:=05}'.format('ab') }})",
    R"({{ '{0[]}'.format({'': 1}) }})", R"({{ '{0.}'.format({'': 1}) }})",
    R"({{ '{-1}'.format(1) }})", R"({{ '{99999999999999999999}'.format(1) }})",
    R"({{ '{0[99999999999999999999]}'.format({'99999999999999999999': 1}) }})",
    R"({% for a, b in [(1,)] %}{{ a }}{% endfor %})", R"({% for x in 5 %}{% endfor %})",
    R"({% for x in none %}{% endfor %})",
    R"({% set a, b = 1, 2 %}{{ a }}{{ b }} {% set a = b = 1 %})", R"({% set a, b = 1, 2, 3 %})",
    R"({% set ns = {} %}{% set ns.a = 1 %})",
    R"({% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }})",
    R"({% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }})",
    R"({% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }})",
    R"({{ 4 is divisibleby 2 }}{{ 4 is divisibleby(3) }}{{ 3 is odd }}{{ 3 is even }}{{ 1 is eq 1 }}{{ 1 is ne 1 }}{{ 1 is lt 2 }}{{ 1 is le 1 }}{{ 2 is gt 1 }}{{ 1 is ge 2 }}{{ 1 is in [1] }}{{ 2 is not in [1] }}{{ 1 is sameas 1 }}{{ none is sameas none }}{{ 1 is not none }}{{ 'a' is equalto 'a' }}{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}{{ 'nope' is test }}{{ ('a' | e) is escaped }}{{ 'a' is escaped }}{{ 1 is greaterthan 0 }}{{ 1 is lessthan 0 }}{{ 1 is == 1 }})",
    R"({{ 1 is odd is odd }})", R"({{ 1 is defined is defined }})", R"({{ 1 is divisibleby }})",
    R"({{ 'a' is odd }})", R"({% end %})", R"({% endfor %})", R"({% else %})", R"({% elif 1 %})",
    R"({% endxyz %})", R"({% for x in [1] %}{% endif %})", R"({% break %})", R"({{ }})",
    R"({{ 1 2 }})", R"({{ (1 }})", R"({{ {'a' 1} }})", R"({{ x. }})", R"({{ f(a=1, 2) }})",
    R"({{ dict(a=1, a=2) }})",
    R"({{ 1_0 }} {{ 0x1f }} {{ 0b11 }} {{ 0o17 }} {{ 1e3 }} {{ 1.5e-3 }} {{ 1E2 }} {{ 0_1 }} {{ 00 }} {{ 1.0 }})",
    R"({{ x.y.z }})",
    R"({{ x.y is defined }} {{ x }}|{{ x | upper }}|{{ x ~ 'a' }} {{ x == y }} {{ not x }} {{ x | list }} {{ x | join }})",
    R"({{ x + 1 }})", R"({{ x() }})", R"({{ 'a'.nope() }})",
    R"({% set f = 'upper' %}{{ 'a' | f }})", R"({{ 'abc' | nope }})",
    R"({% if true %}{{ 'abc' | upper | lower | title }}{% endif %} {{ -1 | abs }} {{ (-1) | abs }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 2 * 3 + 4 * 5 - 6 / 2 }} {{ 1 + 2 ~ 3 + 4 }} {{ not true == false }} {{ 10 - 2 - 3 }} {{ 100 / 10 / 2 }} {{ 7 // 2 * 2 }} {{ 'a' in 'abc' and 'b' in 'abc' }} {{ 1 + 1 if 1 else 0 }} {{ [1, 2][0] + {'a': 2}.a }})",
    R"({{ 'a'.ljust(2**70) }})", R"({{ 'a' | indent(2**70) }})", R"({{ 1 is odd is defined }})",
    R"({% if 1 %})", R"({% for x in [1] %})", R"({% if 1 %}{% elif 2 %})",
    R"({% if 1 %}{% else %})", R"({% macro m() %})", R"({% endfor %}{% endif %})",
};
// clang-format on

void expect_renderings(std::span<const Rendering> rows) {
  for (const Rendering& row : rows)
    check_output(rendered(row.source, Json::object()), row.output, row.source);
}

TEST(RareTemplates, EscapesRenderAsInJinja2) { expect_renderings(kEscapes); }
TEST(RareTemplates, WrappingRenderAsInJinja2) { expect_renderings(kWrapping); }
TEST(RareTemplates, NumbersRenderAsInJinja2) { expect_renderings(kNumbers); }
TEST(RareTemplates, FormatsRenderAsInJinja2) { expect_renderings(kFormats); }
TEST(RareTemplates, TextsRenderAsInJinja2) { expect_renderings(kTexts); }
TEST(RareTemplates, SequencesRenderAsInJinja2) { expect_renderings(kSequences); }
TEST(RareTemplates, StatementsRenderAsInJinja2) { expect_renderings(kStatements); }
TEST(RareTemplates, ClockRenderAsInJinja2) { expect_renderings(kClock); }
TEST(RareTemplates, OthersRenderAsInJinja2) { expect_renderings(kOthers); }

TEST(RareTemplates, WhatJinja2RefusesIsRefused) {
  for (const char* source : kRefused) {
    const auto out = rendered(source, Json::object());
    EXPECT_FALSE(out.has_value()) << source << " must fail, renders: " << *out;
  }
}

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
}  // namespace ruv
