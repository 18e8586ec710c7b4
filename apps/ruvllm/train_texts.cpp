#include "train_texts.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/read_conversation.h"
#include "json_lines.h"

namespace ruv {
namespace {

// A member that is not read would change what the user meant.
Status check_members(const Json& line, const std::vector<std::string_view>& known) {
  for (const auto& [key, value] : line.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return fail(Code::invalid, "\"{}\" is not a member of such a line", key);
  }
  return {};
}

// What ends an answer: a conversation has a turn's end, other texts the end of all.
void add_end(const Model& model, bool of_turn, std::vector<Token>& ids) {
  const TokenizerSpec& spec = model.tokenizer->spec();
  if (of_turn && !spec.end_of_turn.empty()) return ids.push_back(spec.end_of_turn.front());
  if (spec.eos) ids.push_back(*spec.eos);
}

// Fails: invalid, naming the place: not a number from 0 to 1.
Result<float> weight_of(const Json& json, std::string_view place) {
  const double weight = json.is_number() ? json.get<double>() : -1;
  if (weight >= 0 && weight <= 1) return static_cast<float>(weight);
  return fail(Code::invalid, "{}: {} is not a number from 0 to 1", place, json.dump());
}

Result<TrainSequence> scored_ids(const Model& model, const Json& line) {
  TRY(check_members(line, {"ids", "score"}));
  TrainSequence sequence{TRY(ids_member(line, "ids", model_info(model).n_vocab))};
  const Json* const scores = line.find("score");
  if (scores == nullptr) return sequence;
  if (!scores->is_array()) return fail(Code::invalid, "\"score\" must be a list of numbers");
  if (scores->size() != sequence.tokens.size()) {
    return fail(Code::invalid, "\"score\" has {} entries for {} ids", scores->size(),
                sequence.tokens.size());
  }
  for (size_t i = 0; i < scores->size(); ++i) {
    sequence.weights.push_back(TRY(weight_of((*scores)[i], fmt::format("\"score\"[{}]", i))));
  }
  return sequence;
}

Result<TrainSequence> whole_text(const Model& model, const Json& line) {
  TRY(check_members(line, {"text"}));
  TrainSequence sequence{TRY(tokenize(model, TRY(text_member(line, "text"))))};
  add_end(model, false, sequence.tokens);
  return sequence;
}

Result<Conversation> conversation_of(const Json& line) {
  auto conversation = read_conversation(line);
  if (!conversation) return tl::unexpected<Status>(status_of(conversation.error()));
  return *conversation;
}

// `own`: the members of the line beside its prompt.
Result<std::vector<Token>> ids_of_prompt(const Model& model, const Json& line,
                                         std::vector<std::string_view> own) {
  if (line.contains("messages")) {
    own.insert(own.end(), {"messages", "tools", "chat_template_kwargs"});
    TRY(check_members(line, own));
    return tokenize_chat(model, TRY(conversation_of(line)));
  }
  const bool has_ids = line.contains("ids");
  own.emplace_back(has_ids ? "ids" : "prompt");
  TRY(check_members(line, own));
  if (has_ids) return ids_member(line, "ids", model_info(model).n_vocab);
  return tokenize(model, TRY(text_member(line, "prompt")));
}

// Tokens of the prompt count as much as the rules say, those of the answer 1.
Result<TrainSequence> answered_prompt(const Model& model, const Json& line,
                                      const TextRules& rules) {
  TrainSequence sequence{TRY(ids_of_prompt(model, line, {"answer"}))};
  sequence.weights.assign(sequence.tokens.size(), rules.prompt_weight);
  const std::string answer = TRY(text_member(line, "answer"));
  model.tokenizer->encode(answer, SpecialParsing::off, true, sequence.tokens);
  add_end(model, line.contains("messages"), sequence.tokens);
  sequence.weights.resize(sequence.tokens.size(), 1);
  return sequence;
}

// Takes "weight" out of each message of the assistant: how much its tokens count. Others have none.
Result<std::vector<float>> take_turn_weights(Json& line) {
  std::vector<float> weights;
  Json* const messages = line.find("messages");
  if (messages == nullptr || !messages->is_array()) return weights;
  for (size_t i = 0; i < messages->size(); ++i) {
    Json& message = (*messages)[i];
    const bool is_object = message.is_object();
    const Json* const role = is_object ? message.find("role") : nullptr;
    const bool answers = role != nullptr && role->is_string() && role->text() == "assistant";
    const Json* const given = is_object ? message.find("weight") : nullptr;
    const std::string place = fmt::format("messages[{}].weight", i);
    if (given != nullptr && !answers) {
      return fail(Code::invalid, "{}: only an assistant's message has one", place);
    }
    weights.push_back(given != nullptr ? TRY(weight_of(*given, place)) : answers ? 1.0F : 0.0F);
    if (given != nullptr) message.erase("weight");
  }
  return weights;
}

// Whether `text` begins with `part`.
bool begins_with(std::span<const Token> text, std::span<const Token> part) {
  return part.size() <= text.size() && std::ranges::equal(text.first(part.size()), part);
}

// Where an answer ends in a conversation's ids: after the token that ends its turn, if there is
// one, since what the template writes after it is never generated.
size_t end_of_answer(const Model& model, std::span<const Token> ids, size_t begin) {
  const TokenizerSpec& spec = model.tokenizer->spec();
  for (size_t i = ids.size(); i > begin; --i) {
    const bool ends_turn =
        std::ranges::find(spec.end_of_turn, ids[i - 1]) != spec.end_of_turn.end();
    if (ends_turn || spec.eos == ids[i - 1]) return i;
  }
  return ids.size();
}

// An answer of a conversation lies between the prompt that asks for it and the conversation that it
// closes. Both must be beginnings of the whole, token for token: else the model would learn an
// answer to another prompt than it is asked.
Result<TrainSequence> all_answers(const Model& model, Json line, const TextRules& rules) {
  TRY(check_members(line, {"messages", "tools", "chat_template_kwargs"}));
  const std::vector<float> weights = TRY(take_turn_weights(line));
  Conversation whole = TRY(conversation_of(line));
  const std::vector<Message> messages = whole.messages;
  if (messages.empty() || messages.back().role != "assistant") {
    return fail(Code::invalid, "without \"answer\" the last message must be an assistant's");
  }
  whole.end = PromptEnd::closed;
  TrainSequence sequence{TRY(tokenize_chat(model, whole))};
  sequence.weights.assign(sequence.tokens.size(), rules.prompt_weight);
  const std::span<const Token> ids = sequence.tokens;
  size_t end = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const auto at = messages.begin() + static_cast<ptrdiff_t>(i);
    whole.messages.assign(messages.begin(), at);
    whole.end = PromptEnd::answer;
    const std::vector<Token> prompt = TRY(tokenize_chat(model, whole));
    whole.messages.push_back(*at);
    whole.end = PromptEnd::closed;
    const std::vector<Token> closed = TRY(tokenize_chat(model, whole));
    if (!begins_with(ids, prompt) || !begins_with(ids, closed) || closed.size() < prompt.size()) {
      return fail(Code::unsupported,
                  "messages[{}]: the template shows the conversation up to here in another way "
                  "than within the whole; give its answers as lines of their own",
                  i);
    }
    end = end_of_answer(model, closed, prompt.size());
    std::fill(sequence.weights.begin() + std::ssize(prompt),
              sequence.weights.begin() + static_cast<ptrdiff_t>(end), weights[i]);
  }
  sequence.tokens.resize(end);
  sequence.weights.resize(end);
  return sequence;
}

Result<TrainSequence> sequence_of(const Model& model, const Json& line, const TextRules& rules) {
  if (line.contains("ids")) return scored_ids(model, line);
  if (!model.tokenizer) return fail(Code::unsupported, "the model has no tokenizer: give ids");
  if (line.contains("text")) return whole_text(model, line);
  if (line.contains("messages") && !line.contains("answer")) return all_answers(model, line, rules);
  if (line.contains("prompt") || line.contains("messages")) {
    return answered_prompt(model, line, rules);
  }
  return fail(Code::invalid, "a line has \"text\", \"prompt\", \"messages\" or \"ids\"");
}

// Fails: invalid, naming the place: not a list of ids.
Result<std::vector<Token>> listed_ids(const Model& model, const Json& list, const char* place) {
  Json line = Json::object();
  line[place] = list;
  return ids_member(line, place, model_info(model).n_vocab);
}

// A text of its own, or ids.
Result<TrainSequence> text_or_ids(const Model& model, const Json& value, const char* place) {
  if (value.is_array()) return TrainSequence{TRY(listed_ids(model, value, place))};
  if (!value.is_string()) return fail(Code::invalid, "\"{}\" must be a text or ids", place);
  return TrainSequence{TRY(tokenize(model, value.get<std::string>()))};
}

// A prompt and an answer to it: a text, or ids.
struct LinePrompt {
  std::vector<Token> ids;
  bool is_chat = false;
};
Result<TrainSequence> answer_to(const Model& model, const LinePrompt& prompt, const Json& value,
                                const char* place, const TextRules& rules) {
  TrainSequence sequence{prompt.ids};
  sequence.weights.assign(prompt.ids.size(), rules.prompt_weight);
  if (value.is_array()) {
    const std::vector<Token> ids = TRY(listed_ids(model, value, place));
    sequence.tokens.insert(sequence.tokens.end(), ids.begin(), ids.end());
  } else {
    if (!value.is_string()) return fail(Code::invalid, "\"{}\" must be a text or ids", place);
    if (!model.tokenizer) return fail(Code::unsupported, "the model has no tokenizer: give ids");
    model.tokenizer->encode(value.get<std::string>(), SpecialParsing::off, true, sequence.tokens);
    add_end(model, prompt.is_chat, sequence.tokens);
  }
  sequence.weights.resize(sequence.tokens.size(), 1);
  return sequence;
}

Result<TrainExample> pair_of(const Model& model, const Json& line, const TextRules& rules) {
  const LinePrompt prompt{TRY(ids_of_prompt(model, line, {"chosen", "rejected"})),
                          line.contains("messages")};
  TrainExample pair;
  for (const char* const name : {"chosen", "rejected"}) {
    pair.sequences.push_back(TRY(answer_to(model, prompt, line[name], name, rules)));
  }
  return pair;
}

Result<TrainExample> answers_of(const Model& model, const Json& line, const TextRules& rules) {
  const LinePrompt prompt{TRY(ids_of_prompt(model, line, {"answers", "rewards"})),
                          line.contains("messages")};
  const Json& answers = line["answers"];
  const Json& rewards = line["rewards"];
  if (!answers.is_array() || !rewards.is_array() || answers.size() != rewards.size()) {
    return fail(Code::invalid, "\"answers\" and \"rewards\" must be lists of the same length");
  }
  if (answers.size() < 2) {
    return fail(Code::invalid, "\"answers\": one alone is neither better nor worse than others");
  }
  TrainExample group;
  for (size_t i = 0; i < answers.size(); ++i) {
    const bool is_finite = rewards[i].is_number() && std::isfinite(rewards[i].get<double>());
    if (!is_finite) return fail(Code::invalid, "\"rewards\"[{}] must be a number", i);
    group.rewards.push_back(rewards[i].get<double>());
    group.sequences.push_back(TRY(answer_to(model, prompt, answers[i], "answers", rules)));
  }
  return group;
}

// The anchor, the positive, the negatives.
Result<TrainExample> triplet_of(const Model& model, const Json& line) {
  TRY(check_members(line, {"anchor", "positive", "negative", "negatives"}));
  if (line.contains("negative") && line.contains("negatives")) {
    return fail(Code::invalid, "give either \"negative\" or \"negatives\"");
  }
  TrainExample triplet;
  for (const char* const name : {"anchor", "positive"}) {
    triplet.sequences.push_back(TRY(text_or_ids(model, line[name], name)));
  }
  if (line.contains("negative")) {
    triplet.sequences.push_back(TRY(text_or_ids(model, line["negative"], "negative")));
  }
  const Json& more = line["negatives"];
  if (line.contains("negatives") && !more.is_array()) {
    return fail(Code::invalid, "\"negatives\" must be a list");
  }
  for (size_t i = 0; i < more.size(); ++i) {
    triplet.sequences.push_back(TRY(text_or_ids(model, more[i], "negatives")));
  }
  return triplet;
}

Result<TrainExample> example_of(const Model& model, const Json& line, LineKind kind,
                                const TextRules& rules) {
  switch (kind) {
    case LineKind::pair:
      return pair_of(model, line, rules);
    case LineKind::answers:
      return answers_of(model, line, rules);
    case LineKind::triplet:
      return triplet_of(model, line);
    case LineKind::text:
      break;
  }
  return TrainExample{{TRY(sequence_of(model, line, rules))}};
}

// Requires: the text is not valid.
size_t first_invalid_byte(std::string_view text) {
  size_t at = 0;
  for (CodePoint c = decode_utf8(text, at); c.valid; c = decode_utf8(text, at)) at += c.size;
  return at;
}

// The example of a line, whose sequences must fit and must have something to learn.
Result<TrainExample> line_example(const Model& model, const std::string& text, int64_t number,
                                  LineKind kind, const TextRules& rules) {
  const Json line = TRY(parse_json_line(text, number));
  Result<TrainExample> example = example_of(model, line, kind, rules);
  if (!example) return failure(with_context(fmt::format("line {}", number), example.error()));
  for (const TrainSequence& sequence : example->sequences) {
    if (std::ssize(sequence.tokens) > rules.n_ctx) {
      return fail(Code::invalid, "line {}: has {} tokens, more than the {} of --ctx", number,
                  sequence.tokens.size(), rules.n_ctx);
    }
    const bool has_some =
        kind == LineKind::triplet ? !sequence.tokens.empty() : sequence.n_targets() > 0;
    if (!has_some) return fail(Code::invalid, "line {}: has no token to learn", number);
  }
  return example;
}

}  // namespace

