// Masks at every step of documents, over whole vocabularies, beside a plain recogniser. The default
// is a share that takes seconds; RUV_TEST_MASKS=1 compares all.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/test_share.h"
#include "grammar/form/test_masks.h"
#include "grammar/form/test_schemas.h"
#include "grammar/regex/pattern_language.h"
#include "grammar/rules/gbnf.h"
#include "grammar/rules/lark.h"
#include "grammar/rules/test_grammar_cases.h"
#include "grammar/rules/test_random_grammars.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

bool is_full_run() { return std::getenv("RUV_TEST_MASKS") != nullptr; }

std::string masks_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

struct MaskCase {
  std::string name;
  Json schema;
  SchemaDraft draft = SchemaDraft::draft2020;
  std::vector<std::string> texts;
};

void add_texts(const Json& tests, MaskCase& made, Rng& rng) {
  for (const Json& test : tests) {
    made.texts.push_back(random_spelling(test.at("data"), rng, rng.below(2) == 0));
  }
}

std::vector<MaskCase> bench_cases(Rng& rng) {
  std::vector<MaskCase> made;
  std::ifstream file(masks_data("grammars/maskbench_sample.jsonl"));
  for (std::string line; std::getline(file, line);) {
    const auto row = parse_json(line, "line");
    EXPECT_TRUE(row);
    if (!row) break;
    made.push_back(
        {row->at("id").get<std::string>(), row->at("schema"), SchemaDraft::draft2020, {}});
    add_texts(row->at("tests"), made.back(), rng);
  }
  return made;
}

std::vector<MaskCase> suite_cases(Rng& rng) {
  std::vector<MaskCase> made;
  const fs::path folder = masks_data("grammars/JSON-Schema-Test-Suite/draft2020-12");
  if (!fs::exists(folder)) return made;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const auto groups = parse_json(file_text(path.string()), "suite");
    EXPECT_TRUE(groups) << path;
    if (!groups) continue;
    for (const Json& group : *groups) {
      made.push_back({path.filename().string(), group.at("schema"), SchemaDraft::draft2020, {}});
      add_texts(group.at("tests"), made.back(), rng);
    }
  }
  return made;
}

std::vector<MaskCase> random_cases(size_t n, Rng& rng) {
  const std::vector<Json> documents = small_documents();
  constexpr std::array kDrafts = {4, 6, 7, 2019, 2020};
  std::vector<MaskCase> made;
  for (size_t i = 0; i < n; ++i) {
    const size_t draft = rng.below(kDrafts.size());
    made.push_back(
        {"random", RandomSchemas(rng, kDrafts[draft]).root(), static_cast<SchemaDraft>(draft), {}});
    for (int text = 0; text < 12; ++text) {
      made.back().texts.push_back(
          random_spelling(documents[rng.below(documents.size())], rng, true));
    }
  }
  return made;
}

struct MaskCounts {
  size_t n_schemas = 0;
  size_t n_refused = 0;
  size_t n_texts = 0;
  size_t n_masks = 0;
};

// Masks of the texts of one case, at most `max_masks`.
void compare_case(const MaskVocabulary& vocabulary, const std::shared_ptr<FormSpace>& space,
                  const MaskCase& one, size_t max_masks, MaskCounts& counts, Rng& rng) {
  SCOPED_TRACE(one.name + " " + one.schema.dump());
  const auto form = Form::of_schema(space, one.schema, {.style = {}, .draft = one.draft});
  if (!form) {
    ++counts.n_refused;
    return;
  }
  ++counts.n_schemas;
  if (rng.below(2) == 0) (*form)->warm();  // which changes no mask
  for (const std::string& text : one.texts) {
    if (max_masks == 0) return;
    const size_t n = compare_masks(vocabulary, **form, text, max_masks, rng);
    max_masks -= n;
    counts.n_masks += n;
    ++counts.n_texts;
  }
}

