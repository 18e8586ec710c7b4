// Tokenizers of tokenizer.json files against the ids of the reference implementation, pipelines in
// small, and hostile files.
#include "format/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "fault/damage.h"
#include "text/bpe/byte_alphabet.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

Json read_json(const std::string& path) { return *parse_json(*read_text_file(path), path); }

std::shared_ptr<const Tokenizer> made(Result<TokenizerSpec> spec) {
  if (!spec) {
    ADD_FAILURE() << spec.error().message();
    return nullptr;
  }
  auto tokenizer = Tokenizer::create(std::move(*spec));
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message();
  return tokenizer ? *tokenizer : nullptr;
}

std::vector<Token> encoded(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::on, false, ids);
  return ids;
}

class HuggingFaceCases : public testing::TestWithParam<const char*> {};

TEST_P(HuggingFaceCases, IdsAndTextEqualTheReference) {
  const std::string folder = shared_data("tokenizers/hf/" + std::string(GetParam()));
  if (!file_exists(folder + "/cases.json")) GTEST_SKIP() << folder;
  const auto tokenizer = made(read_tokenizer_folder(folder));
  ASSERT_NE(tokenizer, nullptr);
  const Json cases = read_json(folder + "/cases.json")["cases"];
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    const auto ids = one["ids"].get<std::vector<Token>>();
    EXPECT_EQ(encoded(*tokenizer, text), ids) << text;
    EXPECT_EQ(tokenizer->encode_prompt(text, SpecialParsing::on),
              one["ids_with_special"].get<std::vector<Token>>())
        << text;
    EXPECT_EQ(tokenizer->decode(ids, true), one["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, HuggingFaceCases,
                         testing::Values("bert-uncased-m2v", "llama2", "phi-2", "roberta-base",
                                         "t5-small"));

TEST(TokenizerJson, TrainedModelPromptsEqualTheReference) {
  const std::string folder = shared_data("trained/nano");
  if (!file_exists(folder + "/tokenizer.json")) GTEST_SKIP() << folder;
  const auto tokenizer = made(read_tokenizer_folder(folder));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->spec().pre, "qwen2");
  EXPECT_EQ(tokenizer->spec().normalizers.size(), 1U);
  EXPECT_FALSE(tokenizer->spec().add_bos);
  EXPECT_TRUE(tokenizer->ends_answer(*tokenizer->find("<|im_end|>")));
  const Json cases = read_json(shared_data("trained/eval/nano_reference.json"))["cases"];
  ASSERT_FALSE(cases.empty());
  for (const Json& one : cases) {
    EXPECT_EQ(encoded(*tokenizer, one["prompt"].get<std::string>()),
              one["ids"].get<std::vector<Token>>());
  }
}

// A byte-level file with 3 tokens besides the added ones; parts can be replaced.
struct SmallFile {
  std::string normalizer = "null";
  std::string pre_tokenizer =
      R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
  std::string model = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";
  std::string added = R"([{"id": 3, "content": "<s>", "special": true},
                          {"id": 4, "content": "<t>", "special": false, "rstrip": true}])";
  std::string post_processor = "null";
  std::string decoder = "null";

  std::string text() const {
    return fmt::format(
        R"({{"normalizer": {}, "pre_tokenizer": {}, "model": {}, "added_tokens": {},
             "post_processor": {}, "decoder": {}}})",
        normalizer, pre_tokenizer, model, added, post_processor, decoder);
  }
  Result<TokenizerSpec> read(std::string_view config = "") const {
    return tokenizer_spec_from_json(text(), config, "small.json");
  }
  std::string error(std::string_view config = "") const {
    const auto spec = read(config);
    return spec ? "no error"
                : fmt::format("{} {}", code_name(spec.error().code()), spec.error().message());
  }
};

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

constexpr const char* kPieces =
    R"({"vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "<0x41>": 4}, "unk_token": "<unk>",
        "byte_fallback": true, "merges": [["▁", "a"]]})";
