// One function per part of the pipeline. The parser is not recursive and limits nesting; the parts
// nest at most one list deep here.
#include "format/tokenizer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "text/end_of_turn.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {
namespace {

using simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

constexpr std::string_view kSpaceMark = "\u2581";

// The member as T; nothing when it is absent, null or of another type.
template <class T>
std::optional<T> member(const element& object, std::string_view key) {
  T value;
  if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

bool flag(const element& object, std::string_view key, bool otherwise) {
  return member<bool>(object, key).value_or(otherwise);
}

std::string_view text_of(const element& object, std::string_view key) {
  return member<std::string_view>(object, key).value_or("");
}

// The steps of a part: the members of a Sequence, the part itself, or none.
std::vector<element> steps_of(const element& root, std::string_view part, std::string_view list) {
  element step;
  if (root[part].get(step) != simdjson::SUCCESS || step.is_null()) return {};
  const std::optional<Array> nested = member<Array>(step, list);
  if (!nested) return {step};
  return {nested->begin(), nested->end()};
}

// Reads one document into a specification.
class PipelineReader {
 public:
  PipelineReader(const std::string& source, const element& root) : source_(source), root_(root) {}

  Result<TokenizerSpec> read(const std::optional<element>& config);

 private:
  struct Ends {
    std::optional<Token> first, last;  // tokens the post-processor puts around a text
  };

  Status read_normalizer();
  Status read_pre_tokenizer();
  Status read_pattern(const element& step, std::vector<std::string>& patterns);
  Status read_metaspace(const element& step);
  Status read_vocab(const element& model);
  Status read_merges(const element& model);
  Status read_added();
  Status add_token(const element& token);
  void mark_kinds(const element& model);
  Result<Ends> read_post_processor();
  Result<Ends> read_template(const element& step);
  void read_config(const std::optional<element>& config, const Ends& ends);
  std::optional<Token> find_token(std::string_view text) const;
  Result<Token> checked_id(int64_t id, std::string_view text) const;
  Status place_token(Token id, std::string_view text);

  tl::unexpected<Status> error(std::string_view what, Code code = Code::corrupt) const {
    return fail(code, "{}: {}", source_, what);
  }
  tl::unexpected<Status> unsupported(std::string_view part, std::string_view step) const {
    return error(fmt::format("{}: \"{}\" is not supported", part, step), Code::unsupported);
  }

  const std::string& source_;
  const element& root_;
  TokenizerSpec spec_;
  size_t id_limit_ = 0;
  bool byte_level_ = false;
  bool marks_spaces_ = false;  // ▁ stands for the space
};

Result<TokenizerSpec> PipelineReader::read(const std::optional<element>& config) {
  element model;
  if (root_["model"].get(model) != simdjson::SUCCESS || !model.is_object()) {
    return error("model is missing");
  }
  const std::string_view type = text_of(model, "type");
  if (!type.empty() && type != "BPE") return unsupported("model", type);
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_of(model, key).empty()) return unsupported("model", key);
  }
  TRY(read_normalizer());
  TRY(read_pre_tokenizer());
  if (byte_level_ == marks_spaces_) {
    return error("neither a byte-level nor a sentencepiece pipeline", Code::unsupported);
  }
  spec_.kind = byte_level_ ? TokenizerKind::byte_bpe : TokenizerKind::sentencepiece_bpe;
  spec_.byte_fallback = flag(model, "byte_fallback", false);
  spec_.ignore_merges = flag(model, "ignore_merges", false);
  TRY(read_vocab(model));
  TRY(read_merges(model));
  mark_kinds(model);
  TRY(read_added());
  read_config(config, TRY(read_post_processor()));
  spec_.end_of_turn = find_end_of_turn(spec_);
  return std::move(spec_);
}

Status PipelineReader::read_normalizer() {
  for (const element& step : steps_of(root_, "normalizer", "normalizers")) {
    const std::string_view type = text_of(step, "type");
    if (type == "NFC") {
      spec_.normalizers.push_back({.kind = NormalizerKind::nfc});
    } else if (type == "Prepend" && text_of(step, "prepend") == kSpaceMark) {
      spec_.add_space_prefix = true;
    } else if (type == "Replace" && text_of(step, "content") == kSpaceMark) {
      element pattern;
      if (step["pattern"].get(pattern) || text_of(pattern, "String") != " ") {
        return unsupported("normalizer", "Replace of another text than a space");
      }
      marks_spaces_ = true;
    } else {
      return unsupported("normalizer", type);
    }
  }
  return {};
}

Status PipelineReader::read_pre_tokenizer() {
  std::vector<std::string> patterns;
  for (const element& step : steps_of(root_, "pre_tokenizer", "pretokenizers")) {
    const std::string_view type = text_of(step, "type");
    if (type == "Metaspace") {
      TRY(read_metaspace(step));
    } else {
      TRY(read_pattern(step, patterns));
    }
  }
  if (!byte_level_) {
    if (patterns.empty()) return {};
    return unsupported("pre_tokenizer", fmt::format("{}", fmt::join(patterns, "\" then \"")));
  }
  const std::optional<std::string_view> scheme = find_scheme(patterns);
  if (!scheme) {
    return unsupported("pre_tokenizer", fmt::format("{}", fmt::join(patterns, "\" then \"")));
  }
  spec_.pre = *scheme;
  return {};
}

