// One function per part of the file. The parser is not recursive and limits nesting; the parts nest
// at most one list deep here.
#include "format/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "format/json_members.h"
#include "format/tokenizer_json_config.h"
#include "format/tokenizer_json_steps.h"
#include "text/end_of_turn.h"

namespace ruv {
namespace {

// More tokens before or after a text are a broken file: published ones have two at most.
constexpr size_t kMostAround = 16;

// Reads one document into a specification.
class PipelineReader {
 public:
  PipelineReader(const std::string& source, const JsonElement& root)
      : source_(source), root_(root) {}

  Result<TokenizerSpec> read(std::string_view config);

 private:
  struct Ends {
    std::vector<Token> first, last;  // tokens the post-processor puts around a text
  };

  Status read_bpe(const JsonElement& model);
  Status read_unigram(const JsonElement& model);
  Status read_wordpiece(const JsonElement& model);
  Status check_form(const PipelineForm& form) const;
  Status limit_ids(size_t n_vocab);
  Status read_vocab(const JsonElement& model);
  Status read_pieces(const JsonElement& model);
  Status read_merges(const JsonElement& model);
  Status read_added();
  Status add_token(const JsonElement& token);
  void mark_bytes();
  Status mark_unknown(std::string_view text);
  Result<Ends> read_post_processor();
  Result<Ends> read_template(const JsonElement& step);
  Result<Token> stated_id(int64_t id) const;
  Result<std::vector<Token>> template_tokens(const JsonElement& step, std::string_view text) const;
  Result<Token> checked_id(int64_t id, std::string_view text) const;
  Status place_token(Token id, std::string_view text);

  tl::unexpected<Status> error(std::string_view what, Code code = Code::corrupt) const {
    return fail(code, "{}: {}", source_, what);
  }
  tl::unexpected<Status> unsupported(std::string_view part, std::string_view step) const {
    return error(fmt::format("{}: \"{}\" is not supported", part, step), Code::unsupported);
  }