constexpr const char* kTemplate =
    R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}]}]})";

// CLIP's pipeline with six merges: 256 bytes, 256 that end a word, then the merges' results.
SmallFile clip_file() {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    std::string open = Json(to_byte_alphabet({&c, 1})).dump();
    open.pop_back();  // the quote
    vocab += fmt::format(R"({}": {}, {}</w>": {}, )", open, byte, open, 256 + byte);
  }
  SmallFile file;
  file.normalizer = R"({"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]})";
  file.pre_tokenizer = R"re({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Removed", "invert": true, "pattern": {"Regex":
       "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}},
      {"type": "ByteLevel", "add_prefix_space": false}]})re";
  file.model = fmt::format(
      R"({{"type": "BPE", "end_of_word_suffix": "</w>", "continuing_subword_prefix": "",
           "vocab": {{{}"lo": 512, "low</w>": 513, "er</w>": 514, "low": 515, "th": 516,
                      "the</w>": 517}},
           "merges": ["l o", "lo w</w>", "e r</w>", "lo w", "t h", "th e</w>"]}})",
      vocab);
  file.added = "[]";
  file.decoder = R"({"type": "ByteLevel"})";
  return file;
}

// The ids are those of `tokenizers` for this file.
TEST(TokenizerJson, WordsMayHaveAnEnd) {
  const auto tokenizer = made(clip_file().read());
  ASSERT_NE(tokenizer, nullptr);
  using Ids = std::vector<Token>;
  const auto ids = [&](std::string_view text) { return test_ids(*tokenizer, text); };
  EXPECT_EQ(ids("low"), Ids({513}));
  EXPECT_EQ(ids("Lower  slow"), Ids({515, 514, 115, 513}));
  EXPECT_EQ(ids("the loth'er"), Ids({517, 512, 116, 360, 295, 514}));
  EXPECT_EQ(ids("\u00E9"), Ids({195, 425}));
  EXPECT_EQ(ids("w"), Ids({375}));
  EXPECT_EQ(ids("low!? 42"), Ids({513, 33, 319, 308, 306}));
  EXPECT_EQ(ids("w\xFFw"), ids("w\uFFFDw"));  // the byte that stands for the end
  EXPECT_EQ(tokenizer->decode(ids("Lower  slow"), false), "lower slow ");
  // A word keeps its place beside what was removed around it.
  std::vector<Token> tokens;
  std::vector<TokenSpan> spans;
  TokenSink sink(&tokens, &spans);
  const TextPart part{"lower  slow", SpecialParsing::off};
  tokenizer->encode_parts({&part, 1}, false, sink);
  const std::vector<TokenSpan> expected = {{0, 3}, {3, 5}, {7, 8}, {8, 11}};
  ASSERT_EQ(spans.size(), expected.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].begin, expected[i].begin);
    EXPECT_EQ(spans[i].end, expected[i].end);
  }
}

TEST(TokenizerJson, UnigramMayHaveTheDecoderOfWordPiece) {
  SmallFile file;
  file.pre_tokenizer = R"({"type": "Metaspace", "prepend_scheme": "always"})";
  file.model = R"({"type": "Unigram", "unk_id": 0, "vocab": [["<u>", 0], ["\u2581", -1],
                   ["a", -2]]})";
  file.decoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";
  const auto tokenizer = made(file.read());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->decode(test_ids(*tokenizer, "a a"), false), "a a");
}

TEST(TokenizerJson, EveryByteNeedsATokenForTheEndOfAWord) {
  SmallFile file = clip_file();
  const size_t at = file.model.find("\"w</w>\"");
  file.model.replace(at, 7, "\"other\"");
  const auto spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  const auto tokenizer = Tokenizer::create(*spec);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code(), Code::unsupported);
  expect_part(std::string(tokenizer.error().message()), "byte 0x77 has no token");
  file = SmallFile{};
  file.model = R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "ignore_merges": true,
                   "end_of_word_suffix": "</w>"})";
  expect_part(file.error(), "model: \"end_of_word_suffix\" is not supported");
}

