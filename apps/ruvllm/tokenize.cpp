// ruvllm tokenize: text to ids and ids to text, for a person (--text) or for programs (--jsonl).
// Only the tokenizer is read, so files without weights will do.
#include <fmt/format.h>

#include <iostream>

#include "base/json.h"
#include "base/utf8.h"
#include "command_line.h"
#include "commands.h"
#include "json_lines.h"
#include "open_model.h"

namespace ruv {
namespace {

struct TokenizeCall {
  std::string model;
  std::string text;
  std::string ids;
  bool jsonl = false;
  bool detokenize = false;
  bool bos = false;
  bool special = false;
};

std::vector<Token> ids_of(const Tokenizer& tokenizer, std::string_view text, bool special,
                          bool bos) {
  const SpecialParsing parsing = special ? SpecialParsing::on : SpecialParsing::off;
  if (bos) return tokenizer.encode_prompt(text, parsing);
  std::vector<Token> ids;
  tokenizer.encode(text, parsing, false, ids);
  return ids;
}

Result<Json> encode_line(const Tokenizer& tokenizer, const TokenizeCall& call, const Json& line) {
  const std::string text = TRY(text_member(line, "text"));
  const bool special = TRY(flag_member(line, "special", call.special));
  const bool bos = TRY(flag_member(line, "bos", call.bos));
  return Json{{"ids", ids_of(tokenizer, text, special, bos)}};
}

Result<Json> decode_line(const Tokenizer& tokenizer, const TokenizeCall& call, const Json& line) {
  const std::vector<Token> ids = TRY(ids_member(line, "ids", tokenizer.vocab_size()));
  const bool special = TRY(flag_member(line, "special", call.special));
  return Json{{"text", to_valid_utf8(tokenizer.decode(ids, special))}};
}

void print_pieces(const Tokenizer& tokenizer, const std::vector<Token>& ids) {
  for (const Token id : ids) {
    const std::string piece = to_valid_utf8(tokenizer.token_bytes(id, true));
    fmt::print("{:>8}  {}\n", id, Json(piece).dump());
  }
  fmt::print("{} tokens\n", ids.size());
}

Status show(const Tokenizer& tokenizer, const TokenizeCall& call) {
  if (!call.detokenize) {
    print_pieces(tokenizer, ids_of(tokenizer, call.text, call.special, call.bos));
    return {};
  }
  const std::vector<Token> ids = TRY(parse_ids(call.ids));
  for (const Token id : ids) {
    if (id >= tokenizer.vocab_size())
      return fail(Code::invalid, "id {} is outside of the vocabulary of {}", id,
                  tokenizer.vocab_size());
  }
  fmt::print("{}\n", to_valid_utf8(tokenizer.decode(ids, call.special)));
  return {};
}

}  // namespace

int tokenize_command(int argc, char** argv) {
  TokenizeCall call;
  CommandLine line("tokenize", "Turns text into token ids, or ids into text.");
  line.text("--model,-m", call.model, kModelHelp);
  line.flag("--jsonl", call.jsonl,
            "Read {\"text\": …, \"special\": bool, \"bos\": bool} lines from stdin and print "
            "{\"ids\": […]} lines, or {\"error\": …}; other members are ignored");
  line.flag("--detokenize,-d", call.detokenize,
            "The other way: {\"ids\": […], \"special\": bool} to {\"text\": …}");
  line.flag("--special", call.special,
            "Control tokens written out in the text become ids; ids of control tokens show");
  line.flag("--bos", call.bos, "Add bos and eos where the model wants them");
  line.text("--text", call.text, "A text to show the tokens of");
  line.text("--ids", call.ids, "With --detokenize: ids separated by commas");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const char* wanted = call.detokenize ? "--ids" : "--text";
  if (call.jsonl == line.given(wanted))
    return line.wrong_call(fmt::format("give either --jsonl or {}", wanted));

  const auto tokenizer = open_tokenizer(call.model);
  if (!tokenizer) return line.failed(tokenizer.error());
  if (!call.jsonl) {
    const Status status = show(**tokenizer, call);
    return status.ok() ? kDone : line.failed(status);
  }
  answer_json_lines(std::cin, [&](const Json& json) {
    return call.detokenize ? decode_line(**tokenizer, call, json)
                           : encode_line(**tokenizer, call, json);
  });
  return kDone;
}

}  // namespace ruv
