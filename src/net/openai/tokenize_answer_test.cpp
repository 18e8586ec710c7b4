// /tokenize answers written piece by piece are the same text, whatever the pieces.
#include "net/openai/tokenize_answer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

class TokenizeAnswerTest : public ::testing::Test {
 protected:
  TokenizedText all_bytes() const {
    TokenizedText text;
    for (Token id = 0; id < 257; ++id) {
      text.log.ids.push(static_cast<uint64_t>(id));
      text.log.spans.push({static_cast<uint32_t>(id), static_cast<uint32_t>(id) + 1});
    }
    text.n_tokens = 257;
    return text;
  }
  // The answer as a tree.
  Json expected(const TokenizedText& encoded, const TokenizeFields& fields) const {
    Json answer = {{"count", encoded.n_tokens}, {"max_model_len", engine_.n_ctx()}};
    if (fields.ids) answer["tokens"] = Json::array();
    for (const Token id : fields.ids ? encoded.ids() : std::vector<Token>()) {
      const std::string bytes = text_.text_of(std::span(&id, 1), true).value_or(std::string());
      Json list = Json::array();
      for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
      const Json piece = is_valid_utf8(bytes) ? Json(bytes) : list;
      answer["tokens"].push_back(fields.pieces ? Json{{"id", id}, {"piece", piece}} : Json(id));
    }
    if (fields.names) answer["token_strs"] = Json::array();
    for (const Token id : fields.names ? encoded.ids() : std::vector<Token>())
      answer["token_strs"].push_back(to_valid_utf8(text_.token_name(id)));
    if (fields.spans) answer["spans"] = Json::array();
    for (SpanLog::Reader spans(encoded.log.spans); fields.spans && !spans.done();) {
      const TokenSpan span = spans.next();
      answer["spans"].push_back({span.begin, span.end});
    }
    return answer;
  }

  ByteText text_;
  ScriptedEngine engine_;
  OpenAiService service_ = make_service(make_server_parts(), engine_, text_, {"scripted"});
};

TEST_F(TokenizeAnswerTest, PiecesJoinToTheWhole) {
  for (int which = 0; which < 16; ++which) {
    const TokenizeFields fields{.ids = (which & 1) != 0,
                                .pieces = (which & 2) != 0,
                                .names = (which & 4) != 0,
                                .spans = (which & 8) != 0};
    const std::string whole = expected(all_bytes(), fields).dump();
    for (const size_t n_bytes : {1, 37, 1000, 1 << 20}) {
      TokenizeAnswer answer(service_, all_bytes(), fields);
      EXPECT_GE(answer.held_bytes(), size_t{257 * 2});
      std::string joined;
      for (std::string piece = answer.next(n_bytes); !piece.empty(); piece = answer.next(n_bytes)) {
        EXPECT_LE(piece.size(), n_bytes + 100);
        joined += piece;
      }
      EXPECT_TRUE(answer.done());
      EXPECT_EQ(joined, whole);
    }
  }
}

TEST_F(TokenizeAnswerTest, NoTokensAreAnEmptyList) {
  TokenizeAnswer answer(service_, {}, {.names = true, .spans = true});
  EXPECT_EQ(answer.next(1000),
            R"({"count":0,"max_model_len":200,"tokens":[],"token_strs":[],"spans":[]})");
}

}  // namespace
}  // namespace ruv