  const std::string& source_;
  const JsonElement& root_;
  TokenizerSpec spec_;
  size_t id_limit_ = 0;
};

// A score as the tokenizers package reads it: the digits as one integer, rounded to 53 bits,
// divided by a power of ten and rounded again. The last bit decides which of two equal ways a text
// is cut.
double as_read_by_package(double exact) {
  std::array<char, 40> text;
  const auto [end, wrong] = std::to_chars(text.data(), text.data() + text.size(), exact);
  if (wrong != std::errc()) return exact;
  constexpr int kExactPowers = 22;
  uint64_t digits = 0;
  int n_fraction = 0;
  int exponent = 0;
  for (const char* c = text.data(); c != end; ++c) {
    if (*c == 'e') {
      c += c[1] == '+' ? 2 : 1;
      if (std::from_chars(c, end, exponent).ec != std::errc()) return exact;
      break;
    }
    if (*c == '.') {
      n_fraction = 1;
    } else if (*c >= '0' && *c <= '9') {
      digits = 10 * digits + static_cast<uint64_t>(*c - '0');
      if (n_fraction > 0) ++n_fraction;
    }
  }
  exponent -= std::max(n_fraction - 1, 0);
  if (std::abs(exponent) > kExactPowers) return exact;
  double power = 1;
  for (int i = 0; i < std::abs(exponent); ++i) power *= 10;
  const auto whole = static_cast<double>(digits);
  return std::copysign(exponent < 0 ? whole / power : whole * power, exact);
}

// Old files do not name the type: each has members the others lack.
std::string_view model_type(const JsonElement& model) {
  const std::string_view type = text_of(model, "type");
  if (!type.empty()) return type;
  if (member<JsonArray>(model, "vocab")) return "Unigram";
  if (member<JsonArray>(model, "merges")) return "BPE";
  return member<int64_t>(model, "max_input_chars_per_word") ? "WordPiece" : "BPE";
}

// The steps first: whether they make bytes decides which BPE the model is.
Result<TokenizerSpec> PipelineReader::read(std::string_view config) {
  JsonElement model;
  if (root_["model"].get(model) != simdjson::SUCCESS || !model.is_object()) {
    return error("model is missing");
  }
  PipelineSteps steps(root_, source_, spec_);
  const PipelineForm form = TRY(steps.read());
  const std::string_view type = model_type(model);
  if (type == "BPE") {
    spec_.kind = form.byte_level ? TokenizerKind::byte_bpe : TokenizerKind::sentencepiece_bpe;
    TRY(check_form(form));
    TRY(read_bpe(model));
  } else if (type == "Unigram") {
    spec_.kind = TokenizerKind::unigram;
    TRY(check_form(form));
    TRY(read_unigram(model));
  } else if (type == "WordPiece") {
    spec_.kind = TokenizerKind::wordpiece;
    TRY(check_form(form));
    TRY(read_wordpiece(model));
  } else {
    return unsupported("model", type);
  }
  TRY(steps.check_decoder());
  TRY(read_added());
  const Ends ends = TRY(read_post_processor());
  if (!ends.first.empty()) spec_.bos = ends.first.front();
  if (!ends.last.empty()) spec_.eos = ends.last.front();
  spec_.add_bos = !ends.first.empty();
  spec_.add_eos = !ends.last.empty();
  spec_.lead = ends.first;
  spec_.trail = ends.last;
  TRY(apply_tokenizer_config(config, source_, spec_));
  spec_.end_of_turn = find_end_of_turn(spec_);
  return std::move(spec_);
}

// Which texts the steps make decides which models can read them.
Status PipelineReader::check_form(const PipelineForm& form) const {
  switch (spec_.kind) {
    case TokenizerKind::byte_bpe:
    case TokenizerKind::sentencepiece_bpe:
      if (form.byte_level != form.marks_spaces) return {};
      return error("neither a byte-level nor a sentencepiece pipeline", Code::unsupported);
    case TokenizerKind::unigram:
      if (form.marks_spaces && !form.byte_level) return {};
      return error("Unigram without \u2581 for the space", Code::unsupported);
    default:
      if (!form.marks_spaces && !form.byte_level) return {};
      return error("WordPiece after ByteLevel or Metaspace", Code::unsupported);
  }
}

// Vocabulary and ranked merges.
Status PipelineReader::read_bpe(const JsonElement& model) {
  if (!text_of(model, "continuing_subword_prefix").empty()) {
    return unsupported("model", "continuing_subword_prefix");
  }
  if (member<double>(model, "dropout").value_or(0.0) > 0) return unsupported("model", "dropout");
  spec_.byte_fallback = flag_of(model, "byte_fallback", false);
  spec_.ignore_merges = flag_of(model, "ignore_merges", false);
  spec_.fuse_unknown = flag_of(model, "fuse_unk", false);
  spec_.word_end = text_of(model, "end_of_word_suffix");
  const bool plain = spec_.kind == TokenizerKind::byte_bpe && !spec_.ignore_merges;
  if (!spec_.word_end.empty() && !plain) return unsupported("model", "end_of_word_suffix");
  TRY(read_vocab(model));
  TRY(read_merges(model));
  mark_bytes();
  return mark_unknown(text_of(model, "unk_token"));
}

// Pieces with scores.
Status PipelineReader::read_unigram(const JsonElement& model) {
  spec_.byte_fallback = flag_of(model, "byte_fallback", false);
  TRY(read_pieces(model));
  mark_bytes();
  const std::optional<int64_t> unk = member<int64_t>(model, "unk_id");
  if (!unk) return {};
  spec_.unk = TRY(checked_id(*unk, "unk_id"));
  if (static_cast<size_t>(*spec_.unk) >= spec_.tokens.size()) {
    return error(fmt::format("model.unk_id is {} of {} tokens", *unk, spec_.tokens.size()));
  }
  spec_.kinds[static_cast<size_t>(*spec_.unk)] = TokenKind::unknown;
  return {};
}

// Vocabulary, prefix and unknown token.
Status PipelineReader::read_wordpiece(const JsonElement& model) {
  const auto prefix = member<std::string_view>(model, "continuing_subword_prefix");
  if (prefix) spec_.continuing_prefix = *prefix;
  const int64_t longest = member<int64_t>(model, "max_input_chars_per_word").value_or(100);
  if (longest < 0 || longest > UINT32_MAX) return error("model.max_input_chars_per_word is wrong");
  spec_.max_word_chars = static_cast<uint32_t>(longest);
  TRY(read_vocab(model));
  const std::string_view unknown = text_of(model, "unk_token");
  TRY(mark_unknown(unknown.empty() ? "[UNK]" : unknown));
  if (!spec_.unk) return error("model.unk_token is not a token");
  return {};
}

Result<Token> PipelineReader::checked_id(int64_t id, std::string_view text) const {
  if (id < 0 || static_cast<uint64_t>(id) >= id_limit_) {
    return error(fmt::format("token \"{}\" has id {}, outside 0 to {}", text, id, id_limit_ - 1));
  }
  return static_cast<Token>(id);
}

// Stores a token's text at its id; two texts for one id are an error.
Status PipelineReader::place_token(Token id, std::string_view text) {
  const auto i = static_cast<size_t>(id);
  if (i >= spec_.tokens.size()) {
    spec_.tokens.resize(i + 1);
    spec_.kinds.resize(i + 1, TokenKind::unused);
  }
  if (spec_.kinds[i] != TokenKind::unused && spec_.tokens[i] != text) {
    return error(fmt::format("tokens \"{}\" and \"{}\" have id {}", spec_.tokens[i], text, id));
  }
  spec_.tokens[i] = text;
  spec_.kinds[i] = TokenKind::normal;
  return {};
}

// Some vocabularies have holes; none is mostly holes.
Status PipelineReader::limit_ids(size_t n_vocab) {
  const std::optional<JsonArray> added = member<JsonArray>(root_, "added_tokens");
  id_limit_ = 2 * (n_vocab + (added ? added->size() : 0)) + 1024;
  if (id_limit_ > INT32_MAX) return error("model.vocab is too large");
  spec_.tokens.reserve(n_vocab + (added ? added->size() : 0));
  spec_.kinds.reserve(spec_.tokens.capacity());
  return {};
}

// Ids may come in any order and with holes.
Status PipelineReader::read_vocab(const JsonElement& model) {
  const std::optional<JsonObject> vocab = member<JsonObject>(model, "vocab");
  if (!vocab) return error("model.vocab is missing");
  // simdjson's size() stops at 2^24.
  size_t n_vocab = 0;
  for ([[maybe_unused]] const auto& entry : *vocab) ++n_vocab;
  TRY(limit_ids(n_vocab));
  for (const auto& [text, value] : *vocab) {
    int64_t id = 0;
    if (value.get(id)) return error(fmt::format("model.vocab \"{}\" has no integer id", text));
    TRY(place_token(TRY(checked_id(id, text)), text));
  }
  return {};
}

// Pairs of a text and a score, in the order of ids.
Status PipelineReader::read_pieces(const JsonElement& model) {
  const std::optional<JsonArray> pieces = member<JsonArray>(model, "vocab");
  if (!pieces) return error("model.vocab is missing");
  TRY(limit_ids(pieces->size()));
  for (const JsonElement& entry : *pieces) {
    JsonArray pair;
    std::string_view text;
    double score = 0;
    if (entry.get(pair) || pair.size() != 2 || pair.at(0).get(text) || pair.at(1).get(score)) {
      return error(fmt::format("model.vocab[{}] is not a piece with a score", spec_.tokens.size()));
    }
    spec_.tokens.emplace_back(text);
    spec_.scores.push_back(static_cast<float>(score));
    spec_.wide_scores.push_back(as_read_by_package(score));
  }
  spec_.kinds.assign(spec_.tokens.size(), TokenKind::normal);
  return {};
}

// Files write a merge as "left right" or, since 2024, as a pair.
Status PipelineReader::read_merges(const JsonElement& model) {
  const std::optional<JsonArray> merges = member<JsonArray>(model, "merges");
  if (!merges) return error("model.merges is missing");
  spec_.merges.reserve(merges->size());
  for (const JsonElement& merge : *merges) {
    std::string_view text;
    if (!merge.get(text)) {
      spec_.merges.emplace_back(text);
      continue;
    }
    JsonArray pair;
    std::string_view left, right;
    if (merge.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
      return error(fmt::format("model.merges[{}] is not a pair of texts", spec_.merges.size()));
    }
    if (left.find(' ') != left.npos || right.find(' ') != right.npos) {
      return error(fmt::format("model.merges[{}] merges a space", spec_.merges.size()),
                   Code::unsupported);
    }
    std::string& joined = spec_.merges.emplace_back();
    joined.reserve(left.size() + 1 + right.size());
    joined.append(left).append(1, ' ').append(right);
  }
  return {};
}

// With byte_fallback, tokens such as <0x1F> stand for bytes.
void PipelineReader::mark_bytes() {
  if (!spec_.byte_fallback) return;
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const std::string& text = spec_.tokens[i];
    const bool byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    if (byte && spec_.kinds[i] == TokenKind::normal) spec_.kinds[i] = TokenKind::byte;
  }
}

// The unknown token is named by its text.
Status PipelineReader::mark_unknown(std::string_view text) {
  if (text.empty()) return {};
  const std::optional<Token> id = find_token(spec_, text);
  if (!id) return {};
  spec_.unk = id;
  spec_.kinds[static_cast<size_t>(*id)] = TokenKind::unknown;
  return {};
}

Status PipelineReader::read_added() {
  const std::optional<JsonArray> added = member<JsonArray>(root_, "added_tokens");
  if (!added) return {};
  for (const JsonElement& token : *added) TRY(add_token(token));
  return {};
}

// One entry of added_tokens.
Status PipelineReader::add_token(const JsonElement& token) {
  const std::optional<int64_t> id = member<int64_t>(token, "id");
  const std::optional<std::string_view> text = member<std::string_view>(token, "content");
  if (!id || !text) return error("added_tokens: an entry without id or content");
  AddedToken added;
  added.id = TRY(checked_id(*id, *text));
  added.text = *text;
  added.special = flag_of(token, "special", false);
  added.lstrip = flag_of(token, "lstrip", false);
  added.rstrip = flag_of(token, "rstrip", false);
  added.single_word = flag_of(token, "single_word", false);
  added.normalized = flag_of(token, "normalized", !added.special);
  return place_added_token(std::move(added), static_cast<int64_t>(id_limit_) - 1, source_, spec_);
}

// Which tokens the post-processor puts before and after a single text.
Result<PipelineReader::Ends> PipelineReader::read_post_processor() {
  Ends ends;
  for (const JsonElement& step : steps_of(root_, "post_processor", "processors")) {
    const std::string_view type = text_of(step, "type");
    if (type == "TemplateProcessing") {
      ends = TRY(read_template(step));
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      const auto id_in = [&](std::string_view key) -> Result<std::vector<Token>> {
        int64_t id = 0;
        if (step[key].at(1).get(id)) {
          return error(fmt::format("post_processor.{} is not a token with an id", key));
        }
        return std::vector<Token>{TRY(stated_id(id))};
      };
      ends.first = TRY(id_in("cls"));
      ends.last = TRY(id_in("sep"));
    } else if (type != "ByteLevel") {
      return unsupported("post_processor", type);
    }
  }
  return ends;
}

// The id that a post-processor states counts, also where the vocabulary has the text elsewhere.
Result<Token> PipelineReader::stated_id(int64_t id) const {
  if (id >= 0 && static_cast<uint64_t>(id) < spec_.tokens.size()) return static_cast<Token>(id);
  return error(
      fmt::format("post_processor: id {} is outside the {} tokens", id, spec_.tokens.size()));
}

// The ids of a special token of a template, at least one.
Result<std::vector<Token>> PipelineReader::template_tokens(const JsonElement& step,
                                                           std::string_view text) const {
  JsonElement stated;
  if (step["special_tokens"][text].get(stated)) {
    const std::optional<Token> id = find_token(spec_, text);
    if (!id) return error(fmt::format("post_processor: \"{}\" is not a token", text));
    return std::vector<Token>{*id};
  }
  std::vector<Token> tokens;
  const std::optional<JsonArray> ids = member<JsonArray>(stated, "ids");
  if (ids) {
    for (const JsonElement& element : *ids) {
      int64_t id = 0;
      if (element.get(id)) {
        return error(fmt::format("post_processor.special_tokens: \"{}\" has no ids", text));
      }
      tokens.push_back(TRY(stated_id(id)));
    }
  }
  if (tokens.empty()) {
    return error(fmt::format("post_processor.special_tokens: \"{}\" has no ids", text));
  }
  return tokens;
}

// TemplateProcessing: special tokens around one sequence.
Result<PipelineReader::Ends> PipelineReader::read_template(const JsonElement& step) {
  Ends ends;
  bool after_text = false;
  const std::optional<JsonArray> items = member<JsonArray>(step, "single");
  if (!items) return error("post_processor.single is missing");
  for (const JsonElement& item : *items) {
    JsonElement special;
    if (item["SpecialToken"].get(special)) {
      after_text = true;
      continue;
    }
    std::vector<Token>& end = after_text ? ends.last : ends.first;
    const std::vector<Token> tokens = TRY(template_tokens(step, text_of(special, "id")));
    if (end.size() + tokens.size() > kMostAround) {
      return unsupported("post_processor", "more than 16 tokens on one side of the text");
    }
    end.insert(end.end(), tokens.begin(), tokens.end());
  }
  return ends;
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_from_json(std::string_view tokenizer, std::string_view config,
                                               const std::string& source) {
  simdjson::dom::parser parser;
  JsonElement root;
  const simdjson::padded_string padded(tokenizer);
  if (const auto error = parser.parse(padded).get(root)) {
    return fail(Code::corrupt, "{}: {}", source, simdjson::error_message(error));
  }
  return PipelineReader(source, root).read(config);
}

Result<TokenizerSpec> read_tokenizer_folder(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  if (!file_exists(path)) {
    return fail(Code::not_found, "{}: no tokenizer.json; other tokenizer files are not read",
                folder);
  }
  const MappedFile tokenizer = TRY(MappedFile::open(path));
  const std::string config_path = folder + "/tokenizer_config.json";
  if (!file_exists(config_path)) {
    return tokenizer_spec_from_json(as_text(tokenizer.bytes()), "", path);
  }
  const MappedFile config = TRY(MappedFile::open(config_path));
  return tokenizer_spec_from_json(as_text(tokenizer.bytes()), as_text(config.bytes()), path);
}

}  // namespace ruv
