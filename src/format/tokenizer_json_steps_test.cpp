// The steps around the model: what each becomes, and what is refused because our order of steps
// cannot say it.
#include "format/tokenizer_json_steps.h"

#include <gtest/gtest.h>

#include "text/split/schemes.h"

namespace ruv {
namespace {

struct Read {
  TokenizerSpec spec;
  PipelineForm form;
  std::string error;
};

Read read(const std::string& normalizer, const std::string& pre_tokenizer,
          const std::string& decoder = "null",
          TokenizerKind kind = TokenizerKind::sentencepiece_bpe) {
  const simdjson::padded_string text(
      fmt::format(R"({{"normalizer": {}, "pre_tokenizer": {}, "decoder": {}}})", normalizer,
                  pre_tokenizer, decoder));
  simdjson::dom::parser parser;
  const JsonElement root = parser.parse(text);
  const std::string source = "x";
  Read out;
  PipelineSteps steps(root, source, out.spec);
  const auto form = steps.read();
  out.spec.kind = kind;
  const Status decodes = form ? steps.check_decoder() : form.error();
  if (form) out.form = *form;
  if (!decodes.ok()) out.error = decodes.message();
  return out;
}

std::string sequence(const std::string& list, const std::string& steps) {
  return fmt::format(R"({{"type": "Sequence", "{}": [{}]}})", list, steps);
}
std::string pre(const std::string& steps) { return sequence("pretokenizers", steps); }
std::string norm(const std::string& steps) { return sequence("normalizers", steps); }

constexpr const char* kPrepend = R"({"type": "Prepend", "prepend": "▁"})";
constexpr const char* kReplace =
    R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
constexpr const char* kByteLevel =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";

TEST(PipelineSteps, Normalizers) {
  const auto kinds = [](const std::string& steps) {
    const Read read_steps = read(norm(steps), "null");
    EXPECT_EQ(read_steps.error, "");
    std::vector<NormalizerKind> out;
    for (const NormalizerStep& step : read_steps.spec.normalizers) out.push_back(step.kind);
    return out;
  };
  using enum NormalizerKind;
  EXPECT_EQ(kinds(R"({"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"})"),
            (std::vector<NormalizerKind>{nfc, nfd, nfkc, nfkd}));
  EXPECT_EQ(kinds(R"({"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Nmt"})"),
            (std::vector<NormalizerKind>{lowercase, strip_accents, nmt}));
  EXPECT_EQ(kinds(R"({"type": "Strip", "strip_left": false, "strip_right": true})"),
            std::vector<NormalizerKind>{strip_right});
  EXPECT_EQ(kinds(R"({"type": "BertNormalizer", "lowercase": false, "strip_accents": null})"),
            (std::vector<NormalizerKind>{clean_text, space_ideographs}));
  const Read replaced =
      read(norm(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
                   {"type": "Replace", "pattern": {"String": "``"}, "content": "\""})"),
           R"({"type": "Metaspace"})");
  ASSERT_EQ(replaced.spec.normalizers.size(), 2U);
  EXPECT_EQ(replaced.spec.normalizers[0].kind, replace_regex);
  EXPECT_EQ(replaced.spec.normalizers[0].pattern, " {2,}");
  EXPECT_EQ(replaced.spec.normalizers[1].kind, replace_text);
  EXPECT_EQ(replaced.spec.normalizers[1].content, "\"");
}

TEST(PipelineSteps, SplitsKeepTheirBehaviour) {
  const Read out = read("null", pre(R"(
      {"type": "Split", "pattern": {"String": "a.b"}, "behavior": "MergedWithNext"},
      {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Removed", "invert": true},
      {"type": "CharDelimiterSplit", "delimiter": "é"}, {"type": "Punctuation"},
      {"type": "Digits", "individual_digits": true}, {"type": "Whitespace"})"));
  EXPECT_EQ(out.error, "");
  const auto& splits = out.spec.splits;
  ASSERT_EQ(splits.size(), 7U);
  EXPECT_EQ(splits[0].regex, "a\\.b");
  EXPECT_EQ(splits[0].behavior, SplitBehavior::merged_with_next);
  EXPECT_EQ(splits[1].regex, "x+");
  EXPECT_TRUE(splits[1].invert);
  EXPECT_EQ(splits[2].regex, "é");
  EXPECT_EQ(splits[3].regex, patterns::kPunctuationSign);
  EXPECT_EQ(splits[4].regex, "\\p{N}");
  EXPECT_EQ(splits[5].regex, "\\s+");
  EXPECT_EQ(splits[6].regex, patterns::kWord);
  EXPECT_FALSE(out.form.byte_level || out.form.marks_spaces);
}

TEST(PipelineSteps, KnownListsHaveAName) {
  EXPECT_EQ(read("null", R"({"type": "ByteLevel", "add_prefix_space": false})").spec.pre, "gpt-2");
  EXPECT_EQ(read("null", pre(fmt::format(R"({{"type": "Digits", "individual_digits": true}},
                                            {{"type": "ByteLevel", "add_prefix_space": false}})")))
                .spec.pre,
            "starcoder");
  const Read unknown =
      read("null", pre(fmt::format(R"({{"type": "Split", "pattern": {{"Regex": "x+y"}},
                                       "behavior": "Isolated"}}, {})",
                                   kByteLevel)));
  EXPECT_EQ(unknown.spec.pre, "");
  EXPECT_EQ(unknown.spec.splits.size(), 1U);
}

TEST(PipelineSteps, SpaceMarks) {
  Read out = read(norm(fmt::format("{}, {}", kPrepend, kReplace)), "null");
  EXPECT_TRUE(out.form.marks_spaces && out.spec.add_space_prefix);
  EXPECT_FALSE(out.spec.prefix_if_missing);
  out = read("null", R"({"type": "Metaspace", "prepend_scheme": "first", "split": false})");
  EXPECT_TRUE(out.spec.prefix_first_only && out.spec.prefix_if_missing);
  EXPECT_FALSE(out.spec.split_at_spaces || out.spec.prefix_each_word);
  out = read("null", pre(R"({"type": "WhitespaceSplit"}, {"type": "Metaspace"})"));
  EXPECT_TRUE(out.spec.prefix_each_word && out.spec.split_at_spaces);
  out = read("null", R"({"type": "Metaspace", "prepend_scheme": "never"})");
  EXPECT_FALSE(out.spec.add_space_prefix);
  // Gemma: a split at spaces that are gone.
  out = read(kReplace, R"({"type": "Split", "pattern": {"String": " "},
                           "behavior": "MergedWithPrevious", "invert": false})");
  EXPECT_EQ(out.error, "");
  EXPECT_TRUE(out.spec.splits.empty() && !out.spec.add_space_prefix);
}

TEST(PipelineSteps, DecodersMustSayWhatTheKindImplies) {
  const std::string llama = norm(fmt::format("{}, {}", kPrepend, kReplace));
  const std::string pieces = R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                                {"type": "ByteFallback"}, {"type": "Fuse"})";
  const std::string strip = R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})";
  const auto decoders = [](const std::string& steps) { return sequence("decoders", steps); };
  EXPECT_EQ(read(llama, "null", decoders(pieces + strip)).error, "");
  EXPECT_EQ(read(kReplace, "null", decoders(pieces)).error, "");
  EXPECT_NE(read(llama, "null", decoders(pieces)).error.find("first space kept"),
            std::string::npos);
  EXPECT_NE(read(kReplace, "null", decoders(pieces + strip)).error.find("first space dropped"),
            std::string::npos);
  EXPECT_NE(read(llama, "null", R"({"type": "CTC"})").error.find("decoder: \"CTC\""),
            std::string::npos);
  EXPECT_NE(read("null", kByteLevel, R"({"type": "Fuse"})", TokenizerKind::byte_bpe)
                .error.find("decoder: \"Fuse\""),
            std::string::npos);
}

