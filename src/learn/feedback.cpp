#include "learn/feedback.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/token_ids.h"
#include "chat/read_conversation.h"
#include "ruv/model.h"
#include "text/tokenizer.h"

namespace ruv {
namespace {

// Bytes of a task's name.
constexpr size_t kMostTask = 256;

FieldResult<std::string> text_field(const Json& object, std::string_view name) {
  const Json* const value = find_field(object, name);
  if (value == nullptr) return missing_field(std::string(name));
  if (!value->is_string()) return wrong_type(std::string(name), "a string", *value);
  return value->get<std::string>();
}

// Whole numbers from 0 to `most`.
FieldResult<std::vector<int32_t>> id_list(const Json& object, std::string_view name, int64_t most) {
  const Json* const value = find_field(object, name);
  if (value == nullptr) return missing_field(std::string(name));
  if (!value->is_array()) return wrong_type(std::string(name), "a list", *value);
  std::vector<int32_t> ids;
  ids.reserve(value->size());
  for (const Json& item : *value) {
    const std::string place = fmt::format("{}[{}]", name, ids.size());
    ids.push_back(static_cast<int32_t>(TRY(integer_within(place, item, {0, most}))));
  }
  return ids;
}

// Numbers outside the range are refused and not cut: a scale of 1 to 5 is another question.
FieldResult<std::optional<double>> rating_field(const Json& object) {
  const Json* const value = find_field(object, "rating");
  if (value == nullptr) return std::optional<double>();
  if (!value->is_number()) return wrong_type("rating", "a number", *value);
  const auto rating = value->get<double>();
  if (rating >= -1 && rating <= 1) return std::optional(rating);
  return invalid_field("rating", "'rating' must lie between -1 and 1");
}

// The members that go with those that are there.
std::vector<std::string_view> known_members(const Json& object) {
  if (find_field(object, "ids") != nullptr) return {"ids", "score", "rating", "task"};
  std::vector<std::string_view> known = {"task"};
  if (find_field(object, "messages") != nullptr) {
    known.insert(known.end(), {"messages", "tools", "chat_template_kwargs"});
  } else {
    known.push_back("prompt");
  }
  if (find_field(object, "correction") != nullptr) {
    known.push_back("correction");
  } else {
    known.insert(known.end(), {"answer", "rating"});
  }
  return known;
}

// What ends an answer: a turn of a conversation, or a text.
void add_end_token(const Model& model, bool of_turn, std::vector<int32_t>& ids) {
  const TokenizerSpec& spec = model.tokenizer->spec();
  if (of_turn && !spec.end_of_turn.empty()) return ids.push_back(spec.end_of_turn.front());
  if (spec.eos) ids.push_back(*spec.eos);
}

}  // namespace

FieldResult<AdaptFeedback> read_feedback(const Json& object,
                                         std::span<const std::string_view> others) {
  const std::vector<std::string_view> known = known_members(object);
  for (const auto& [key, value] : object.items()) {
    if (!value.is_null() && std::ranges::find(known, key) == known.end() &&
        std::ranges::find(others, key) == others.end()) {
      return invalid_field(std::string(key),
                           fmt::format("'{}' does not go with the other members: a judgement has "
                                       "'messages' or 'prompt', and 'correction' or 'answer' with "
                                       "'rating'; or 'ids' with 'score'",
                                       key),
                           FieldError::Kind::unknown);
    }
  }
  AdaptFeedback feedback;
  if (find_field(object, "task") != nullptr) feedback.task = TRY(text_field(object, "task"));
  feedback.rating = TRY(rating_field(object));
  if (find_field(object, "ids") != nullptr) {
    feedback.ids = TRY(id_list(object, "ids", INT32_MAX));
    const std::vector<int32_t> marks = TRY(id_list(object, "score", 1));
    feedback.judged.assign(marks.begin(), marks.end());
    return feedback;
  }
  if (find_field(object, "messages") != nullptr) {
    feedback.conversation = TRY(read_conversation(object));
  } else {
    feedback.prompt = TRY(text_field(object, "prompt"));
  }
  if (find_field(object, "correction") != nullptr) {
    feedback.answer = TRY(text_field(object, "correction"));
    return feedback;
  }
  feedback.answer = TRY(text_field(object, "answer"));
  if (!feedback.rating) return missing_field("rating");
  return feedback;
}

// Encoded as answers are: the user's text has no control tokens.
Result<Judgement> judgement_of(const Model& model, const AdaptFeedback& feedback) {
  if (feedback.rating && !(*feedback.rating >= -1 && *feedback.rating <= 1)) {
    return fail(Code::invalid, "feedback: a rating of {}, outside -1 to 1", *feedback.rating);
  }
  if (feedback.task.size() > kMostTask) {
    return fail(Code::invalid, "feedback: a task has a name of at most {} bytes, not {}", kMostTask,
                feedback.task.size());
  }
  Judgement judgement{.rating = feedback.rating, .task = feedback.task};
  JudgedText& text = judgement.text;
  if (!feedback.ids.empty()) {
    text.tokens = feedback.ids;
    text.weights.assign(feedback.judged.begin(), feedback.judged.end());
  } else {
    if (!model.tokenizer) return fail(Code::unsupported, "the model has no tokenizer: give ids");
    const bool is_chat = feedback.conversation.has_value();
    text.tokens = is_chat ? TRY(tokenize_chat(model, *feedback.conversation))
                          : TRY(tokenize(model, feedback.prompt));
    text.weights.assign(text.tokens.size(), 0);
    model.tokenizer->encode(feedback.answer, SpecialParsing::off, true, text.tokens);
    add_end_token(model, is_chat, text.tokens);
    text.weights.resize(text.tokens.size(), 1);
  }
  if (text.weights.size() != text.tokens.size()) {
    return fail(Code::invalid, "feedback: {} ids and {} marks", text.tokens.size(),
                text.weights.size());
  }
  if (text.n_judged() == 0 || text.weights[0] != 0) {
    return fail(Code::invalid,
                "feedback: no token is judged, or the first one, which nothing is before");
  }
  return judgement;
}

// Ids and not texts: what was learned does not change with a tokenizer or a template.
Json judgement_json(const Judgement& judgement) {
  Json json = Json::object();
  json["ids"] = judgement.text.tokens;
  Json marks = Json::array();
  for (const float w : judgement.text.weights) marks.push_back(w != 0 ? 1 : 0);
  json["score"] = std::move(marks);
  if (judgement.rating) json["rating"] = *judgement.rating;
  if (!judgement.task.empty()) json["task"] = judgement.task;
  return json;
}

// Ids beyond the vocabulary cannot be here: the journal's first line names the model.
Result<Judgement> parse_judgement(const Json& json, const std::string& source) {
  if (!json.is_object()) return fail(Code::corrupt, "{}: feedback is not an object", source);
  const FieldResult<AdaptFeedback> read = read_feedback(json);
  if (!read) return fail(Code::corrupt, "{}: feedback: {}", source, read.error().message);
  if (read->ids.empty() || read->ids.size() != read->judged.size()) {
    return fail(Code::corrupt, "{}: feedback without ids or marks", source);
  }
  Judgement judgement{.rating = read->rating, .task = read->task};
  judgement.text.tokens = read->ids;
  judgement.text.weights.assign(read->judged.begin(), read->judged.end());
  return judgement;
}

}  // namespace ruv
