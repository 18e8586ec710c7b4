// ModelText: what routes need of a model besides the engine, namely text into ids and back. Tests
// of the HTTP layer give a small alphabet instead of a model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ruv/model.h"

namespace ruv {

class ModelText {
 public:
  virtual ~ModelText() = default;
  // All may be called from several threads at once, and fail as the functions of ruv/model.h.

  // Control tokens written out in `text` become their ids: a raw prompt is written by a program.
  virtual Result<std::vector<Token>> prompt_ids(std::string_view text) const = 0;
  // `json`: {"messages": […]}. Contents are never parsed for control tokens.
  virtual Result<std::vector<Token>> chat_ids(std::string_view json) const = 0;
  // Control tokens included. Bytes may end inside a character.
  virtual Result<std::string> text_of(std::span<const Token> ids) const = 0;
  virtual const ModelInfo& info() const = 0;
};

std::unique_ptr<ModelText> text_of_model(std::shared_ptr<const Model> model);

}  // namespace ruv
