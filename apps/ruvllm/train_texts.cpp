#include "train_texts.h"

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
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

Result<TrainSequence> marked_ids(const Model& model, const Json& line) {
  TRY(check_members(line, {"ids", "score"}));
  TrainSequence sequence{TRY(ids_member(line, "ids", model_info(model).n_vocab))};
  if (!line.contains("score")) return sequence;
  const std::vector<Token> marks = TRY(ids_member(line, "score", 2));
  if (marks.size() != sequence.tokens.size()) {
    return fail(Code::invalid, "\"score\" has {} entries for {} ids", marks.size(),
                sequence.tokens.size());
  }
  sequence.learned.assign(marks.begin(), marks.end());
  return sequence;
}

Result<TrainSequence> whole_text(const Model& model, const Json& line) {
  TRY(check_members(line, {"text"}));
  TrainSequence sequence{TRY(tokenize(model, TRY(text_member(line, "text"))))};
  add_end(model, false, sequence.tokens);
  return sequence;
}

Result<std::vector<Token>> ids_of_prompt(const Model& model, const Json& line) {
  if (!line.contains("messages")) {
    TRY(check_members(line, {"prompt", "answer"}));
    return tokenize(model, TRY(text_member(line, "prompt")));
  }
  TRY(check_members(line, {"messages", "tools", "chat_template_kwargs", "answer"}));
  auto conversation = read_conversation(line);
  if (!conversation) return tl::unexpected<Status>(status_of(conversation.error()));
  return tokenize_chat(model, *conversation);
}

Result<TrainSequence> answered_prompt(const Model& model, const Json& line) {
  TrainSequence sequence{TRY(ids_of_prompt(model, line))};
  sequence.learned.assign(sequence.tokens.size(), 0);
  const std::string answer = TRY(text_member(line, "answer"));
  model.tokenizer->encode(answer, SpecialParsing::off, true, sequence.tokens);
  add_end(model, line.contains("messages"), sequence.tokens);
  sequence.learned.resize(sequence.tokens.size(), 1);
  return sequence;
}

Result<TrainSequence> sequence_of(const Model& model, const Json& line) {
  if (line.contains("ids")) return marked_ids(model, line);
  if (!model.tokenizer) return fail(Code::unsupported, "the model has no tokenizer: give ids");
  if (line.contains("text")) return whole_text(model, line);
  if (line.contains("prompt") || line.contains("messages")) return answered_prompt(model, line);
  return fail(Code::invalid, "a line has \"text\", \"prompt\", \"messages\" or \"ids\"");
}

// The sequence of a line, which must fit and must have something to learn.
Result<TrainSequence> line_sequence(const Model& model, const std::string& text, int64_t number,
                                    int64_t n_ctx) {
  const Json line = TRY(parse_json_line(text, number));
  Result<TrainSequence> sequence = sequence_of(model, line);
  if (!sequence) return failure(with_context(fmt::format("line {}", number), sequence.error()));
  if (std::ssize(sequence->tokens) > n_ctx) {
    return fail(Code::invalid, "line {}: has {} tokens, more than the {} of --ctx", number,
                sequence->tokens.size(), n_ctx);
  }
  if (sequence->n_targets() == 0) {
    return fail(Code::invalid, "line {}: has no token to learn", number);
  }
  return sequence;
}

}  // namespace

Result<std::vector<TrainSequence>> read_training_text(const Model& model, const std::string& path,
                                                      int64_t n_ctx) {
  const std::string content = TRY(read_text_file(path));
  return cut_text(TRY(tokenize(model, content)), static_cast<size_t>(n_ctx));
}

Result<std::vector<TrainSequence>> read_training_lines(const Model& model, const std::string& path,
                                                       int64_t n_ctx) {
  const std::string content = TRY(read_text_file(path));
  std::istringstream in(content);
  std::vector<TrainSequence> sequences;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    Result<TrainSequence> sequence = line_sequence(model, text, number, n_ctx);
    if (!sequence) return failure(with_context(path, sequence.error()));
    sequences.push_back(std::move(*sequence));
  }
  return sequences;
}

}  // namespace ruv
