// Parsing of the lines, and the table of published rank files with their control tokens.
#include "format/tiktoken_ranks.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "format/base64.h"
#include "format/tokenizer_json_config.h"
#include "text/end_of_turn.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {
namespace {

struct ControlToken {
  std::string_view text;
  Token id;
};

// A published file. Its name holds `name`; or its name says nothing and it has `n_ranks` lines.
struct RankFile {
  std::string_view name;
  std::string_view scheme;
  size_t n_ranks = 0;
  std::vector<ControlToken> control = {};
};

// Control tokens are not in the files; these are the published ones.
std::vector<ControlToken> llama3_control() {
  return {{"<|begin_of_text|>", 128000},   {"<|end_of_text|>", 128001},
          {"<|start_header_id|>", 128006}, {"<|end_header_id|>", 128007},
          {"<|eom_id|>", 128008},          {"<|eot_id|>", 128009},
          {"<|python_tag|>", 128010}};
}

std::vector<ControlToken> qwen_control() {
  return {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}};
}

std::vector<ControlToken> glm4_control() {
  return {{"<|endoftext|>", 151329},  {"[MASK]", 151330},   {"[gMASK]", 151331},
          {"[sMASK]", 151332},        {"<sop>", 151333},    {"<eop>", 151334},
          {"<|system|>", 151335},     {"<|user|>", 151336}, {"<|assistant|>", 151337},
          {"<|observation|>", 151338}};
}

std::vector<ControlToken> cl100k_control() {
  return {{"<|endoftext|>", 100257},
          {"<|fim_prefix|>", 100258},
          {"<|fim_middle|>", 100259},
          {"<|fim_suffix|>", 100260},
          {"<|endofprompt|>", 100276}};
}

std::vector<ControlToken> harmony_control() {
  return {{"<|startoftext|>", 199998}, {"<|endoftext|>", 199999}, {"<|return|>", 200002},
          {"<|constrain|>", 200003},   {"<|channel|>", 200005},   {"<|start|>", 200006},
          {"<|end|>", 200007},         {"<|message|>", 200008},   {"<|call|>", 200012},
          {"<|endofprompt|>", 200018}};
}

// Longer names come before the names that they contain.
const std::vector<RankFile>& rank_files() {
  static const std::vector<RankFile> kFiles = {
      {"cl100k", "llama-bpe", 100256, cl100k_control()},
      {"o200k_harmony", "gpt-4o", 0, harmony_control()},
      {"o200k", "gpt-4o", 199998, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
      {"p50k_edit",
       "gpt-2",
       0,
       {{"<|endoftext|>", 50256},
        {"<|fim_prefix|>", 50281},
        {"<|fim_middle|>", 50282},
        {"<|fim_suffix|>", 50283}}},
      {"p50k", "gpt-2", 50280, {{"<|endoftext|>", 50256}}},
      {"r50k", "gpt-2", 50256, {{"<|endoftext|>", 50256}}},
      {"gpt2", "gpt-2", 0, {{"<|endoftext|>", 50256}}},
      {"qwen", "qwen2", 151643, qwen_control()},
      {"llama3", "llama-bpe", 128000, llama3_control()},
      {"llama-3", "llama-bpe", 0, llama3_control()},
      {"glm", "chatglm-bpe", 151329, glm4_control()},
      {"kimi", "kimi-k2", 163584, {}},
  };
  return kFiles;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes the next line that is not empty off `text`; false at the end.
bool next_line(std::string_view& text, std::string_view& line, size_t& number) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    if (!line.empty()) return true;
  }
  return false;
}

// The bytes and the rank of a line; false when it has another form.
bool read_line(std::string_view line, std::string& bytes, int64_t& rank) {
  const size_t space = line.find(' ');
  if (space == line.npos || space == 0) return false;
  const char* end = line.data() + line.size();
  const auto [last, wrong] = std::from_chars(line.data() + space + 1, end, rank);
  bytes.clear();
  return wrong == std::errc() && last == end && append_base64(line.substr(0, space), bytes);
}

