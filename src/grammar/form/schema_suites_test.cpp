// Whole suites of schemas with documents, where the shared test data is present: what the engine
// does not do with them is listed in tests/cases/grammar/schema_suites.txt, a line per case with
// what is wrong, and every change of that list must be meant. schema_suites_totals.txt has a line
// per file of cases: its name, schemas, documents, and documents that are judged right.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKnown = RUV_SOURCE_DIR "/tests/cases/grammar/schema_suites.txt";
constexpr std::string_view kTotals = RUV_SOURCE_DIR "/tests/cases/grammar/schema_suites_totals.txt";

// The folder of the suites; empty where it is absent.
fs::path suites_folder() {
  const char* given = std::getenv("RUV_DATA_DIR");
  const fs::path path =
      fs::path(given != nullptr ? given : RUV_SOURCE_DIR "/../shared/data") / "grammars";
  return fs::exists(path) ? path : fs::path();
}

Json json_file(const fs::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto read = parse_json(text, path.filename().string());
  EXPECT_TRUE(read) << path;
  return read ? *read : Json();
}

// With a space after each comma and colon, as most programs write JSON.
std::string spaced_text(const Json& json) {
  if (!json.is_array() && !json.is_object()) return json.dump();
  std::string made;
  if (json.is_array()) {
    for (const Json& item : json) made += (made.empty() ? "" : ", ") + spaced_text(item);
    return "[" + made + "]";
  }
  for (const auto& [key, value] : json.items()) {
    made += (made.empty() ? "" : ", ") + Json(key).dump() + ": " + spaced_text(value);
  }
  return "{" + made + "}";
}

// Of one file of cases.
struct SuiteTotals {
  int n_schemas = 0;
  int n_documents = 0;
  int n_right = 0;
};

// Runs cases, and knows by the case's name what went wrong.
class SuiteRun {
 public:
  SuiteRun() {
    const auto tokenizer = test_tokenizer(byte_test_spec({}));
    prefixes_ = std::make_shared<TokenPrefixes>(*tokenizer);
    n_vocab_ = tokenizer->vocab_size();
  }

  // A schema, then its documents. A space for each schema: suites are large.
  void begin(const std::string& name, const Json& schema, SchemaOptions options) {
    name_ = name;
    schema_ = schema.dump();
    n_documents_ = 0;
    form_ = nullptr;
    totals_here_ = &totals_[name.substr(0, name.find_first_of("# "))];
    ++totals_here_->n_schemas;
    auto made = Form::of_schema(std::make_shared<FormSpace>(prefixes_, n_vocab_), schema,
                                std::move(options));
    if (made) {
      form_ = *made;
    } else {
      found_[name] = "refused: " + made.error().message();
    }
  }
  void document(const std::string& text, bool valid) {
    const std::string name = fmt::format("{}.{}", name_, n_documents_++);
    ++totals_here_->n_documents;
    bool accepted = false;
    if (form_ != nullptr) {
      const Lock guard(form_->space().mutex());
      FormReader reader = form_->reader();
      accepted = reader.accept(text) && reader.may_end();
    }
    if (accepted == valid) {
      ++totals_here_->n_right;
    } else if (form_ != nullptr) {
      found_[name] = fmt::format("{}", valid ? "valid refused" : "invalid accepted");
      details_[name] = schema_ + "\n" + text;
    }
  }

  // All that went wrong, by name of the case.
  const std::map<std::string, std::string>& found() const { return found_; }
  const std::string& detail(const std::string& name) { return details_[name]; }
  // A line for each file of cases.
  std::string totals() const {
    std::string made;
    for (const auto& [name, n] : totals_) {
      made += fmt::format("{}\t{}\t{}\t{}\n", name, n.n_schemas, n.n_documents, n.n_right);
    }
    return made;
  }

 private:
  std::shared_ptr<TokenPrefixes> prefixes_;
  int64_t n_vocab_;
  std::string name_;
  std::string schema_;
  int n_documents_ = 0;
  std::shared_ptr<Form> form_;
  std::map<std::string, SuiteTotals> totals_;
  SuiteTotals* totals_here_ = nullptr;
  std::map<std::string, std::string> found_;
  std::map<std::string, std::string> details_;
};

std::vector<fs::path> json_files_below(const fs::path& folder) {
  std::vector<fs::path> made;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") made.push_back(entry.path());
  }
  std::ranges::sort(made);
  return made;
}