Result<std::vector<TrainSequence>> read_training_text(const Model& model, const std::string& path,
                                                      const TextRules& rules) {
  const std::string content = TRY(read_text_file(path));
  if (!is_valid_utf8(content)) {
    return fail(Code::invalid, "{}: byte {} is not UTF-8, which texts must be", path,
                first_invalid_byte(content));
  }
  return cut_text(TRY(tokenize(model, content)), static_cast<size_t>(rules.n_ctx));
}

Result<std::vector<TrainExample>> read_training_examples(const Model& model,
                                                         const std::string& path, LineKind kind,
                                                         const TextRules& rules) {
  const std::string content = TRY(read_text_file(path));
  std::istringstream in(content);
  std::vector<TrainExample> examples;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    Result<TrainExample> example = line_example(model, text, number, kind, rules);
    if (!example) return failure(with_context(path, example.error()));
    examples.push_back(std::move(*example));
  }
  return examples;
}

Result<std::vector<TrainSequence>> read_training_lines(const Model& model, const std::string& path,
                                                       const TextRules& rules) {
  std::vector<TrainSequence> sequences;
  for (TrainExample& example : TRY(read_training_examples(model, path, LineKind::text, rules))) {
    sequences.push_back(std::move(example.sequences.front()));
  }
  return sequences;
}

}  // namespace ruv
