// What an encoder asks of its texts, besides that their ids are in range.
#pragma once

#include <span>
#include <string_view>

#include "model/model.h"
#include "ruv/token.h"

namespace ruv {

// `second_text`: where a pair's second text begins; 0: there is none. `what`: begins the errors.
// Fails: invalid (a padding token, which has no position), unsupported (a pair, and the model tells
// no two texts apart). Ok for models that are no encoders and have no token types, without a pair.
Status check_encoder_text(const Model& model, std::span<const Token> ids, int64_t second_text,
                          std::string_view what);

}  // namespace ruv
