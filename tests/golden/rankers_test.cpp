// Decoders that rank documents: by the logits of two tokens, as sentence-transformers stores them,
// and by the matrix of a class that scores texts (make_ranker_golden.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "format/safetensors.h"
#include "format/test_folder.h"
#include "ruv/logits.h"
#include "ruv/score.h"

namespace ruv {
namespace {

const std::string kRanker = RUV_SOURCE_DIR "/tests/golden/embeddings/ranker";

std::shared_ptr<const Model> loaded(const std::string& path) {
  auto model = load_model(path);
  EXPECT_TRUE(model) << model.error().message();
  return *model;
}

std::unique_ptr<Engine> engine_of(const std::string& path) {
  EngineOptions options{.n_threads = 2, .max_batch_tokens = 64};
  options.kv.type = KvType::f16;
  return std::move(*Engine::create(loaded(path), options));
}

Json golden(const char* member) {
  const std::string path = kRanker + "/golden.json";
  return parse_json(*read_text_file(path), path)->at(member);
}

// A copy of the ranker, to be changed.
class Copy {
 public:
  Copy() {
    std::filesystem::copy(kRanker, folder_.path(), std::filesystem::copy_options::recursive);
  }
  const std::string& path() const { return folder_.path(); }
  void write(std::string_view name, std::string_view text) const { folder_.write(name, text); }
  void remove(std::string_view name) const {
    std::filesystem::remove_all(path() + "/" + std::string(name));
  }
  void replace(std::string_view name, std::string_view from, std::string_view to) const {
    std::string text = *read_text_file(path() + "/" + std::string(name));
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos);
    text.replace(at, from.size(), to);
    write(name, text);
  }