// Small vocabularies: pieces of the documents, in turn with all bytes and with byte tokens.
TEST(FormMasks, AreThoseOfAPlainRecogniserOnSmallVocabularies) {
  Rng rng(29);
  std::vector<MaskCase> cases = bench_cases(rng);
  for (MaskCase& one : suite_cases(rng)) cases.push_back(std::move(one));
  for (MaskCase& one : random_cases(is_full_run() ? 4000 : 700, rng)) {
    cases.push_back(std::move(one));
  }
  MaskCounts counts;
  constexpr size_t kGroup = 20;  // cases that share a vocabulary
  constexpr size_t kShare = kTestShare * kTestShare / 2 + 1;
  for (size_t i = 0; i < cases.size() && !testing::Test::HasFailure(); i += kGroup * kShare) {
    const std::span group = std::span(cases).subspan(i, std::min(kGroup, cases.size() - i));
    std::vector<std::string> texts = {"{\"é\": \"😀\"},\n  "};
    for (const MaskCase& one : group) texts.insert(texts.end(), one.texts.begin(), one.texts.end());
    const auto vocabulary = MaskVocabulary::of_texts(texts, 300, i / kGroup % 2 == 1, rng);
    std::shared_ptr<FormSpace> space;
    for (const MaskCase& one : group) {
      if (!space || space->is_worn()) space = vocabulary.space();
      compare_case(vocabulary, space, one, is_full_run() ? 2000 : 40, counts, rng);
    }
  }
  fmt::print("{} schemas ({} refused), {} texts, {} masks\n", counts.n_schemas, counts.n_refused,
             counts.n_texts, counts.n_masks);
  EXPECT_GT(counts.n_masks, 5000U / kShare);
}

std::string bytes_of_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = (bits << 6) | static_cast<uint32_t>(kDigits.find(c));
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out += static_cast<char>(bits >> n_bits);
  }
  return out;
}

// The byte strings of a file of ranks as normal tokens.
MaskVocabulary vocabulary_of_ranks(const std::string& path) {
  std::istringstream lines(file_text(path));
  TokenizerSpec spec = byte_test_spec({});
  for (std::string line; std::getline(lines, line);) {
    const std::string bytes = bytes_of_base64(line.substr(0, line.find(' ')));
    if (bytes.size() > 1) add_test_token(spec, to_byte_alphabet(bytes), TokenKind::normal);
  }
  return MaskVocabulary(test_tokenizer(spec));
}

TEST(FormMasks, AreThoseOfAPlainRecogniserOnWholeVocabularies) {
  for (const std::string name : {"cl100k_base", "qwen"}) {
    if (kTestShare > 1 && name != "qwen") continue;
    const std::string path = masks_data("tokenizers/tiktoken/" + name + ".tiktoken");
    if (!fs::exists(path)) GTEST_SKIP() << path;
    Rng rng(31);
    std::vector<MaskCase> cases = bench_cases(rng);
    if (cases.empty()) GTEST_SKIP() << "no sample of MaskBench";
    for (MaskCase& one : random_cases(cases.size() / 2, rng)) cases.push_back(std::move(one));
    const auto vocabulary = vocabulary_of_ranks(path);
    const size_t n_cases = is_full_run() ? 60 : 2;
    MaskCounts counts;
    for (size_t i = 0; i < n_cases && !testing::Test::HasFailure(); ++i) {
      const MaskCase& one = cases[rng.below(cases.size())];
      compare_case(vocabulary, vocabulary.space(), one, is_full_run() ? 30 : 6, counts, rng);
    }
    fmt::print("{}, {} tokens: {} schemas ({} refused), {} masks\n", name, vocabulary.size(),
               counts.n_schemas, counts.n_refused, counts.n_masks);
  }
}

// What is left of a language after a text.
struct PlainLanguage {
  Languages* languages;
  Language rest;
  bool accept(char byte) {
    rest = languages->after(rest, static_cast<uint8_t>(byte));
    return !languages->is_nothing(rest);
  }
};