TEST(TokenizerJson, ReadsAByteLevelFile) {
  const auto spec = SmallFile{}.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::byte_bpe);
  EXPECT_EQ(spec->pre, "gpt-2");
  EXPECT_EQ(spec->tokens, (std::vector<std::string>{"a", "b", "ab", "<s>", "<t>"}));
  EXPECT_EQ(spec->kinds[3], TokenKind::control);
  EXPECT_EQ(spec->kinds[4], TokenKind::user_defined);
  EXPECT_TRUE(spec->added[1].rstrip);
  EXPECT_EQ(spec->merges, std::vector<std::string>{"a b"});
  EXPECT_FALSE(spec->add_bos || spec->bos || spec->eos);
}

TEST(TokenizerJson, TemplateAndConfigTellBosAndEos) {
  SmallFile file;
  file.post_processor = kTemplate;
  auto spec = file.read();
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->add_bos);
  EXPECT_EQ(spec->bos, 3);
  spec = file.read(R"({"bos_token": {"content": "<s>"}, "eos_token": "<t>", "pad_token": null,
                       "add_bos_token": false, "add_eos_token": true})");
  ASSERT_TRUE(spec);
  EXPECT_FALSE(spec->add_bos);
  EXPECT_TRUE(spec->add_eos);
  EXPECT_EQ(spec->eos, 4);
  EXPECT_EQ(spec->pad, std::nullopt);
}

TEST(TokenizerJson, ReadsSentencePiecePipelines) {
  SmallFile file;
  file.model = kPieces;
  file.added = "[]";
  file.pre_tokenizer = "null";
  file.normalizer = R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";
  auto spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::sentencepiece_bpe);
  EXPECT_TRUE(spec->add_space_prefix);
  EXPECT_FALSE(spec->prefix_first_only || spec->split_at_spaces);
  EXPECT_EQ(spec->unk, 0);
  EXPECT_EQ(spec->kinds[4], TokenKind::byte);
  EXPECT_EQ(encoded(*made(*spec), "aA?"), (std::vector<Token>{3, 4, 0}));

  // Gemma: spaces are replaced and nothing is put before the text.
  file.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  file.pre_tokenizer =
      R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"})";
  spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(encoded(*made(*spec), "a a"), (std::vector<Token>{2, 3}));

  // Mistral: a prefix for the first text only, and not before a space.
  file.normalizer = "null";
  file.pre_tokenizer = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                           "split": false})";
  spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_TRUE(spec->add_space_prefix && spec->prefix_first_only && spec->prefix_if_missing);
  EXPECT_FALSE(spec->split_at_spaces);
}

TEST(TokenizerJson, ReadsUnigram) {
  SmallFile file;
  file.model = R"({"type": "Unigram", "unk_id": 1, "byte_fallback": true,
                   "vocab": [["▁a", -1.5], ["<unk>", 0], ["<0x41>", -3]]})";
  file.added = R"([{"id": 3, "content": "</s>", "special": true}])";
  file.normalizer = R"({"type": "Precompiled", "precompiled_charsmap": "Zm9v"})";
  file.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                           {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true}]})";
  file.decoder = R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": true})";
  const auto spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::unigram);
  EXPECT_EQ(spec->tokens, (std::vector<std::string>{"▁a", "<unk>", "<0x41>", "</s>"}));
  EXPECT_EQ(spec->scores, (std::vector<float>{-1.5F, 0, -3, 0}));
  EXPECT_EQ(spec->wide_scores, (std::vector<double>{-1.5, 0, -3, 0}));
  EXPECT_EQ(spec->kinds[1], TokenKind::unknown);
  EXPECT_EQ(spec->kinds[2], TokenKind::byte);
  EXPECT_EQ(spec->kinds[3], TokenKind::control);
  EXPECT_EQ(spec->unk, 1);
  ASSERT_EQ(spec->normalizers.size(), 1U);
  EXPECT_EQ(spec->normalizers[0].content, "foo");
  ASSERT_EQ(spec->splits.size(), 1U);
  EXPECT_EQ(spec->splits[0].behavior, SplitBehavior::removed);
  EXPECT_TRUE(spec->prefix_each_word && spec->add_space_prefix && spec->prefix_if_missing);
}

