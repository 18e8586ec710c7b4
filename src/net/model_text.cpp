#include "net/model_text.h"

#include "base/once.h"
#include "model/model.h"

namespace ruv {
namespace {

class LoadedModelText final : public ModelText {
 public:
  explicit LoadedModelText(std::shared_ptr<const Model> model)
      : model_(std::move(model)),
        info_(model_info(*model_)),
        embed_info_(shown(ruv::embed_info(*model_))),
        prompts_(model_) {}

  Result<TokenizedText> encode(std::string_view text, const EncodeOptions& options) const override {
    const Tokenizer& tokenizer = *TRY(usable_tokenizer());
    const TokenizerSpec& spec = tokenizer.spec();
    TokenizedText out;
    TokenSink sink =
        options.count_only ? TokenSink(nullptr) : TokenSink(out.log, options.with_spans);
    const auto push_special = [&](std::span<const Token> ids) {
      if (!options.add_special) return;
      for (const Token id : ids) sink.push(id, 0);
    };
    push_special(spec.first_tokens());
    const TextPart part{text, options.parse_special ? SpecialParsing::on : SpecialParsing::off};
    tokenizer.encode_parts({&part, 1}, false, sink);
    push_special(spec.last_tokens());
    out.n_tokens = static_cast<int64_t>(sink.n_tokens());
    return out;
  }

  Result<ChatPrompt> chat_prompt(const Conversation& conversation) const override {
    TRY(usable_tokenizer());
    return prompts_.encode(conversation);
  }

  Result<std::string> chat_text(const Conversation& conversation) const override {
    return ruv::chat_text(*model_, conversation);
  }
  Result<std::string> text_of(std::span<const Token> ids, bool with_special) const override {
    return detokenize(*model_, ids, with_special);
  }
  std::string valid_text(std::string_view bytes) const override {
    return model_->tokenizer->valid_text(bytes);
  }
  std::string token_name(Token id) const override {
    return model_->tokenizer->spec().tokens[static_cast<size_t>(id)];
  }
  const Result<EmbedInfo>& embed_info() const override { return embed_info_; }
  Result<std::vector<Token>> embed_ids(std::string_view text,
                                       const EmbedPrompt& prompt) const override {
    TRY(usable_tokenizer());
    return tokenize_embedding(*model_, text, prompt);
  }
  Embedding finish_embedding(std::span<const float> states,
                             const EmbedParams& params) const override {
    return ruv::finish_embedding(*model_, states, params);
  }
  Status can_rank() const override {
    Status status = ruv::can_rank(*model_);
    if (status.message().find(model_->file->path()) == std::string::npos) return status;
    return fail(Code::unsupported,
                "texts cannot be ranked with this model; 'ruvllm rerank' says why");
  }
  Result<PairTexts> pair_ids(std::span<const TextPair> pairs, PairKind kind,
                             int64_t max_tokens) const override {
    TRY(usable_tokenizer());
    return tokenize_pairs(*model_, pairs, kind, max_tokens);
  }
  std::vector<double> pair_scores(const PairTexts& texts,
                                  std::span<const Embedding> vectors) const override {
    return ruv::pair_scores(*model_, texts, vectors);
  }
  const ModelInfo& info() const override { return info_; }
  const AnswerFormat& format() const override {
    asked_format_.run([this] {
      if (model_->chat_template == nullptr) return;
      format_ = answer_format(*model_->chat_template, model_->tokenizer.get());
    });
    return format_;
  }

 private:
  // Reasons name the model's files, which are nothing to tell over HTTP.
  static Result<EmbedInfo> shown(Result<EmbedInfo> info) {
    if (info) return info;
    return fail(Code::unsupported,
                "vectors of this model are not supported; 'ruvllm info' says why");
  }
  Result<const Tokenizer*> usable_tokenizer() const {
    if (model_->tokenizer != nullptr) return model_->tokenizer.get();
    return fail(Code::unsupported, "the model has no usable tokenizer; 'ruvllm info' says why");
  }

  std::shared_ptr<const Model> model_;
  ModelInfo info_;
  Result<EmbedInfo> embed_info_;
  mutable PromptEncoder prompts_;
  mutable Once asked_format_;
  mutable AnswerFormat format_;
};

}  // namespace

std::vector<Token> TokenizedText::ids() const {
  std::vector<Token> ids;
  ids.reserve(static_cast<size_t>(n_tokens));
  for (NumberLog::Reader numbers(log.ids); !numbers.done();) {
    ids.push_back(static_cast<Token>(numbers.next()));
  }
  return ids;
}

// The model is kept as long as the text is used.
std::unique_ptr<ModelText> text_of_model(std::shared_ptr<const Model> model) {
  return std::make_unique<LoadedModelText>(std::move(model));
}

}  // namespace ruv
