// ruvllm tokenize: text to ids and ids to text, for a person (--text, --file) or for programs
// (--jsonl, --frames). Only the tokenizer is read, so files without weights will do.
#include <fmt/format.h>

#include <iostream>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/token_ids.h"
#include "base/utf8.h"
#include "command_line.h"
#include "commands.h"
#include "json_lines.h"
#include "open_model.h"
#include "token_frames.h"

namespace ruv {
namespace {

constexpr const char* kTokenizerHelp =
    "GGUF file, model folder, tokenizer.json, SentencePiece .model, .tiktoken ranks or RWKV "
    "vocabulary; the built-in model when absent";

struct Encoding {
  bool special = false;
  bool bos = false;   // and eos, where the model wants them
  int n_threads = 0;  // for long texts; 0: one per core
};

struct TokenizeCall {
  std::string model;
  std::string scheme;
  std::string text;
  std::string file;
  std::string ids;
  bool jsonl = false;
  bool frames = false;
  bool detokenize = false;
  Encoding encoding;
  bool spans = false;
  bool count = false;
  bool time = false;
};

struct EncodedText {
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;  // of the text; bos and eos stand for none of it
};

SpecialParsing parsing(bool special) { return special ? SpecialParsing::on : SpecialParsing::off; }

// What the model itself would put before and after the text.
std::span<const Token> tokens_before(const TokenizerSpec& spec, const Encoding& how) {
  return how.bos ? spec.first_tokens() : std::span<const Token>();
}

std::span<const Token> tokens_after(const TokenizerSpec& spec, const Encoding& how) {
  return how.bos ? spec.last_tokens() : std::span<const Token>();
}

EncodedText encode(const Tokenizer& tokenizer, std::string_view text, const Encoding& how,
                   bool spans) {
  EncodedText out;
  const TextPart part{text, parsing(how.special)};
  const auto end = static_cast<uint32_t>(text.size());
  for (const Token id : tokens_before(tokenizer.spec(), how)) {
    out.ids.push_back(id);
    out.spans.push_back({0, 0});
  }
  TokenSink sink(&out.ids, spans ? &out.spans : nullptr);
  sink.limit_threads(how.n_threads);
  tokenizer.encode_parts({&part, 1}, false, sink);
  for (const Token id : tokens_after(tokenizer.spec(), how)) {
    out.ids.push_back(id);
    out.spans.push_back({end, end});
  }
  return out;
}

// The size of what encode gives.
size_t count_ids(const Tokenizer& tokenizer, std::string_view text, const Encoding& how) {
  return tokenizer.count(text, parsing(how.special), how.n_threads) +
         tokens_before(tokenizer.spec(), how).size() + tokens_after(tokenizer.spec(), how).size();
}

Result<Json> encode_line(const Tokenizer& tokenizer, const TokenizeCall& call, const Json& line) {
  const std::string text = TRY(text_member(line, "text"));
  Encoding how = call.encoding;
  how.special = TRY(flag_member(line, "special", how.special));
  how.bos = TRY(flag_member(line, "bos", how.bos));
  const bool spans = TRY(flag_member(line, "spans", call.spans));
  if (call.count) return Json{{"count", count_ids(tokenizer, text, how)}};
  const EncodedText out = encode(tokenizer, text, how, spans);
  Json answer{{"ids", out.ids}};
  if (!spans) return answer;
  Json places = Json::array();
  for (const TokenSpan& span : out.spans) places.push_back({span.begin, span.end});
  answer["spans"] = std::move(places);
  return answer;
}

Result<Json> decode_line(const Tokenizer& tokenizer, const TokenizeCall& call, const Json& line) {
  const std::vector<Token> ids = TRY(ids_member(line, "ids", tokenizer.vocab_size()));
  const bool special = TRY(flag_member(line, "special", call.encoding.special));
  return Json{{"text", tokenizer.valid_text(tokenizer.decode(ids, special))}};
}

// The bytes of a token as text; those that belong to no whole character as <0xC3>.
std::string shown_piece(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint point = decode_utf8(bytes, at);
    if (point.valid) {
      out += bytes.substr(at, point.size);
    } else {
      for (const char c : bytes.substr(at, point.size))
        out += fmt::format("<0x{:02X}>", static_cast<unsigned char>(c));
    }
    at += point.size;
  }
  return out;
}

void print_pieces(const Tokenizer& tokenizer, const TokenizeCall& call, std::string_view text) {
  const EncodedText out = encode(tokenizer, text, call.encoding, call.spans);
  for (size_t i = 0; i < out.ids.size(); ++i) {
    const std::string piece = shown_piece(tokenizer.token_bytes(out.ids[i], true));
    fmt::print("{:>8}  ", out.ids[i]);
    if (call.spans) fmt::print("{:>6} {:>6}  ", out.spans[i].begin, out.spans[i].end);
    fmt::print("{}\n", Json(piece).dump());
  }
  fmt::print("{} tokens\n", out.ids.size());
}

Status show_text(const Tokenizer& tokenizer, const TokenizeCall& call) {
  const std::vector<Token> ids = TRY(parse_ids(call.ids));
  TRY(check_tokens(ids, tokenizer.vocab_size(), "--ids"));
  fmt::print("{}\n", tokenizer.valid_text(tokenizer.decode(ids, call.encoding.special)));
  return {};
}

// The first call pays for every cache and page it touches; the best of five more does not.
void print_times(const Tokenizer& tokenizer, const TokenizeCall& call, std::string_view text,
                 double load_ms) {
  const SteadyClock clock;
  size_t n_tokens = 0;
  const auto run_ms = [&] {
    const int64_t begin = clock.now_ns();
    n_tokens = call.count ? count_ids(tokenizer, text, call.encoding)
                          : encode(tokenizer, text, call.encoding, false).ids.size();
    return static_cast<double>(clock.now_ns() - begin) * 1e-6;
  };
  const double first_ms = run_ms();
  double best_ms = first_ms;
  for (int i = 0; i < 5; ++i) best_ms = std::min(best_ms, run_ms());
  print_json_line(Json{{"load_ms", load_ms},
                       {"n_bytes", text.size()},
                       {"n_tokens", n_tokens},
                       {"first_ms", first_ms},
                       {"best_ms", best_ms}});
}

Status show(const Tokenizer& tokenizer, const TokenizeCall& call, double load_ms) {
  if (call.detokenize) return show_text(tokenizer, call);
  std::string text = call.text;
  if (!call.file.empty()) text = TRY(read_text_file(call.file));
  if (text.size() >= size_t{1} << 31)
    return fail(Code::invalid, "{}: {} bytes; at most 2^31 - 1 at once", call.file, text.size());
  if (call.time) {
    print_times(tokenizer, call, text, load_ms);
  } else if (call.count) {
    fmt::print("{}\n", count_ids(tokenizer, text, call.encoding));
  } else {
    print_pieces(tokenizer, call, text);
  }
  return {};
}

void declare(CommandLine& line, TokenizeCall& call) {
  line.example("ruvllm tokenize \"Hello world\"", "The ids and pieces of a text");
  line.text("--model,-m", call.model, kTokenizerHelp);
  line.text("--scheme", call.scheme,
            "How words are split, for rank files whose name does not say it: cl100k_base, "
            "o200k_base, tekken, llama-bpe, …");
  line.flag(
      "--jsonl", call.jsonl,
      "Read {\"text\": …, \"special\": bool, \"bos\": bool, \"spans\": bool} lines from stdin "
      "and print {\"ids\": […]} lines, or {\"error\": …}; other members are ignored");
  line.flag("--frames", call.frames,
            "The same in binary: 32-bit length and bytes in, 32-bit count and 32-bit ids out, "
            "little-endian; with --detokenize the other way");
  line.flag("--detokenize,-d", call.detokenize,
            "The other way: {\"ids\": […], \"special\": bool} to {\"text\": …}");
  line.flag("--special", call.encoding.special,
            "Control tokens written out in the text become ids; ids of control tokens show");
  line.flag("--bos", call.encoding.bos, "Add bos and eos where the model wants them");
  line.text("--text,text", call.text, "A text to show the tokens of");
  line.alternatives({"--text", "--file", "--ids", "--jsonl", "--frames"});
  line.text("--file", call.file, "A file with the text");
  line.flag("--spans", call.spans,
            "Show the bytes [begin, end) of the text that each id stands for");
  line.flag("--count", call.count, "Print only the number of ids");
  line.flag("--time", call.time,
            "Print times of loading and encoding (with --count: counting), as one line of JSON");
  line.threads(call.encoding.n_threads);
  line.text("--ids", call.ids, "With --detokenize: ids separated by commas");
}

}  // namespace