// Equal ways to cut a text are told apart by the last bits of their scores, which are those of the
// package's JSON reader.
TEST(TokenizerJson, ScoresAreRoundedAsThePackageRoundsThem) {
  SmallFile file;
  file.model = R"({"type": "Unigram", "vocab": [["a", -12.130167007446289],
                   ["b", -5.129043102264404], ["c", 1e-05], ["d", 2.5e+3]]})";
  file.added = "[]";
  file.pre_tokenizer = R"({"type": "Metaspace"})";
  const auto spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->wide_scores,
            (std::vector<double>{-(12130167007446289.0 / 1e15), -5.129043102264404, 1e-05, 2500}));
  EXPECT_NE(spec->wide_scores[0], -12.130167007446289);
}

TEST(TokenizerJson, ReadsWordPiece) {
  SmallFile file;
  file.model = R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "@@",
                   "max_input_chars_per_word": 7, "vocab": {"[UNK]": 0, "a": 1, "@@b": 2}})";
  file.normalizer = R"({"type": "BertNormalizer", "clean_text": true,
                        "handle_chinese_chars": false, "strip_accents": null, "lowercase": true})";
  file.pre_tokenizer = R"({"type": "BertPreTokenizer"})";
  file.decoder = R"({"type": "WordPiece", "prefix": "@@", "cleanup": false})";
  auto spec = file.read();
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::wordpiece);
  EXPECT_EQ(spec->continuing_prefix, "@@");
  EXPECT_EQ(spec->max_word_chars, 7U);
  EXPECT_EQ(spec->unk, 0);
  EXPECT_EQ(spec->splits.size(), 2U);
  EXPECT_EQ(spec->normalizers.size(), 4U);  // clean, NFD, accents, lowercase
  EXPECT_FALSE(spec->cleanup_spaces);
  file.decoder = R"({"type": "WordPiece", "prefix": "##"})";
  expect_part(file.error(), "decoder: \"WordPiece\" is not supported");
}

// Files before 2022 do not name the type of their model.
TEST(TokenizerJson, ModelsWithoutATypeAreKnownByTheirMembers) {
  SmallFile file;
  file.model = R"({"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";
  EXPECT_EQ(file.read()->kind, TokenizerKind::byte_bpe);
  file.model = R"({"unk_id": 0, "vocab": [["<unk>", 0]]})";
  file.added = "[]";
  file.pre_tokenizer = R"({"type": "Metaspace"})";
  EXPECT_EQ(file.read()->kind, TokenizerKind::unigram);
  file.model = R"({"unk_token": "a", "max_input_chars_per_word": 5, "vocab": {"a": 0}})";
  file.pre_tokenizer = R"({"type": "WhitespaceSplit"})";
  EXPECT_EQ(file.read()->kind, TokenizerKind::wordpiece);
}