// Any step but Metaspace, as the regular expression that splits alike.
Status PipelineReader::read_pattern(const element& step, std::vector<std::string>& patterns) {
  const std::string_view type = text_of(step, "type");
  const std::string_view behavior = text_of(step, "behavior");
  if (type == "ByteLevel") {
    byte_level_ = true;
    spec_.add_space_prefix = flag(step, "add_prefix_space", true);
    if (flag(step, "use_regex", true)) patterns.emplace_back(patterns::kGpt2);
  } else if (type == "Digits") {
    const bool single = flag(step, "individual_digits", false);
    patterns.emplace_back(single ? patterns::kDigit : patterns::kDigits);
  } else if (type == "Punctuation" && behavior == "Contiguous") {
    patterns.emplace_back(patterns::kPunctuation);
  } else if (type == "Split") {
    element pattern;
    if (step["pattern"].get(pattern)) return error("pre_tokenizer: Split without a pattern");
    const std::string_view regex = text_of(pattern, "Regex");
    const std::string_view literal = text_of(pattern, "String");
    // Splitting at spaces that the normalizer has already replaced splits nothing (Gemma).
    if (literal == " " && marks_spaces_) return {};
    const bool isolates = behavior == "Isolated" && !flag(step, "invert", false);
    // What the pattern leaves out does not exist when it matches every character.
    const bool keeps_matches = behavior == "Removed" && flag(step, "invert", false);
    if (regex.empty() || (!isolates && !keeps_matches)) {
      return unsupported("pre_tokenizer",
                         fmt::format("Split {} at {}{}", behavior, regex, literal));
    }
    patterns.emplace_back(regex);
  } else {
    return unsupported("pre_tokenizer", type);
  }
  return {};
}

Status PipelineReader::read_metaspace(const element& step) {
  if (text_of(step, "replacement") != kSpaceMark) {
    return unsupported("pre_tokenizer", "Metaspace with another replacement than U+2581");
  }
  std::string_view scheme = text_of(step, "prepend_scheme");
  if (scheme.empty()) scheme = flag(step, "add_prefix_space", true) ? "always" : "never";
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return unsupported("pre_tokenizer", scheme);
  }
  marks_spaces_ = true;
  spec_.add_space_prefix = scheme != "never";
  spec_.prefix_if_missing = true;
  spec_.prefix_first_only = scheme == "first";
  spec_.split_at_spaces = flag(step, "split", true);
  return {};
}

Result<Token> PipelineReader::checked_id(int64_t id, std::string_view text) const {
  if (id < 0 || static_cast<uint64_t>(id) >= id_limit_) {
    return error(fmt::format("token \"{}\" has id {}, outside 0 to {}", text, id, id_limit_ - 1));
  }
  return static_cast<Token>(id);
}

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

Status PipelineReader::read_vocab(const element& model) {
  const std::optional<Object> vocab = member<Object>(model, "vocab");
  if (!vocab) return error("model.vocab is missing");
  const std::optional<Array> added = member<Array>(root_, "added_tokens");
  // Some vocabularies have holes; none is mostly holes. simdjson counts up to 2^24 members.
  size_t n_vocab = 0;
  for ([[maybe_unused]] const auto& entry : *vocab) ++n_vocab;
  id_limit_ = 2 * (n_vocab + (added ? added->size() : 0)) + 1024;
  if (id_limit_ > INT32_MAX) return error("model.vocab is too large");
  for (const auto& [text, value] : *vocab) {
    int64_t id = 0;
    if (value.get(id)) return error(fmt::format("model.vocab \"{}\" has no integer id", text));
    TRY(place_token(TRY(checked_id(id, text)), text));
  }
  return {};
}

Status PipelineReader::read_merges(const element& model) {
  const std::optional<Array> merges = member<Array>(model, "merges");
  if (!merges) return error("model.merges is missing");
  for (const element& merge : *merges) {
    std::string_view text;
    if (!merge.get(text)) {
      spec_.merges.emplace_back(text);
      continue;
    }
    Array pair;
    std::string_view left, right;
    if (merge.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
      return error(fmt::format("model.merges[{}] is no pair of texts", spec_.merges.size()));
    }
    if (left.find(' ') != left.npos || right.find(' ') != right.npos) {
      return error(fmt::format("model.merges[{}] merges a space", spec_.merges.size()),
                   Code::unsupported);
    }
    spec_.merges.push_back(fmt::format("{} {}", left, right));
  }
  return {};
}