TEST(FormMasks, OfPatternsAreThoseOfTheirLanguages) {
  std::istringstream lines(file_text(RUV_SOURCE_DIR "/tests/cases/grammar/patterns.jsonl"));
  Rng rng(37);
  size_t n_patterns = 0;
  size_t n_masks = 0;
  size_t n_lines = 0;
  for (std::string line; std::getline(lines, line) && !testing::Test::HasFailure();) {
    if (!is_full_run() && n_lines++ % (3 * kTestShare) != 0) continue;
    const auto one = parse_json(line, "line");
    ASSERT_TRUE(one);
    std::vector<std::string> texts;
    for (const Json& text : one->at("match")) texts.emplace_back(text.text());
    for (const Json& text : one->at("no_match")) texts.emplace_back(text.text());
    SCOPED_TRACE(one->at("pattern").text());
    const auto vocabulary = MaskVocabulary::of_texts(texts, 60, n_patterns % 2 == 1, rng);
    const auto space = vocabulary.space();
    const auto form = Form::of_pattern(space, one->at("pattern").text(), {});
    if (!form) continue;
    ++n_patterns;
    Languages languages(1 << 20);
    const auto pattern = read_pattern(one->at("pattern").text(), {});
    const auto whole = language_of(languages, *pattern, Utf8Alphabet(), PatternMatch::whole);
    ASSERT_TRUE(whole);
    const Lock guard(space->mutex());
    for (const std::string& text : texts) {
      FormReader reader = (*form)->reader();
      PlainLanguage plain = {&languages, *whole};
      for (const char byte : text) {
        TokenMask mask(vocabulary.size());
        reader.allow(mask);
        ++n_masks;
        const auto wrong = vocabulary.difference(mask, plain);
        ASSERT_FALSE(wrong) << text << "\n" << *wrong;
        const bool fits = plain.accept(byte);
        ASSERT_EQ(reader.accept({&byte, 1}), fits);
        if (!fits) break;
      }
    }
  }
  fmt::print("{} patterns, {} masks\n", n_patterns, n_masks);
  EXPECT_GT(n_patterns, 100U / kTestShare);
}

// A grammar's texts, tried from the start each time.
struct PlainGrammar {
  TestRecogniser* recogniser;
  std::string text;
  bool accept(char byte) {
    text.push_back(byte);
    return recogniser->can_continue(text);
  }
};

// A grammar, and texts that belong to it or do not.
struct GrammarCase {
  Form::Syntax syntax;
  std::string grammar;
  std::vector<std::string> texts;
};

// Masks at every step of some texts; the number of masks.
size_t compare_grammar(const GrammarCase& one, bool with_byte_tokens, size_t max_texts,
                       size_t max_steps, Rng& rng) {
  SCOPED_TRACE(one.grammar);
  std::vector<std::string> pieces = one.texts;
  pieces.emplace_back("ab");
  const auto vocabulary = MaskVocabulary::of_texts(pieces, 40, with_byte_tokens, rng);
  const auto space = vocabulary.space();
  const auto form = Form::of_grammar(space, one.syntax, one.grammar, test_grammar_tokens(), {});
  Languages languages(1 << 20);
  const auto rules = one.syntax == Form::Syntax::gbnf
                         ? read_gbnf(languages, one.grammar, test_grammar_tokens())
                         : read_lark(languages, one.grammar, test_grammar_tokens());
  EXPECT_TRUE(rules && form);
  if (!rules || !form) return 0;
  TestRecogniser recogniser(languages, *rules);
  const Lock guard(space->mutex());
  size_t n_masks = 0;
  for (size_t i = 0; i < std::min(one.texts.size(), max_texts); ++i) {
    const std::string& text = one.texts[i];
    FormReader reader = (*form)->reader();
    for (size_t at = 0; at <= std::min(text.size(), max_steps); ++at) {
      TokenMask mask(vocabulary.size());
      reader.allow(mask);
      ++n_masks;
      const auto wrong = vocabulary.difference(mask, PlainGrammar{&recogniser, text.substr(0, at)});
      EXPECT_FALSE(wrong) << text.substr(0, at) << "\n" << wrong.value_or("");
      if (wrong || at == text.size() || !reader.accept({&text[at], 1})) break;
    }
  }
  return n_masks;
}

