// PairPrompt: what a decoder reads that scores a pair of texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "ruv/rank.h"

namespace ruv {

struct PairPrompt {
  // Renders messages of the roles "query" and "document", after a system message with the
  // instruction where there is one. Null: the text below is used.
  std::shared_ptr<const ChatTemplate> chat_template;
  bool lists_parts = false;      // contents of messages are lists of parts, in place of texts
  std::string instruction = {};  // empty: there is no system message

  std::string text = {};  // the texts replace "{query}" and "{document}", each of which occurs once
};

// How the model's files say that pairs are written; nothing where they do not. Fails: not_found,
// corrupt, unsupported (no template of a pair that shows both texts).
Result<std::shared_ptr<const PairPrompt>> read_pair_prompt(const Model& model);

// The prompt of a pair; only the prompt's own text can become control tokens. Fails: as
// ChatTemplate::render.
Result<std::vector<RenderedPart>> write_pair(const PairPrompt& prompt, const RenderOptions& options,
                                             const TextPair& pair);

}  // namespace ruv
