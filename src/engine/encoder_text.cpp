#include "engine/encoder_text.h"

#include <algorithm>

namespace ruv {

Status check_encoder_text(const Model& model, std::span<const Token> ids, int64_t second_text,
                          std::string_view what) {
  if (second_text < 0 || second_text > std::ssize(ids)) {
    return fail(Code::invalid, "{}: a second text from {} on, of {} tokens", what, second_text,
                ids.size());
  }
  if (second_text > 0 && model.token_types.n_out < 2) {
    return fail(Code::unsupported, "{}: the model has no token type for a second text", what);
  }
  const auto found = std::ranges::find(ids, model.h.unplaced_token);
  if (found == ids.end()) return {};
  return fail(Code::invalid, "{}: token {} at {} is padding, which has no position", what, *found,
              found - ids.begin());
}

}  // namespace ruv