// Ranks may have gaps, which become unused tokens.
Status read_ranks(std::string_view text, const std::string& source, TokenizerSpec& spec) {
  // Ranks have gaps, but most exist: a line has 5 bytes at least.
  const auto limit = static_cast<int64_t>(std::min<size_t>(text.size() + 1024, INT32_MAX));
  size_t number = 0;
  std::string bytes;
  spec.tokens.reserve(text.size() / 16);
  spec.kinds.reserve(text.size() / 16);
  for (std::string_view line; next_line(text, line, number);) {
    int64_t rank = 0;
    if (!read_line(line, bytes, rank) || bytes.empty()) {
      return fail(Code::corrupt, "{}: line {}: no base64 text and rank", source, number);
    }
    if (rank < 0 || rank >= limit) {
      return fail(Code::corrupt, "{}: line {}: rank {} is outside 0 to {}", source, number, rank,
                  limit - 1);
    }
    const auto id = static_cast<size_t>(rank);
    if (id >= spec.tokens.size()) {
      spec.tokens.resize(id + 1);
      spec.kinds.resize(id + 1, TokenKind::unused);
    }
    if (spec.kinds[id] != TokenKind::unused) {
      return fail(Code::corrupt, "{}: line {}: rank {} appears twice", source, number, rank);
    }
    spec.tokens[id] = bytes;
    spec.kinds[id] = TokenKind::normal;
  }
  if (spec.tokens.empty()) return fail(Code::corrupt, "{}: no ranks", source);
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

const RankFile* find_by_name(std::string_view name) {
  const std::string wanted = lower(name);
  for (const RankFile& file : rank_files()) {
    if (wanted.find(file.name) != wanted.npos) return &file;
  }
  return nullptr;
}

// Several published files can be told apart by their number of ranks.
const RankFile* find_by_size(size_t n_ranks) {
  for (const RankFile& file : rank_files()) {
    if (file.n_ranks == n_ranks) return &file;
  }
  return nullptr;
}

}  // namespace

bool looks_like_ranks(std::string_view text) {
  std::string_view line;
  std::string bytes;
  int64_t rank = 0;
  size_t number = 0;
  text = text.substr(0, std::min<size_t>(text.size(), 4096));
  return next_line(text, line, number) && read_line(line, bytes, rank) && !bytes.empty();
}

Result<TokenizerSpec> tokenizer_spec_from_ranks(std::string_view text, std::string_view name,
                                                std::string_view scheme,
                                                const std::string& source) {
  TokenizerSpec spec;
  spec.raw_tokens = true;
  spec.ignore_merges = true;
  TRY(read_ranks(text, source, spec));
  const size_t n_ranks = spec.tokens.size();
  const RankFile* file = find_by_name(scheme.empty() ? name : scheme);
  if (scheme.empty() && file == nullptr) file = find_by_size(n_ranks);
  if (scheme.empty() && file == nullptr) {
    return fail(Code::unsupported,
                "{}: {} ranks and a name that does not say how words are split: give the scheme",
                source, n_ranks);
  }
  spec.pre = file != nullptr ? file->scheme : scheme;
  if (const auto known = PreTokenizer::find(spec.pre); !known) {
    return failure(with_context(source, known.error()));
  }
  if (file == nullptr || file->control.empty()) return spec;
  for (const ControlToken& token : file->control) {
    // A file of another version may use the id for a rank.
    if (static_cast<size_t>(token.id) < n_ranks &&
        !spec.tokens[static_cast<size_t>(token.id)].empty())
      continue;
    AddedToken added{.id = token.id, .text = std::string(token.text), .special = true};
    TRY(place_added_token(std::move(added), INT32_MAX, source, spec));
  }
  spec.eos = find_token(spec, file->control.front().text == "<|begin_of_text|>" ? "<|end_of_text|>"
                                                                                : "<|endoftext|>");
  spec.bos = find_token(spec, "<|begin_of_text|>");
  spec.add_bos = spec.bos.has_value();
  spec.end_of_turn = find_end_of_turn(spec);
  return spec;
}

}  // namespace ruv