int tokenize_command(int argc, char** argv) {
  TokenizeCall call;
  CommandLine line("tokenize", "Turns text into token ids, or ids into text.");
  declare(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const int n_sources =
      call.jsonl + call.frames + line.given("--text") + line.given("--file") + line.given("--ids");
  if (n_sources != 1 || (call.detokenize && (line.given("--text") || line.given("--file"))) ||
      (!call.detokenize && line.given("--ids"))) {
    return line.wrong_call(fmt::format("give one of --jsonl, --frames, {}",
                                       call.detokenize ? "--ids" : "--text, --file"));
  }

  const SteadyClock clock;
  const int64_t begin = clock.now_ns();
  const auto tokenizer = open_tokenizer(call.model, call.scheme);
  if (!tokenizer) return line.failed(tokenizer.error());
  const double load_ms = static_cast<double>(clock.now_ns() - begin) * 1e-6;
  Status status;
  if (call.frames) {
    status = answer_frames(**tokenizer, {.decode = call.detokenize,
                                         .special = call.encoding.special,
                                         .n_threads = call.encoding.n_threads});
  } else if (!call.jsonl) {
    status = show(**tokenizer, call, load_ms);
  } else {
    answer_json_lines(std::cin, [&](const Json& json) {
      return call.detokenize ? decode_line(**tokenizer, call, json)
                             : encode_line(**tokenizer, call, json);
    });
  }
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
