#include "net/model_text.h"

namespace ruv {
namespace {

class LoadedModelText final : public ModelText {
 public:
  explicit LoadedModelText(std::shared_ptr<const Model> model)
      : model_(std::move(model)), info_(model_info(*model_)) {}

  Result<std::vector<Token>> prompt_ids(std::string_view text) const override {
    return tokenize(*model_, text, true);
  }
  Result<std::vector<Token>> chat_ids(std::string_view json) const override {
    return tokenize_chat(*model_, json, true);
  }
  Result<std::string> text_of(std::span<const Token> ids) const override {
    return detokenize(*model_, ids, true);
  }
  const ModelInfo& info() const override { return info_; }

 private:
  std::shared_ptr<const Model> model_;
  ModelInfo info_;
};

}  // namespace

std::unique_ptr<ModelText> text_of_model(std::shared_ptr<const Model> model) {
  return std::make_unique<LoadedModelText>(std::move(model));
}

}  // namespace ruv