TEST(PipelineSteps, WhatCannotBeSaidIsRefusedByName) {
  const auto refused = [](const std::string& normalizer, const std::string& pre_tokenizer,
                          const std::string& says) {
    const std::string error = read(normalizer, pre_tokenizer).error;
    EXPECT_NE(error.find(says), std::string::npos) << error;
  };
  refused(R"({"type": "Other"})", "null", "normalizer: \"Other\"");
  refused(R"({"type": "ByteLevel"})", "null", "normalizer: \"ByteLevel\"");
  refused(R"({"type": "Replace"})", "null", "Replace without a pattern");
  refused(norm(fmt::format(R"({}, {{"type": "NFKC"}})", kReplace)), "null",
          "NFKC after spaces are replaced");
  refused(norm(fmt::format(R"({}, {{"type": "Strip"}}, {})", kPrepend, kReplace)), "null",
          "Strip after Prepend");
  refused(kPrepend, "null", "normalizer: \"Prepend\"");
  refused(R"({"type": "Precompiled", "precompiled_charsmap": "?"})", "null", "is not base64");
  refused("null", R"({"type": "UnicodeScripts"})", "pre_tokenizer: \"UnicodeScripts\"");
  refused("null", R"({"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Odd"})",
          "Split at x");
  refused("null", R"({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated"})",
          "a split at nothing");
  refused("null", pre(R"({"type": "Metaspace"}, {"type": "Punctuation"})"),
          "Punctuation after Metaspace");
  refused("null", pre(fmt::format(R"({}, {{"type": "Punctuation"}})", kByteLevel)),
          "Punctuation after ByteLevel");
  refused("null",
          pre(fmt::format(R"({}, {{"type": "Split", "pattern": {{"Regex": "\\p{{N}}"}},
                                         "behavior": "Isolated"}})",
                          kByteLevel)),
          "after ByteLevel");
  refused("null", pre(R"({"type": "WhitespaceSplit"}, {"type": "ByteLevel"})"),
          "add_prefix_space after another step");
  refused("null", R"({"type": "Metaspace", "replacement": "_"})", "another replacement");
}

}  // namespace
}  // namespace ruv
