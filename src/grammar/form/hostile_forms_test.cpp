// Schemas, grammars and patterns that are made to take long or to nest deep: each becomes a form or
// an error that says why, with work that is counted. RUV_TEST_TIMES=1 prints how long each takes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <functional>

#include "base/test_share.h"
#include "grammar/form/form.h"
#include "grammar/rules/test_grammar_cases.h"
#include "text/test_vocabularies.h"

namespace ruv::hostile_forms_test {
namespace {

std::string repeated(std::string_view text, size_t n) {
  std::string made;
  made.reserve(text.size() * n);
  for (size_t i = 0; i < n; ++i) made += text;
  return made;
}

// "before0after", "before1after" and so on, with commas.
std::string listed(size_t n, std::string_view before, std::string_view after) {
  std::string made;
  for (size_t i = 0; i < n; ++i) {
    if (i > 0) made += ",";
    made += before;
    made += std::to_string(i);
    made += after;
  }
  return made;
}

// Definitions r0 to rn, each made of the number of the next one.
std::string chain_of(size_t n, const std::function<std::string(const std::string&)>& link,
                     const std::string& last) {
  std::string made = R"({"$ref": "#/$defs/r0", "$defs": {)";
  for (size_t i = 0; i < n; ++i) {
    const std::string next = R"({"$ref": "#/$defs/r)" + std::to_string(i + 1) + "\"}";
    made += "\"r" + std::to_string(i) + "\": " + link(next) + ",";
  }
  return made + "\"r" + std::to_string(n) + "\": " + last + "}}";
}

// Of computing, whatever else the machine does.
double milliseconds_since(std::clock_t start) {
  return 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

class HostileForms : public testing::Test {
 protected:
  enum class Kind { schema, gbnf, lark, pattern };

  Form::Made read(Kind kind, const std::string& text) {
    const auto space = std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size());
    switch (kind) {
      case Kind::schema: {
        Json json = TRY(parse_json(text, "schema"));
        return Form::of_schema(space, std::move(json), {});
      }
      case Kind::gbnf:
        return Form::of_grammar(space, Form::Syntax::gbnf, text, test_grammar_tokens(), {});
      case Kind::lark:
        return Form::of_grammar(space, Form::Syntax::lark, text, test_grammar_tokens(), {});
      case Kind::pattern:
        break;
    }
    return Form::of_pattern(space, text, {});
  }

  // Reads the form and then `answer` with it, whose masks are found on the way. What must happen:
  // `error` is a part of what is wrong, "" where the answer is a whole one, "…" where it may be
  // continued, and "too much work" also where that is found on the way.
  void expect(const char* name, Kind kind, const std::string& text, std::string_view error,
              std::string_view answer = "") {
    SCOPED_TRACE(name);
    const std::clock_t start = std::clock();
    double slowest_mask = 0;
    const std::string what = outcome(kind, text, answer, slowest_mask);
    const double took = milliseconds_since(start);
    if (std::getenv("RUV_TEST_TIMES") != nullptr) {
      fmt::print("{:>9.1f} ms, mask {:>7.1f} ms  {}: {}\n", took, slowest_mask, name, what);
    }
    EXPECT_NE(what.find(error), std::string::npos) << what;
    EXPECT_EQ(what.empty(), error.empty()) << what;
  }

 private:
  std::string outcome(Kind kind, const std::string& text, std::string_view answer,
                      double& slowest_mask) {
    const Form::Made form = read(kind, text);
    if (!form) {
      EXPECT_FALSE(form.error().message().empty());
      return form.error().message();
    }
    const Lock guard((*form)->space().mutex());
    FormReader reader = (*form)->reader();
    for (size_t i = 0; i <= answer.size(); ++i) {
      const std::clock_t start = std::clock();
      TokenMask mask(tokenizer_->vocab_size());
      reader.allow(mask);
      const double took = milliseconds_since(start);
      slowest_mask = std::max(slowest_mask, took);
      if (reader.gave_up() || (*form)->is_worn()) return "too much work on the way";
      if (i == answer.size()) break;
      if (!mask.has(static_cast<uint8_t>(answer[i]))) return fmt::format("refuses byte {}", i);
      if (!reader.accept(answer.substr(i, 1))) {
        return reader.gave_up() ? "too much work on the way" : "refuses what the mask allows";
      }
    }
    return reader.may_end() ? "" : "…";
  }

  std::shared_ptr<const Tokenizer> tokenizer_ = test_tokenizer(byte_test_spec({}));
  std::shared_ptr<TokenPrefixes> prefixes_ = std::make_shared<TokenPrefixes>(*tokenizer_);
};

constexpr size_t kDeep = 60'000;

TEST_F(HostileForms, SchemasThatNestDeep) {
  const Kind s = Kind::schema;
  expect("arrays", s, repeated("[", kDeep) + repeated("]", kDeep), "nested deeper");
  expect("objects", s, repeated(R"({"not":)", kDeep) + "{}" + repeated("}", kDeep),
         "nested deeper");
  expect("allOf", s, repeated(R"({"allOf":[)", kDeep) + "{}" + repeated("]}", kDeep),
         "nested deeper");
  expect("references", s,
         chain_of(
             kDeep, [](const auto& next) { return next; }, "{}"),
         "too much work");
  expect("references in allOf", s,
         chain_of(
             5000, [](const auto& next) { return R"({"allOf":[)" + next + "]}"; }, "{}"),
         "too much work");
  expect("references in items", s,
         chain_of(
             kDeep, [](const auto& next) { return R"({"items":)" + next + "}"; }, "{}"),
         "more than 100000 schemas");
  expect("fewer references in items", s,
         chain_of(
             5000, [](const auto& next) { return R"({"items":)" + next + "}"; }, "{}"),
         "…", "[[[");
  expect(
      "needed items", s,
      chain_of(
          5000,
          [](const auto& next) { return R"({"type":"array","minItems":1,"items":)" + next + "}"; },
          "false"),
      "too much work");
  expect("doubled references", s,
         chain_of(
             100, [](const auto& next) { return R"({"allOf":[)" + next + "," + next + "]}"; },
             R"({"type":"null"})"),
         "too much work");
  expect("doubled members", s,
         chain_of(
             100,
             [](const auto& next) {
               return R"({"type":"object","required":["a","b"],"properties":{"a":)" + next +
                      R"(,"b":)" + next + "}}";
             },
             R"({"type":"null"})"),
         "…", R"({"a":{"b":)");
  expect("doubled choices beside unevaluatedProperties", s,
         R"({"unevaluatedProperties":false,"allOf":[)" +
             listed(40, R"({"anyOf":[{"properties":{"a)", R"(":{}}},{"required":["b"]}]})") + "]}",
         "…", R"({"a7":1)");
}

TEST_F(HostileForms, SchemasThatGoInCircles) {
  const Kind s = Kind::schema;
  expect("itself", s, R"({"$ref":"#"})", "refers to itself");
  expect("a circle of three", s,
         chain_of(
             3, [](const auto& next) { return R"({"anyOf":[)" + next + "]}"; },
             R"({"not":{"$ref":"#/$defs/r0"}})"),
         "refers to itself");
  expect("no value has an end", s,
         R"({"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}})",
         "no value satisfies");
  expect("names of names", s, R"({"propertyNames":{"$ref":"#"}})", "", R"({"a":1})");
}

TEST_F(HostileForms, SchemasThatAreLong) {
  const Kind s = Kind::schema;
  expect("enum", s, "{\"enum\":[" + listed(1'000'000 / kTestShare, "", "") + "]}",
         "more than 100000 values");
  expect("enum of texts", s, "{\"enum\":[" + listed(100'000, "\"v", "\"") + "]}", "", "\"v99999\"");
  expect("anyOf", s, "{\"anyOf\":[" + listed(1'000'000 / kTestShare, "{\"const\":", "}") + "]}",
         "more than 100000 schemas");
  expect("properties", s,
         "{\"properties\":{" + listed(99'000 / kTestShare, "\"p", "\":{\"type\":\"null\"}") + "}}",
         "", R"({"p7":null})");
  expect("too many properties", s, "{\"properties\":{" + listed(100'000, "\"p", "\":{}") + "}}",
         "more than 100000 schemas");
  expect("required", s,
         "{\"type\":\"object\",\"required\":[" + listed(100'000 / kTestShare, "\"p", "\"") + "]}",
         "…", R"({"p7":null,)");
  expect("dependentRequired", s,
         "{\"dependentRequired\":{" + listed(10'000, "\"p", "\":[\"q\"]") + "}}", "too much work",
         R"({"a":1})");
  expect("fewer dependentRequired", s,
         "{\"dependentRequired\":{" + listed(300, "\"p", "\":[\"q\"]") + "}}", "…", R"({"p7":1)");
  expect("patternProperties", s, "{\"patternProperties\":{" + listed(1'000, "\"", "\":{}") + "}}",
         "…", "{");
  expect("prefixItems", s,
         "{\"type\":\"array\",\"minItems\":99000,\"prefixItems\":[" +
             repeated("{\"type\":\"null\"},", 98'999) + "{}]}",
         "…", "[null,null");
  expect("oneOf objects", s,
         "{\"oneOf\":[" + listed(2'000, "{\"required\":[\"p", "\"],\"type\":\"object\"}") + "]}",
         "too much work", R"({"p1":1})");
  expect("anyOf objects", s,
         "{\"anyOf\":[" + listed(2'000, "{\"required\":[\"p", "\"],\"type\":\"object\"}") + "]}",
         "too much work", R"({"p1":1})");
  expect("distinct items", s,
         "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":250,\"items\":{\"enum\":[" +
             listed(250, "", "") + "]}}",
         "…", "[0,1,2,");
  expect("too few distinct items", s,
         "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":251,\"items\":{\"enum\":[" +
             listed(250, "", "") + "]}}",
         "no value satisfies");
}

TEST_F(HostileForms, SchemasWithHugeNumbers) {
  const Kind s = Kind::schema;
  expect("bound", s, R"({"minimum":1e999999999})", "out of range");
  expect("small bound", s, R"({"maximum":1e-999999999})", "…", "-");
  expect("constant", s, R"({"const":1e999999999})", "out of range");
  expect("multiple", s, R"({"multipleOf":1e300})", "#/multipleOf");
  expect("small multiple", s, R"({"multipleOf":1e-300})", "…", "0.");
  expect("zero", s, R"({"multipleOf":0})", "#/multipleOf");
  expect("digits", s, R"({"minimum":1)" + repeated("0", 10'000) + "}", "#/minimum");
  expect("items", s, R"({"type":"array","minItems":1e18})", "#/minItems");
  expect("properties", s, R"({"type":"object","minProperties":99999999999999999999})", "…",
         R"({"a":1,)");
  expect("length", s, R"({"type":"string","minLength":1000000000})", "…", "\"ab");
  expect("lengths", s, R"({"type":"string","maxLength":1000000000,"pattern":"a.*b"})", "",
         "\"ab\"");
  expect("contains", s, R"({"type":"array","contains":{"const":1},"minContains":4000000000})", "…",
         "[1,");
  expect("negative", s, R"({"minItems":-1})", "#/minItems");
}

TEST_F(HostileForms, Patterns) {
  const Kind p = Kind::pattern;
  expect("groups", p, repeated("(", 30'000) + "a" + repeated(")", 30'000), "regex");
  expect("too long", p, repeated("(", kDeep) + "a" + repeated(")", kDeep), "at most 65536");
  expect("loops of loops", p, "(a+)+b", "", repeated("a", 200) + "b");
  expect("more loops", p, "((a*)*)*c", "", repeated("a", 200) + "c");
  expect("alternatives", p, repeated("ab|", 20'000) + "c", "", "c");
  expect(
      "different alternatives", p,
      [] {
        std::string made = "x";
        for (int i = 0; i < 9'000; ++i) made += "|" + std::to_string(i) + "y";
        return made;
      }(),
      "", "8999y");
  expect("too many alternatives", p, repeated("a|", 1'000'000) + "b", "at most 65536");
  expect("counts", p, "a{0,65535}b", "", "aaab");
  expect("nested counts", p, "((a{0,65535}){0,65535}){0,65535}b", "", "aaab");
  expect("nested counts of choices", p, "((a|bc{3,65535}){2,65535}d){1,65535}", "…", "aabccc");
  expect("states", p, "(a|b)*a(a|b){18}", "", repeated("aabb", 20));
  expect("lookahead", p, "(?=.*a)(?=.*b)(?=.*c)(?=.*d)(?=.*e)(?=.*f)[a-f]{6,}", "", "fedcbaabcdef");
}

TEST_F(HostileForms, Grammars) {
  const std::string deep = repeated("(", kDeep) + "\"a\"" + repeated(")", kDeep);
  expect("gbnf groups", Kind::gbnf, "root ::= " + deep, "nested");
  expect("lark groups", Kind::lark, "start: " + deep, "nesting");
  const std::string wide = repeated("\"a\" | ", 40'000) + "\"b\"";
  expect("gbnf alternatives", Kind::gbnf, "root ::= " + wide, "", "b");
  expect("lark alternatives", Kind::lark, "start: " + wide, "", "b");
  const std::string too_wide = repeated("\"a\" | ", 1'000'000) + "\"b\"";
  expect("gbnf too long", Kind::gbnf, "root ::= " + too_wide, "bytes");
  expect("lark too long", Kind::lark, "start: " + too_wide, "bytes");
  expect("gbnf counts", Kind::gbnf,
         "root ::= ((\"a\"{0,65535} x){0,65535}){0,65535} \"b\"\nx ::= \"\" | \"c\" x",
         "too much work", "aaccb");
  expect("lark counts", Kind::lark,
         "start: ((\"a\"~0..65535 x)~0..65535)~0..65535 \"b\"\nx: \"\" | \"c\" x", "too much work",
         "aaccb");
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 9'000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " | \"x\" root\n";
  }
  expect("gbnf rules", Kind::gbnf, chain + "r9000 ::= \"a\"", "too much work", "xxa");
  std::string back = "root ::= r9000\n";
  for (int i = 9'000; i > 0; --i) {
    back += "r" + std::to_string(i) + " ::= r" + std::to_string(i - 1) + " \"x\"?\n";
  }
  expect("gbnf rules that recurse left", Kind::gbnf, back + "r0 ::= r9000 | \"a\"", "too much work",
         "axx");
  expect("ambiguous", Kind::gbnf, "root ::= root root root | \"a\" | \"\"", "", repeated("a", 60));
}

}  // namespace
}  // namespace ruv::hostile_forms_test
