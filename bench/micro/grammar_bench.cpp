// Speed and coverage of forms over schemas with instances, as MaskBench has them: one JSON object
// per line with "id", "schema" and "tests" ("data", "valid").
//   ruv_bench_grammar TOKENIZER SCHEME SCHEMAS [--tokens FILE]
// Each schema is met once. For every token of every instance the mask is made and the token
// accepted; times are also given for each 4,096 tokens of an instance apart. Then, not timed, what
// the form leaves no choice in is drafted along the instances that are valid. Prints one JSON
// object; with --tokens writes the instances' tokens, for peers to read.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

#include "base/json.h"
#include "format/tokenizer_file.h"
#include "grammar/form/form.h"

namespace ruv {
namespace {

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

// A document as Python's json.dumps writes it, not escaping what needs no escape.
void append_document(const Json& value, std::string& out) {
  if (value.is_string()) {
    out += '"' + escape_json(value.text()) + '"';
  } else if (value.is_array()) {
    out += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      append_document(value[i], out);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {
      out += (first ? "\"" : ", \"") + escape_json(key) + "\": ";
      first = false;
      append_document(member, out);
    }
    out += '}';
  } else {
    out += value.dump();
  }
}

Json figures(std::vector<double> values) {
  if (values.empty()) return Json::object();
  std::ranges::sort(values);
  double sum = 0;
  for (const double value : values) sum += value;
  const auto at = [&](double share) {
    return values[std::min(values.size() - 1,
                           static_cast<size_t>(share * static_cast<double>(values.size())))];
  };
  return {{"n", values.size()},  {"mean", sum / static_cast<double>(values.size())},
          {"p50", at(0.5)},      {"p90", at(0.9)},
          {"p99", at(0.99)},     {"p99.9", at(0.999)},
          {"max", values.back()}};
}

class Bench {
 public:
  explicit Bench(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)),
        prefixes_(std::make_shared<TokenPrefixes>(*tokenizer_)),
        space_(std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size())) {}

  void run(const Json& line, Json& tokens) {
    const double start = now_us();
    const auto form = Form::of_schema(space_, Json(line.at("schema")), {});
    TokenMask mask(tokenizer_->vocab_size());
    if (form) {
      (*form)->warm();
      const Lock guard(space_->mutex());
      (*form)->reader().allow(mask);
    }
    compile_.push_back(now_us() - start);
    ++n_schemas_;
    if (!form) ++n_refused_;
    bool all_right = static_cast<bool>(form);
    tokens = Json::array();
    for (const Json& test : line.at("tests")) {
      std::string text;
      append_document(test.at("data"), text);
      std::vector<Token> ids;
      tokenizer_->encode(text, SpecialParsing::off, false, ids);
      tokens.push_back({{"valid", test.at("valid")}, {"ids", Json(ids)}});
      if (!form) continue;
      const bool accepted = read(**form, ids);
      if (accepted == (test.at("valid") == true)) {
        if (accepted) draft(**form, ids);
        continue;
      }
      all_right = false;
      ++(accepted ? n_wrongly_accepted_ : n_wrongly_refused_);
    }
    n_passed_ += all_right;
  }

  Json result() const {
    Json by_place = Json::array();
    for (const std::vector<double>& times : by_place_) by_place.push_back(figures(times));
    return {{"engine", "ruvllm"},
            {"mask_us", figures(mask_)},
            {"mask_us_by_place", by_place},
            {"compile_us", figures(compile_)},
            {"drafts", {{"tokens", n_tokens_}, {"drafted", n_drafted_}, {"right", n_right_}}},
            {"schemas", n_schemas_},
            {"passed", n_passed_},
            {"refused", n_refused_},
            {"invalid accepted", n_wrongly_accepted_},
            {"valid refused", n_wrongly_refused_}};
  }

 private:
  bool read(const Form& form, const std::vector<Token>& ids) {
    const Lock guard(space_->mutex());
    FormReader reader = form.reader();
    TokenMask mask(tokenizer_->vocab_size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const Token id = ids[i];
      const double start = now_us();
      mask.clear();
      reader.allow(mask);
      const bool fits = mask.has(id) && reader.accept(prefixes_->bytes(id));
      mask_.push_back(now_us() - start);
      if (i / kPlaces >= by_place_.size()) by_place_.resize(i / kPlaces + 1);
      by_place_[i / kPlaces].push_back(mask_.back());
      if (!fits) return false;
    }
    return reader.may_end();
  }

  void draft(const Form& form, const std::vector<Token>& ids) {
    const Lock guard(space_->mutex());
    FormReader reader = form.reader();
    n_tokens_ += ids.size();
    for (size_t i = 0; i < ids.size();) {
      const std::string text = reader.foreseen(64);
      std::vector<Token> drafted;
      if (!text.empty()) tokenizer_->encode(text, SpecialParsing::off, true, drafted);
      size_t n = 0;
      while (n < drafted.size() && i + n < ids.size() && drafted[n] == ids[i + n]) ++n;
      n_drafted_ += drafted.size();
      n_right_ += n;
      // The step itself gives one token more than the drafts that were right.
      for (const size_t end = std::min(ids.size(), i + n + 1); i < end; ++i) {
        reader.accept(prefixes_->bytes(ids[i]));
      }
    }
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const TokenPrefixes> prefixes_;
  std::shared_ptr<FormSpace> space_;
  // Tokens of an answer whose times are told apart from those before them.
  static constexpr size_t kPlaces = 4096;
  std::vector<double> mask_;
  std::vector<std::vector<double>> by_place_;
  std::vector<double> compile_;
  size_t n_tokens_ = 0, n_drafted_ = 0, n_right_ = 0;
  int n_schemas_ = 0;
  int n_passed_ = 0;
  int n_refused_ = 0;
  int n_wrongly_accepted_ = 0;
  int n_wrongly_refused_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto tokenizer = open_tokenizer_file(argv[1], argv[2]);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message() << '\n';
    return 1;
  }
  Bench bench(*tokenizer);
  std::ifstream in(argv[3]);
  std::ofstream out;
  if (argc > 5) out.open(argv[5]);
  for (std::string text; std::getline(in, text);) {
    const auto line = parse_json(text, argv[3]);
    if (!line) {
      std::cerr << line.error().message() << '\n';
      return 1;
    }
    Json tokens;
    bench.run(*line, tokens);
    if (out) out << Json{{"schema", line->at("schema")}, {"tests", tokens}}.dump() << '\n';
  }
  std::cout << bench.result().dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return ruv::run(argc, argv); }
