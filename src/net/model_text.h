// ModelText: what routes need from a model besides the engine, namely text to ids and back. Tests
// of the HTTP layer use a small alphabet instead of a model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/answer_format.h"
#include "ruv/conversation.h"
#include "ruv/embed.h"
#include "ruv/model.h"
#include "ruv/prompts.h"
#include "ruv/rank.h"
#include "text/token_sink.h"

namespace ruv {

struct EncodeOptions {
  bool add_special = true;    // bos and eos where the model wants them
  bool parse_special = true;  // control tokens written out in the text become their ids
  bool count_only = false;    // no ids and no spans
  bool with_spans = false;
};

// The result of encode.
struct TokenizedText {
  int64_t n_tokens = 0;
  TokenLog log = {};  // spans are bytes of the text; those of bos and eos are empty

  std::vector<Token> ids() const;
};

class ModelText {
 public:
  virtual ~ModelText() = default;
  // All functions may be called from several threads at once, and fail as the functions of
  // ruv/model.h.

  virtual Result<TokenizedText> encode(std::string_view text,
                                       const EncodeOptions& options) const = 0;
  // Contents are never parsed for control tokens.
  virtual Result<ChatPrompt> chat_prompt(const Conversation& conversation) const = 0;
  // The text of such a prompt.
  virtual Result<std::string> chat_text(const Conversation& conversation) const = 0;
  // The bytes of ids; they may end inside a character.
  virtual Result<std::string> text_of(std::span<const Token> ids, bool with_special) const = 0;
  // Such bytes as text, with U+FFFD for bytes that form no character.
  virtual std::string valid_text(std::string_view bytes) const = 0;
  // The vocabulary's name of a token. Requires: an id of the vocabulary.
  virtual std::string token_name(Token id) const = 0;
  virtual const ModelInfo& info() const = 0;
  // How the model makes vectors of texts, the ids of such a text, and what follows pooling. Fail:
  // as the functions of ruv/embed.h.
  virtual const Result<EmbedInfo>& embed_info() const = 0;
  virtual Result<std::vector<Token>> embed_ids(std::string_view text,
                                               const EmbedPrompt& prompt) const = 0;
  virtual Embedding finish_embedding(std::span<const float> states,
                                     const EmbedParams& params) const = 0;
  // Scores of pairs of texts. Fail: as the functions of ruv/rank.h.
  virtual Status can_rank() const = 0;
  virtual Result<PairTexts> pair_ids(std::span<const TextPair> pairs, PairKind kind,
                                     int64_t max_tokens) const = 0;
  virtual std::vector<double> pair_scores(const PairTexts& texts,
                                          std::span<const Embedding> vectors) const = 0;
  // How the model writes reasoning and calls. A model without a chat template has neither.
  virtual const AnswerFormat& format() const = 0;
};

// The implementation for a loaded model.
std::unique_ptr<ModelText> text_of_model(std::shared_ptr<const Model> model);

}  // namespace ruv
