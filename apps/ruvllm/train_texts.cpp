#include "train_texts.h"

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/read_conversation.h"
#include "json_lines.h"

namespace ruv {
namespace {

// A member that is not read would change what the user meant.
Status check_members(const Json& line, std::initializer_list<std::string_view> known) {
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

Result<std::vector<Token>> ids_of_prompt(const Model& model, const Json& line) {
  if (!line.contains("messages")) {
    TRY(check_members(line, {"prompt", "answer"}));
    return tokenize(model, TRY(text_member(line, "prompt")));
  }
  TRY(check_members(line, {"messages", "tools", "chat_template_kwargs", "answer"}));
  return tokenize_chat(model, TRY(conversation_of(line)));
}

// Tokens of the prompt count as much as the rules say, those of the answer 1.
Result<TrainSequence> answered_prompt(const Model& model, const Json& line,
                                      const TextRules& rules) {
  TrainSequence sequence{TRY(ids_of_prompt(model, line))};
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

// Requires: the text is not valid.
size_t first_invalid_byte(std::string_view text) {
  size_t at = 0;
  for (CodePoint c = decode_utf8(text, at); c.valid; c = decode_utf8(text, at)) at += c.size;
  return at;
}

// The sequence of a line, which must fit and must have something to learn.
Result<TrainSequence> line_sequence(const Model& model, const std::string& text, int64_t number,
                                    const TextRules& rules) {
  const Json line = TRY(parse_json_line(text, number));
  Result<TrainSequence> sequence = sequence_of(model, line, rules);
  if (!sequence) return failure(with_context(fmt::format("line {}", number), sequence.error()));
  if (std::ssize(sequence->tokens) > rules.n_ctx) {
    return fail(Code::invalid, "line {}: has {} tokens, more than the {} of --ctx", number,
                sequence->tokens.size(), rules.n_ctx);
  }
  if (sequence->n_targets() == 0) {
    return fail(Code::invalid, "line {}: has no token to learn", number);
  }
  return sequence;
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

Result<std::vector<TrainSequence>> read_training_lines(const Model& model, const std::string& path,
                                                       const TextRules& rules) {
  const std::string content = TRY(read_text_file(path));
  std::istringstream in(content);
  std::vector<TrainSequence> sequences;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    Result<TrainSequence> sequence = line_sequence(model, text, number, rules);
    if (!sequence) return failure(with_context(path, sequence.error()));
    sequences.push_back(std::move(*sequence));
  }
  return sequences;
}

}  // namespace ruv