TEST(TokenizerJson, ConfigAddsTokensTheFileLacks) {
  const auto spec = SmallFile{}.read(
      R"({"added_tokens_decoder": {"3": {"content": "<s>", "special": true},
                                   "9": {"content": "<new>", "special": true}},
          "eos_token": "<new>"})");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->tokens.size(), 10U);
  EXPECT_EQ(spec->kinds[8], TokenKind::unused);
  EXPECT_EQ(spec->eos, 9);
  expect_part(SmallFile{}.error(R"({"added_tokens_decoder": {"0": {"content": "<new>"}}})"),
              "\"a\" and \"<new>\" have id 0");
  expect_part(SmallFile{}.error(R"({"added_tokens_decoder": {"-1": {"content": "<new>"}}})"),
              "\"-1\" is not a token");
  expect_part(SmallFile{}.error(R"({"added_tokens_decoder": {"5000": {"content": "<new>"}}})"),
              "has id 5000");
}

TEST(TokenizerJson, BrokenFilesAreCorrupt) {
  const auto with_model = [](const std::string& model) {
    SmallFile file;
    file.model = model;
    return file.error();
  };
  expect_part(with_model(R"({"vocab": {"a": 4000000000000}, "merges": []})"),
              "has id 4000000000000");
  expect_part(with_model(R"({"vocab": {"a": 100000}, "merges": []})"), "has id 100000");
  expect_part(with_model(R"({"vocab": {"a": -1}, "merges": []})"), "has id -1");
  expect_part(with_model(R"({"vocab": {"a": "x"}, "merges": []})"), "no integer id");
  expect_part(with_model(R"({"vocab": {"a": 0, "b": 0}, "merges": []})"), "have id 0");
  expect_part(with_model(R"({"vocab": {"a": 0}})"), "merges is missing");
  expect_part(with_model(R"({"vocab": {"a": 0}, "merges": [["a"]]})"), "merges[0]");
  expect_part(with_model(R"({"vocab": {"a": 0}, "merges": [["a b", "c"]]})"), "merges a space");
  expect_part(with_model(R"({"merges": []})"), "vocab is missing");
  expect_part(with_model("7"), "model is missing");
  SmallFile file;
  file.added = R"([{"id": 1, "content": "<s>"}])";
  expect_part(file.error(), "have id 1");
  file.added = R"([{"id": 7}])";
  expect_part(file.error(), "without id or content");
  expect_part(SmallFile{}.error("{"), "tokenizer_config.json");
  expect_part(with_model(R"({"type": "Unigram", "vocab": [["a"]]})"), "Unigram without");
  file = {};
  file.pre_tokenizer = R"({"type": "Metaspace"})";
  file.model = R"({"type": "Unigram", "vocab": [["a"]]})";
  expect_part(file.error(), "vocab[0] is not a piece with a score");
  file.model = R"({"type": "Unigram", "unk_id": 5, "vocab": [["a", 0]]})";
  expect_part(file.error(), "unk_id is 5 of 1 tokens");
  file.pre_tokenizer = "null";
  file.model = R"({"type": "WordPiece", "vocab": {"a": 0}})";
  expect_part(file.error(), "unk_token is not a token");
  for (const std::string text : {"", "[", "{}", "null", "\xFF", "{\"model\": {\"vocab\": "}) {
    const auto spec = tokenizer_spec_from_json(text, "", "x");
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().code(), Code::corrupt);
  }
}

TEST(TokenizerJson, DeepNestingIsRefused) {
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(tokenizer_spec_from_json(deep, "", "x"));
  SmallFile file;
  file.normalizer = std::string(900, '[') + std::string(900, ']');
  expect_part(file.error(), "normalizer");
}