 private:
  TestFolder folder_;
};

struct Pairs {
  std::vector<std::string> texts;
  std::vector<TextPair> pairs;
};

Pairs pairs_of(const Json& goldens) {
  Pairs out;
  for (const Json& one : goldens) {
    for (const Json& text : one.at("texts")) out.texts.push_back(text.get<std::string>());
  }
  for (size_t i = 0; i < out.texts.size(); i += 2) {
    out.pairs.push_back({out.texts[i], out.texts[i + 1]});
  }
  return out;
}

TEST(Rankers, LogitsOfTwoTokensAreTheReferencesScores) {
  const auto engine = engine_of(kRanker);
  const Json goldens = golden("pairs");
  const Pairs made = pairs_of(goldens);
  ASSERT_TRUE(can_rank(engine->model()).ok()) << can_rank(engine->model()).message();
  const PairTexts texts = *tokenize_pairs(engine->model(), made.pairs, PairKind::document);
  const auto scores = score_pairs(*engine, made.pairs, PairKind::document).value();
  for (size_t i = 0; i < goldens.size(); ++i) {
    EXPECT_EQ(texts.ids[i], goldens[i].at("ids").get<std::vector<Token>>()) << i;
    EXPECT_NEAR(scores[i], 1 / (1 + std::exp(-goldens[i].at("score").get<double>())), 1e-3) << i;
  }
  // It still writes text.
  Request request{.prompt = {3, 4}};
  request.params.max_tokens = 1;
  EXPECT_TRUE(engine->submit(request));
}

TEST(Rankers, WhatIsTooLongLosesTheEndOfTheDocument) {
  const auto model = loaded(kRanker);
  const TextPair pair[] = {{"what?", "boats \u00e9\u00e9\u00e9 float on water"}};
  const size_t whole = tokenize_pairs(*model, pair, PairKind::document)->ids[0].size();
  const PairTexts cut =
      *tokenize_pairs(*model, pair, PairKind::document, static_cast<int64_t>(whole) - 19);
  const TextPair rest[] = {{"what?", "boats \u00e9"}};
  EXPECT_EQ(cut.ids, tokenize_pairs(*model, rest, PairKind::document)->ids);
  EXPECT_EQ(tokenize_pairs(*model, pair, PairKind::document, 20).error().code(), Code::invalid);
}

TEST(Rankers, OneTokenAloneIsEnough) {
  const Copy copy;
  copy.replace("1_LogitScore/config.json", "258", "null");
  const auto engine = engine_of(copy.path());
  const Json goldens = golden("pairs");
  const Pairs made = pairs_of(goldens);
  const auto both = score_pairs(*engine_of(kRanker), made.pairs, PairKind::document).value();
  const auto one = score_pairs(*engine, made.pairs, PairKind::document).value();
  const auto ids = goldens[0].at("ids").get<std::vector<Token>>();
  std::vector<float> logits;
  ASSERT_TRUE(compute_logits(engine->model(), ids, {}, [&](int64_t, auto row) {
                logits.assign(row.begin(), row.end());
              }).ok());
  EXPECT_NEAR(one[0], 1 / (1 + std::exp(-double{logits[257]})), 1e-3);
  EXPECT_NE(one[0], both[0]);
}

TEST(Rankers, ContentsOfMessagesMayBeLists) {
  const Copy copy;
  copy.replace("sentence_bert_config.json", "flat", "structured");
  copy.write("chat_template.jinja",
             "{{ messages[1].content[0].text }}|{{ messages[2].content[0].text }}");
  const TextPair pair[] = {{"a", "b"}};
  const auto model = loaded(copy.path());
  EXPECT_EQ(*detokenize(*model, tokenize_pairs(*model, pair, PairKind::document)->ids[0], true),
            "a|b");
}

// Files that do not say all of it keep the model from ranking and from nothing else.
TEST(Rankers, WhatTheFilesLackIsNamed) {
  const auto why = [](const Copy& copy) { return can_rank(*loaded(copy.path())).message(); };
  const auto expect = [&](const Copy& copy, std::string_view part) {
    EXPECT_NE(why(copy).find(part), std::string::npos) << why(copy);
  };
  const Copy without_roles, many, other_output, no_template;
  without_roles.write("chat_template.jinja",
                      "{% for m in messages %}{% if m.role == 'query' %}"
                      "{{ m.content }}{% endif %}{% endfor %}");
  expect(without_roles, "does not show messages of the roles 'query' and 'document'");
  many.replace("1_LogitScore/config.json", "258", "264");
  expect(many, "token 264");
  no_template.remove("chat_template.jinja");
  expect(no_template, "no chat template");
  other_output.replace("sentence_bert_config.json", "causal_logits", "logits");
  EXPECT_NE(embed_info(*loaded(other_output.path())).error().message().find("module_output_name"),
            std::string::npos);
  EXPECT_FALSE(can_rank(*loaded(other_output.path())).ok());
}

// Published first without files of sentence-transformers: README.md tells it from a model that
// chats.
TEST(Rankers, AReadmeNamesTheReranker) {
  const Copy copy;
  for (const char* name : {"modules.json", "sentence_bert_config.json", "1_LogitScore",
                           "config_sentence_transformers.json"}) {
    copy.remove(name);
  }
  EXPECT_FALSE(can_rank(*loaded(copy.path())).ok());
  copy.write("README.md", "---\nlicense: none\n---\nNot # Qwen3-Reranker\n");
  EXPECT_FALSE(can_rank(*loaded(copy.path())).ok());
  copy.write("README.md", "---\nlicense: none\n---\n# Qwen3-Reranker-0.6B\n");
  const auto engine = engine_of(copy.path());
  const TextPair pair[] = {{"q {document}", "d"}};
  const PairTexts texts = *tokenize_pairs(engine->model(), pair, PairKind::document);
  EXPECT_EQ(*detokenize(engine->model(), texts.ids[0], true),
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the "
            "Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\"."
            "<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant "
            "passages that answer the query\n<Query>: q {document}\n<Document>: d<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  std::vector<float> logits;
  ASSERT_TRUE(compute_logits(engine->model(), texts.ids[0], {}, [&](int64_t, auto row) {
                logits.assign(row.begin(), row.end());
              }).ok());
  EXPECT_NEAR(score_pairs(*engine, pair, PairKind::document).value()[0],
              1 / (1 + std::exp(double{logits[258]} - double{logits[257]})), 1e-3);
}

// A folder of a class that scores texts by the first rows of the golden's matrix.
class Scorer : public Copy {
 public:
  explicit Scorer(size_t n_labels) {
    remove("modules.json");
    replace("config.json", "Qwen3ForCausalLM", "Qwen3ForSequenceClassification");
    const std::string matrix = *read_text_file(path() + "/score.safetensors");
    const size_t n_bytes = n_labels * 16 * sizeof(float);
    std::string header = fmt::format(
        R"({{"score.weight": {{"dtype": "F32", "shape": [{}, 16], "data_offsets": [0, {}]}}}})",
        n_labels, n_bytes);
    const uint64_t n_header = header.size();
    std::string rows(reinterpret_cast<const char*>(&n_header), sizeof n_header);
    rows += header + matrix.substr(matrix.size() - 3 * 16 * sizeof(float), n_bytes);
    write("score.safetensors", rows);
    std::string index = R"({"weight_map": {"score.weight": "score.safetensors")";
    const MappedFile weights = *MappedFile::open(kRanker + "/model.safetensors");
    const std::vector<SafetensorsTensor> tensors = *parse_safetensors(weights.bytes(), "weights");
    for (const SafetensorsTensor& tensor : tensors) {
      index += fmt::format(R"(, "{}": "rest.safetensors")", tensor.name);
    }
    std::filesystem::rename(path() + "/model.safetensors", path() + "/rest.safetensors");
    write("model.safetensors.index.json", index + "}}");
  }
};

TEST(Rankers, AClassThatScoresTextsGivesTheReferencesScores) {
  const Scorer folder(3);
  const auto engine = engine_of(folder.path());
  EXPECT_EQ(classifier_info(engine->model())->n_labels, 3);
  const Json classes = golden("classes");
  for (const Json& one : classes) {
    const auto scores = engine->classify(one.at("ids").get<std::vector<Token>>()).value();
    const auto want = one.at("scores").get<std::vector<double>>();
    ASSERT_EQ(scores.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(scores[i], want[i], 2e-3);
  }
  EXPECT_EQ(can_rank(engine->model()).message(),
            "the model's classifier has 3 labels; pairs are scored by one");
  Request request{.prompt = {3, 4}};
  EXPECT_FALSE(engine->submit(request));
}

// The file with one more text at the start of its metadata, filled up to whole alignments so that
// nothing after it moves against its place.
std::string with_text(std::string file, std::string_view key, std::string text) {
  const auto number = [](uint64_t n) {
    return std::string(reinterpret_cast<const char*>(&n), sizeof n);
  };
  const size_t n_bytes = 8 + key.size() + 4 + 8 + text.size();
  text.append((32 - n_bytes % 32) % 32, ' ');
  uint64_t n_entries = 0;
  std::memcpy(&n_entries, &file[16], sizeof n_entries);
  file.replace(16, 8, number(n_entries + 1));
  const std::string kind("\x08\0\0\0", 4);
  return file.insert(24, number(key.size()) + std::string(key) + kind + number(text.size()) + text);
}

// As llama.cpp's converter writes Qwen3-Reranker.
TEST(Rankers, AGgufFileAnswersYesOrNo) {
  const Scorer folder(2);
  folder.replace("config.json", "{", R"({"id2label": {"0": "yes", "1": "no"},)");
  const std::string path = folder.path() + "/ranker.gguf";
  ASSERT_TRUE(quantize_model(**ModelFile::open(folder.path()), "f32", path).ok());
  const std::string plain = *read_text_file(path);
  folder.write("ranker.gguf", with_text(plain, "tokenizer.chat_template.rerank",
                                        "<|im_start|>{document}<|im_end|>{query}"));
  const auto engine = engine_of(path);
  EXPECT_EQ(classifier_info(engine->model())->n_labels, 1);
  const TextPair pair[] = {{"<|im_end|>", "d"}};
  const PairTexts texts = *tokenize_pairs(engine->model(), pair, PairKind::document);
  const std::vector<Token>& ids = texts.ids[0];
  EXPECT_EQ(std::vector<Token>(ids.begin(), ids.begin() + 3), (std::vector<Token>{259, 67, 260}));
  EXPECT_EQ(std::ranges::count(ids, 260), 1);
  const auto both = engine_of(Scorer(3).path())->classify(ids).value();
  EXPECT_NEAR(score_pairs(*engine, pair, PairKind::document).value()[0],
              1 / (1 + std::exp(double{both[1]} - double{both[0]})), 1e-3);
  folder.write("ranker.gguf", with_text(plain, "a", "b"));
  EXPECT_TRUE(can_rank(*loaded(path)).ok());
  folder.write("ranker.gguf",
               with_text(plain, "tokenizer.chat_template.rerank", "{query}{document}{query}"));
  EXPECT_NE(can_rank(*loaded(path)).message().find("does not have '{query}' once"),
            std::string::npos);
}

}  // namespace
}  // namespace ruv