void run_test_suite(SuiteRun& run, const fs::path& folder) {
  SchemaOptions options;
  const fs::path remotes = folder / "remotes";
  for (const fs::path& path : json_files_below(remotes)) {
    options.documents.emplace_back(
        "http://localhost:1234/" + fs::relative(path, remotes).generic_string(), json_file(path));
  }
  for (const auto& [name, draft] : {std::pair{"draft7", SchemaDraft::draft7},
                                    std::pair{"draft2020-12", SchemaDraft::draft2020}}) {
    options.draft = draft;
    for (const fs::path& path : json_files_below(folder / name)) {
      int n = 0;
      for (const Json& group : json_file(path)) {
        run.begin(fmt::format("{}#{}", fs::relative(path, folder).generic_string(), n++),
                  group.at("schema"), options);
        for (const Json& test : group.at("tests")) {
          run.document(spaced_text(test.at("data")), test.at("valid") == true);
        }
      }
    }
  }
}

void run_bench(SuiteRun& run, const fs::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto row = parse_json(line, "line");
    ASSERT_TRUE(row);
    run.begin("bench " + row->at("id").get<std::string>(), row->at("schema"), {});
    for (const Json& test : row->at("tests")) {
      run.document(spaced_text(test.at("data")), test.at("valid") == true);
    }
  }
}

// Files of lists of texts for each schema, which is JSON or the text of it.
void run_lists(SuiteRun& run, const fs::path& path, std::string_view good, std::string_view bad) {
  int n = 0;
  for (const Json& group : json_file(path)) {
    const Json& schema = group.at("schema");
    run.begin(fmt::format("{}#{}", path.stem().string(), n++),
              schema.is_string() ? *parse_json(schema.text(), "schema") : schema, {});
    for (const Json& text : group.at(good)) run.document(std::string(text.text()), true);
    for (const Json& text : group.at(bad)) run.document(std::string(text.text()), false);
  }
}

void run_single_texts(SuiteRun& run, const fs::path& path) {
  int n = 0;
  for (const Json& one : json_file(path)) {
    SchemaOptions options;
    const Json& blanks = one.at("options")["any_whitespace"];
    if (blanks == true) options.style.spacing = JsonSpacing::any;
    const Json& schema = one.at("schema");
    run.begin(fmt::format("{}#{}", path.stem().string(), n++),
              schema.is_string() ? *parse_json(schema.text(), "schema") : schema, options);
    run.document(std::string(one.at("instance").text()), one.at("accepted") == true);
  }
}

// What comes after the first ':' of what is wrong is told and not compared.
std::string category(std::string_view what) { return std::string(what.substr(0, what.find(':'))); }

TEST(SchemaSuites, PassButForTheCasesThatAreListed) {
  const fs::path folder = suites_folder();
  if (folder.empty()) GTEST_SKIP() << "no grammars in the shared test data";
  SuiteRun run;
  run_test_suite(run, folder / "JSON-Schema-Test-Suite");
  run_bench(run, folder / "maskbench_sample.jsonl");
  run_lists(run, folder / "llamacpp_schema_accept_reject.json", "pass", "fail");
  run_lists(run, folder / "llguidance_schema_accept_reject.json", "pass", "fail");
  run_lists(run, folder / "outlines_core_schema_match.json", "match", "no_match");
  run_single_texts(run, folder / "xgrammar_schema_accept.json");
  if (std::getenv("RUV_UPDATE") != nullptr) {
    std::ofstream out{std::string(kKnown)};
    for (const auto& [name, what] : run.found()) out << name << '\t' << what << '\n';
    std::ofstream{std::string(kTotals)} << run.totals();
  }
  std::map<std::string, std::string> known;
  std::ifstream file{std::string(kKnown)};
  ASSERT_TRUE(file) << kKnown;
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    known.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  constexpr std::string_view kHelp =
      "; if that is meant, run this test with RUV_UPDATE=1, then tools/support_table --write";
  for (const auto& [name, what] : run.found()) {
    const auto at = known.find(name);
    EXPECT_TRUE(at != known.end() && category(at->second) == category(what))
        << name << " is now: " << what << kHelp << '\n'
        << run.detail(name);
  }
  for (const auto& [name, what] : known) {
    EXPECT_TRUE(run.found().contains(name)) << name << " is no longer: " << what << kHelp;
  }
  std::ifstream totals{std::string(kTotals)};
  const std::string known_totals{std::istreambuf_iterator<char>(totals), {}};
  EXPECT_EQ(run.totals(), known_totals) << kHelp;
}

}  // namespace
}  // namespace ruv
