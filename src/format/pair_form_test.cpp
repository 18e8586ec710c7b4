// How tokenizers join two texts.
#include "format/pair_form.h"

#include <gtest/gtest.h>

#include "format/test_folder.h"

namespace ruv {
namespace {

class PairFormTest : public testing::Test {
 protected:
  PairFormTest() {
    spec_.kind = TokenizerKind::wordpiece;
    spec_.add_bos = spec_.add_eos = true;
    spec_.bos = 2;
    spec_.eos = 3;
  }
  Result<PairForm> read(std::string_view post_processor) const {
    folder_.write(
        "tokenizer.json",
        fmt::format(R"({{"model": {{"vocab": {{}}}}, "post_processor": {}}})", post_processor));
    return read_pair_form(folder_.path(), spec_);
  }
  static std::string with_pair(std::string_view pair) {
    return fmt::format(R"({{"type": "TemplateProcessing", "single": [], "pair": [{}],
        "special_tokens": {{"C": {{"id": "C", "ids": [2]}}, "S": {{"id": "S", "ids": [3]}}}}}})",
                       pair);
  }
  std::string error(std::string_view post_processor) const {
    const auto form = read(post_processor);
    return form ? "" : form.error().message();
  }

  TestFolder folder_;
  TokenizerSpec spec_;
};

constexpr std::string_view kBert =
    R"({"SpecialToken": {"id": "C", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
       {"SpecialToken": {"id": "S", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
       {"SpecialToken": {"id": "S", "type_id": 1}})";

// Nothing is put between texts that nothing is put around.
TEST_F(PairFormTest, TextsWithoutSpecialTokensFollowEachOther) {
  const TokenizerSpec bare;
  for (const char* json : {R"({"post_processor": {"type": "ByteLevel"}})", R"({"model": {}})",
                           R"({"post_processor": {"type": "Sequence", "processors": []}})"}) {
    folder_.write("tokenizer.json", json);
    const auto form = read_pair_form(folder_.path(), bare);
    ASSERT_TRUE(form) << form.error().message();
    EXPECT_TRUE(form->middle.empty() && !form->has_types);
    EXPECT_FALSE(read_pair_form(folder_.path(), spec_));
  }
}

TEST_F(PairFormTest, FormsThatFilesState) {
  const PairForm bert = *read(with_pair(kBert));
  EXPECT_EQ(bert.middle, std::vector<Token>{3});
  EXPECT_TRUE(bert.has_types);
  const PairForm nested = *read(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "RobertaProcessing", "sep": ["</s>", 3], "cls": ["<s>", 2]}]})");
  EXPECT_EQ(nested.middle, (std::vector<Token>{3, 3}));
  EXPECT_FALSE(nested.has_types);
  const PairForm old = *read(R"({"type": "BertProcessing", "sep": ["S", 3], "cls": ["C", 2]})");
  EXPECT_EQ(old.middle, std::vector<Token>{3});
  EXPECT_TRUE(old.has_types);
}

TEST_F(PairFormTest, WithoutAFileTheKindDecides) {
  const PairForm bert = *read_pair_form(folder_.path(), spec_);
  EXPECT_EQ(bert.middle, std::vector<Token>{3});
  EXPECT_TRUE(bert.has_types);
  spec_.kind = TokenizerKind::unigram;
  EXPECT_EQ(usual_pair_form(spec_).middle, (std::vector<Token>{3, 3}));
  EXPECT_FALSE(usual_pair_form(spec_).has_types);
}

TEST_F(PairFormTest, OtherFormsAreRefused) {
  EXPECT_NE(error("null").find("no post_processor"), std::string::npos);
  EXPECT_NE(error(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, 1]})")
                .find("no step joins two texts"),
            std::string::npos);
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})";
  const std::string b = R"({"Sequence": {"id": "B", "type_id": 1}})";
  for (const std::string& pair : {std::string(), a, a + "," + b, b + "," + a, a + "," + b + "," + a,
                                  std::string("1"), std::string(R"({"Sequence": 1})"),
                                  std::string(R"({"SpecialToken": {"id": "X", "type_id": 0}})"),
                                  std::string(R"({"SpecialToken": {"id": 5, "type_id": -1}})")}) {
    EXPECT_NE(error(with_pair(pair)).find("pairs of this form are not supported"),
              std::string::npos)
        << pair;
  }
  for (const char* other :
       {R"({"type": "BertProcessing"})", R"({"type": "RobertaProcessing", "sep": [3, 3, 3]})",
        R"({"type": "TemplateProcessing", "pair": {}})", R"({"type": 1})"}) {
    EXPECT_FALSE(error(other).empty()) << other;
  }
}

}  // namespace
}  // namespace ruv