void PipelineReader::mark_kinds(const element& model) {
  const std::string_view unknown = text_of(model, "unk_token");
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const std::string& text = spec_.tokens[i];
    if (spec_.kinds[i] == TokenKind::unused) continue;
    const bool byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    if (spec_.byte_fallback && byte) spec_.kinds[i] = TokenKind::byte;
    if (!unknown.empty() && text == unknown) {
      spec_.kinds[i] = TokenKind::unknown;
      spec_.unk = static_cast<Token>(i);
    }
  }
}

Status PipelineReader::read_added() {
  const std::optional<Array> added = member<Array>(root_, "added_tokens");
  if (!added) return {};
  for (const element& token : *added) TRY(add_token(token));
  return {};
}

Status PipelineReader::add_token(const element& token) {
  const std::optional<int64_t> id = member<int64_t>(token, "id");
  const std::optional<std::string_view> text = member<std::string_view>(token, "content");
  if (!id || !text) return error("added_tokens: an entry without id or content");
  AddedToken added;
  added.id = TRY(checked_id(*id, *text));
  added.text = *text;
  added.special = flag(token, "special", false);
  added.lstrip = flag(token, "lstrip", false);
  added.rstrip = flag(token, "rstrip", false);
  added.single_word = flag(token, "single_word", false);
  added.normalized = flag(token, "normalized", !added.special);
  TRY(place_token(added.id, *text));
  spec_.kinds[static_cast<size_t>(added.id)] = added.id == spec_.unk ? TokenKind::unknown
                                               : added.special       ? TokenKind::control
                                                                     : TokenKind::user_defined;
  spec_.added.push_back(std::move(added));
  return {};
}

Result<PipelineReader::Ends> PipelineReader::read_post_processor() {
  Ends ends;
  for (const element& step : steps_of(root_, "post_processor", "processors")) {
    const std::string_view type = text_of(step, "type");
    if (type == "TemplateProcessing") {
      ends = TRY(read_template(step));
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      const auto id_in = [&](std::string_view key) -> std::optional<Token> {
        std::string_view text;
        if (step[key].at(0).get(text)) return std::nullopt;
        return find_token(text);
      };
      ends = {id_in("cls"), id_in("sep")};
    } else if (type != "ByteLevel") {
      return unsupported("post_processor", type);
    }
  }
  return ends;
}

Result<PipelineReader::Ends> PipelineReader::read_template(const element& step) {
  Ends ends;
  bool after_text = false;
  const std::optional<Array> items = member<Array>(step, "single");
  if (!items) return error("post_processor.single is missing");
  for (const element& item : *items) {
    element special;
    if (item["SpecialToken"].get(special)) {
      after_text = true;
      continue;
    }
    std::optional<Token>& end = after_text ? ends.last : ends.first;
    const std::string_view text = text_of(special, "id");
    if (end) return unsupported("post_processor", "two tokens on one side of the text");
    end = find_token(text);
    if (!end) return error(fmt::format("post_processor: \"{}\" is no token", text));
  }
  return ends;
}

std::optional<Token> PipelineReader::find_token(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  const auto found = std::find(spec_.tokens.begin(), spec_.tokens.end(), text);
  if (found == spec_.tokens.end()) return std::nullopt;
  return static_cast<Token>(found - spec_.tokens.begin());
}

// tokenizer_config.json names the special tokens; where it says whether to add them, it wins over
// the post-processor, as transformers does it.
void PipelineReader::read_config(const std::optional<element>& config, const Ends& ends) {
  spec_.bos = ends.first;
  spec_.eos = ends.last;
  spec_.add_bos = ends.first.has_value();
  spec_.add_eos = ends.last.has_value();
  if (!config) return;
  const auto named = [&](std::string_view key) {
    const std::string_view text = text_of(*config, key);
    element object;
    if (!text.empty() || (*config)[key].get(object)) return find_token(text);
    return find_token(text_of(object, "content"));
  };
  const auto take = [](std::optional<Token>& id, std::optional<Token> found) {
    if (found) id = found;
  };
  take(spec_.bos, named("bos_token"));
  take(spec_.eos, named("eos_token"));
  take(spec_.pad, named("pad_token"));
  spec_.add_bos = flag(*config, "add_bos_token", spec_.add_bos) && spec_.bos;
  spec_.add_eos = flag(*config, "add_eos_token", spec_.add_eos) && spec_.eos;
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_from_json(std::string_view tokenizer, std::string_view config,
                                               const std::string& source) {
  simdjson::dom::parser parser;
  simdjson::dom::parser config_parser;
  element root;
  const simdjson::padded_string padded(tokenizer);
  if (const auto error = parser.parse(padded).get(root)) {
    return fail(Code::corrupt, "{}: {}", source, simdjson::error_message(error));
  }
  std::optional<element> config_root;
  if (!config.empty()) {
    const simdjson::padded_string padded_config(config);
    element parsed;
    if (const auto error = config_parser.parse(padded_config).get(parsed)) {
      return fail(Code::corrupt, "{}: tokenizer_config.json: {}", source,
                  simdjson::error_message(error));
    }
    config_root = parsed;
  }
  return PipelineReader(source, root).read(config_root);
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