// The ids that a post-processor states count, whatever the vocabulary says of their texts.
TEST(TokenizerJson, StatedIdsOfThePostProcessorCount) {
  const auto with = [](const std::string& single, const std::string& tokens) {
    SmallFile file;
    file.post_processor = fmt::format(
        R"({{"type": "TemplateProcessing", "single": [{}{{"Sequence": {{"id": "A"}}}}],
             "special_tokens": {{{}}}}})",
        single, tokens);
    return file;
  };
  const std::string first = R"({"SpecialToken": {"id": "<s>", "type_id": 0}}, )";
  const auto ids = [](const SmallFile& file) {
    const auto tokenizer = made(file.read());
    return tokenizer ? tokenizer->encode_prompt("ab", SpecialParsing::off) : std::vector<Token>();
  };
  EXPECT_EQ(ids(with(first, "")), (std::vector<Token>{3, 2}));
  EXPECT_EQ(ids(with(first, R"("<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]})")),
            (std::vector<Token>{1, 2}));
  expect_part(with(first, R"("<s>": {"ids": [5]})").error(), "id 5 is outside the 5 tokens");
  expect_part(with(first, R"("<s>": {"ids": [-1]})").error(), "outside");
  expect_part(with(first, R"("<s>": {"ids": []})").error(), "has no ids");
  EXPECT_EQ(ids(with(first, R"("<s>": {"ids": [1, 2]})")), (std::vector<Token>{1, 2, 2}));
  // As GLM's and Whisper's: two tokens before a text.
  const std::string second = R"({"SpecialToken": {"id": "<t>", "type_id": 0}}, )";
  EXPECT_EQ(ids(with(first + second, "")), (std::vector<Token>{3, 4, 2}));
  std::string many;
  for (int i = 0; i < 17; ++i) many += first;
  expect_part(with(many, "").error(), "more than 16 tokens");

  SmallFile roberta;
  roberta.post_processor = R"({"type": "RobertaProcessing", "sep": ["</s>", 4], "cls": ["x", 1]})";
  EXPECT_EQ(ids(roberta), (std::vector<Token>{1, 2, 4}));
  roberta.post_processor = R"({"type": "RobertaProcessing", "sep": ["</s>", 4], "cls": ["x", 9]})";
  expect_part(roberta.error(), "id 9 is outside");
  roberta.post_processor = R"({"type": "BertProcessing", "sep": ["</s>", 4]})";
  expect_part(roberta.error(), "post_processor.cls is not a token");
}

// What the config calls bos is a name; it begins a text only where the config says so.
TEST(TokenizerJson, NamesOfBosDoNotChangeWhatTheFilePutsAround) {
  SmallFile file;
  file.post_processor = kTemplate;
  const auto prompt = [&](std::string_view config) {
    return made(file.read(config))->encode_prompt("ab", SpecialParsing::off);
  };
  EXPECT_EQ(prompt(R"({"bos_token": "<t>"})"), (std::vector<Token>{3, 2}));
  EXPECT_EQ(file.read(R"({"bos_token": "<t>"})")->bos, 4);
  EXPECT_EQ(prompt(R"({"bos_token": null})"), (std::vector<Token>{3, 2}));
  EXPECT_EQ(file.read(R"({"bos_token": null})")->bos, std::nullopt);
  EXPECT_EQ(prompt(R"({"bos_token": "<t>", "add_bos_token": true})"), (std::vector<Token>{4, 2}));
  EXPECT_EQ(prompt(R"({"bos_token": null, "add_bos_token": true})"), std::vector<Token>{2});
}

// Cuts and flipped bytes give an error or a tokenizer, never more.
TEST(TokenizerJson, CutAndFlippedFiles) {
  SmallFile file;
  file.post_processor = kTemplate;
  const std::string whole = file.text();
  for_each_cut(
      whole, [](const std::string& cut) { EXPECT_FALSE(tokenizer_spec_from_json(cut, "", "x")); });
  for_each_flip(whole, {1}, [](const std::string& flipped) {
    auto spec = tokenizer_spec_from_json(flipped, "", "x");
    if (!spec) return;
    const auto tokenizer = Tokenizer::create(std::move(*spec));
    if (!tokenizer) return;
    EXPECT_LT(encoded(**tokenizer, "ab<s> a").size(), 20U);
  });
}

TEST(TokenizerJson, FolderWithoutAFileIsNotFound) {
  const auto spec = read_tokenizer_folder("/no/such/folder");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code(), Code::not_found);
}

}  // namespace
}  // namespace ruv