// What recorded cases of a file have.
void compare_grammars(const std::string& path, Form::Syntax syntax, size_t& n_grammars,
                      size_t& n_masks, Rng& rng) {
  const auto cases = parse_json(file_text(path), path);
  ASSERT_TRUE(cases);
  for (const Json& one : *cases) {
    const Json* grammar = one.find("grammar");
    const Json* accept = one.find("accept");
    if (grammar == nullptr || accept == nullptr || !accept->is_array()) continue;
    // Spaces of JSON and control tokens have no recogniser here.
    if (grammar->text().find_first_of("%<") != std::string_view::npos) continue;
    GrammarCase made = {syntax, grammar->get<std::string>(), {}};
    for (const Json& text : *accept) made.texts.emplace_back(text.text());
    n_masks += compare_grammar(made, n_grammars++ % 2 == 1, is_full_run() ? 100 : 2,
                               is_full_run() ? 24 : 4, rng);
  }
}

TEST(FormMasks, OfGrammarsAreThoseOfAPlainRecogniser) {
  Rng rng(41);
  size_t n_grammars = 0;
  size_t n_masks = 0;
  const std::string folder = RUV_SOURCE_DIR "/tests/cases/grammar/";
  compare_grammars(folder + "gbnf.json", Form::Syntax::gbnf, n_grammars, n_masks, rng);
  compare_grammars(folder + "lark.json", Form::Syntax::lark, n_grammars, n_masks, rng);
  fmt::print("{} grammars, {} masks\n", n_grammars, n_masks);
  EXPECT_GT(n_grammars, 30U);
}

// The letters of a text or grammar as characters of several bytes.
std::string with_long_letters(std::string_view text, bool in_grammar) {
  std::string made;
  bool in_text = !in_grammar;
  for (const char c : text) {
    if (in_grammar && (c == '"' || c == '[' || c == ']'))
      in_text = c == '[' || (c == '"' && !in_text);
    const bool is_letter = in_text && (c == 'a' || c == 'b');
    made += !is_letter ? std::string(1, c) : c == 'a' ? "é" : "日";
  }
  return made;
}

TEST(FormMasks, OfRandomGrammarsAreThoseOfAPlainRecogniser) {
  Rng rng(43);
  size_t n_masks = 0;
  size_t n_grammars = 0;
  const unsigned n_seeds = is_full_run() ? 600 : 60 / kTestShare;
  for (unsigned seed = 0; seed < n_seeds && !testing::Test::HasFailure(); ++seed) {
    const bool is_lark = seed % 2 == 1;
    const bool is_long = seed / 2 % 2 == 1;
    RandomGrammar grammar(5000 + seed, is_lark);
    GrammarCase one = {is_lark ? Form::Syntax::lark : Form::Syntax::gbnf,
                       is_lark ? grammar.lark() : grammar.gbnf(),
                       {}};
    // Attributes of Lark's rules are in brackets, too.
    if (is_long && one.grammar.find("[lazy]") == std::string::npos &&
        one.grammar.find("[suffix") == std::string::npos &&
        one.grammar.find("[stop") == std::string::npos) {
      one.grammar = with_long_letters(one.grammar, true);
    }
    const TextSet meaning = grammar.meaning();
    if (meaning.none()) continue;  // which a form refuses
    ++n_grammars;
    for (size_t i = kTexts; i-- > 0 && one.texts.size() < 6;) {
      if (!meaning[i] || rng.below(3) != 0) continue;
      one.texts.push_back(is_long ? with_long_letters(all_texts()[i], false) : all_texts()[i]);
    }
    one.texts.push_back(is_long ? "é日" : "ab");
    n_masks += compare_grammar(one, seed / 4 % 2 == 1, 7, 24, rng);
  }
  fmt::print("{} random grammars, {} masks\n", n_grammars, n_masks);
  EXPECT_GT(n_grammars, n_seeds / 4);
  EXPECT_GT(n_masks, 2 * n_grammars);
}

}  // namespace
}  // namespace ruv
