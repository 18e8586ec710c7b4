// AdaptFeedback: what a user said of an answer, and its form in JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "learn/online_step.h"
#include "ruv/conversation.h"

namespace ruv {

// One of three: an answer to a conversation, an answer to a prompt, or ids with marks.
struct AdaptFeedback {
  std::optional<Conversation> conversation = {};
  std::string prompt = {};
  std::string answer = {};            // that is judged; a correction: what was wanted
  std::vector<int32_t> ids = {};      // in place of texts
  std::vector<uint8_t> judged = {};   // by id
  std::optional<double> rating = {};  // of the answer, in [-1, 1]; nothing: it is a correction
  std::string task = {};              // up to 256 bytes; another one than before ends that
};

// {"messages", with "tools" and "chat_template_kwargs" | "prompt" | "ids", "score"}, and but for
// ids
// {"correction"} or {"answer", "rating"}; ids may have a "rating". "task" may be in all. Members
// that `others` names are not looked at. Fails: naming the member.
FieldResult<AdaptFeedback> read_feedback(const Json& object,
                                         std::span<const std::string_view> others = {});

// Its tokens: of an answer, those of the answer and the one that ends it are judged. Fails: invalid
// (a rating outside [-1, 1], ids and marks that do not fit each other, nothing is judged), as
// tokenize and tokenize_chat.
Result<Judgement> judgement_of(const Model& model, const AdaptFeedback& feedback);

// As the journal has it: {"ids", "score", "rating", "task"}.
Json judgement_json(const Judgement& judgement);
// Fails: corrupt.
Result<Judgement> parse_judgement(const Json& json, const std::string& source);

}  // namespace ruv
