// Every key is optional in practice but model and tokens; what is there must have its type.
#include "format/gguf_vocab.h"

#include <algorithm>
#include <iterator>

#include "text/end_of_turn.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

// Typed look-ups by the key's last part.
class VocabKeys {
 public:
  VocabKeys(const std::map<std::string, MetaValue, std::less<>>& metadata,
            const std::string& source)
      : metadata_(metadata), source_(source) {}

  // Empty when absent. Fails: corrupt when of another type.
  template <class T>
  Result<std::optional<T>> get(std::string_view key) const {
    const auto found = metadata_.find(fmt::format("{}{}", kPrefix, key));
    if (found == metadata_.end()) return std::optional<T>();
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return error(key, "has the wrong type");
    return std::optional<T>(*value);
  }

  // The array of a key; null when absent.
  Result<std::shared_ptr<const MetaArray>> array(std::string_view key) const {
    const auto found = TRY(get<std::shared_ptr<const MetaArray>>(key));
    return found.value_or(nullptr);
  }

  Result<std::optional<Token>> id(std::string_view key, size_t n_tokens) const {
    const std::optional<int64_t> value = TRY(get<int64_t>(key));
    // Converters write 2^32 - 1 for "none".
    if (!value || *value == -1 || *value == UINT32_MAX) return std::optional<Token>();
    if (*value < 0 || *value >= static_cast<int64_t>(n_tokens)) {
      return error(key, fmt::format("is {}, outside the {} tokens", *value, n_tokens));
    }
    return std::optional<Token>(static_cast<Token>(*value));
  }

  // general.architecture, or empty.
  std::string architecture() const {
    const auto found = metadata_.find("general.architecture");
    const std::string* name =
        found == metadata_.end() ? nullptr : std::get_if<std::string>(&found->second);
    return name == nullptr ? "" : *name;
  }

  tl::unexpected<Status> error(std::string_view key, std::string_view what,
                               Code code = Code::corrupt) const {
    return fail(code, "{}: {}{} {}", source_, kPrefix, key, what);
  }

 private:
  const std::map<std::string, MetaValue, std::less<>>& metadata_;
  const std::string& source_;
};

Status read_tokens(const VocabKeys& keys, TokenizerSpec& spec) {
  const auto tokens = TRY(keys.array("tokens"));
  if (tokens == nullptr || tokens->strings.empty()) {
    return keys.error("tokens", "is missing or empty", Code::not_found);
  }
  spec.tokens = tokens->strings;
  const size_t n = spec.tokens.size();
  if (n > INT32_MAX) return keys.error("tokens", "is too long");
  if (const auto scores = TRY(keys.array("scores"))) {
    if (scores->numbers.size() != n) return keys.error("scores", "differs from tokens in size");
    spec.scores.assign(scores->numbers.begin(), scores->numbers.end());
  }
  if (const auto merges = TRY(keys.array("merges"))) spec.merges = merges->strings;
  return {};
}

Status read_kinds(const VocabKeys& keys, TokenizerSpec& spec) {
  spec.kinds.assign(spec.tokens.size(), TokenKind::normal);
  const auto types = TRY(keys.array("token_type"));
  if (types == nullptr) return {};
  if (types->integers.size() != spec.kinds.size()) {
    return keys.error("token_type", "differs from tokens in size");
  }
  constexpr TokenKind kKinds[] = {TokenKind::normal,  TokenKind::normal,       TokenKind::unknown,
                                  TokenKind::control, TokenKind::user_defined, TokenKind::unused,
                                  TokenKind::byte};
  for (size_t i = 0; i < spec.kinds.size(); ++i) {
    const int64_t type = types->integers[i];
    if (type < 0 || type >= std::ssize(kKinds)) {
      return keys.error("token_type", fmt::format("[{}] is {}, not 0 to 6", i, type));
    }
    spec.kinds[i] = kKinds[type];
  }
  return {};
}

// Phi-3's file format has no place for it, but its template relies on it: white space after these
// tokens is not text.
bool strips_right(const std::string& architecture, std::string_view text) {
  return architecture == "phi3" && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
}

void add_special_tokens(const std::string& architecture, TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const TokenKind kind = spec.kinds[i];
    const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (!special && kind != TokenKind::user_defined) continue;
    AddedToken added{.id = static_cast<Token>(i), .text = spec.tokens[i], .special = special};
    added.rstrip =
        spec.kind == TokenizerKind::sentencepiece_bpe && strips_right(architecture, spec.tokens[i]);
    spec.added.push_back(std::move(added));
  }
}

Status read_ids(const VocabKeys& keys, TokenizerSpec& spec) {
  const size_t n = spec.tokens.size();
  spec.bos = TRY(keys.id("bos_token_id", n));
  spec.eos = TRY(keys.id("eos_token_id", n));
  spec.unk = TRY(keys.id("unknown_token_id", n));
  spec.pad = TRY(keys.id("padding_token_id", n));
  if (spec.kind == TokenizerKind::sentencepiece_bpe && n > 2) {
    // SentencePiece's own numbering.
    spec.unk = spec.unk.value_or(0);
    spec.bos = spec.bos.value_or(1);
    spec.eos = spec.eos.value_or(2);
  }
  spec.end_of_turn = find_end_of_turn(spec);
  for (const std::string_view key : {"eot_token_id", "eom_token_id"}) {
    const std::optional<Token> id = TRY(keys.id(key, n));
    if (id && std::ranges::count(spec.end_of_turn, *id) == 0) spec.end_of_turn.push_back(*id);
  }
  return {};
}

Status read_flags(const VocabKeys& keys, TokenizerSpec& spec) {
  const bool pieces = spec.kind == TokenizerKind::sentencepiece_bpe;
  const bool llama3 = spec.pre == "llama-bpe" || spec.pre == "llama3" || spec.pre == "llama-v3" ||
                      spec.pre == "falcon3" || spec.pre == "pixtral";
  spec.ignore_merges = !pieces && (llama3 || spec.pre == "tekken");
  spec.add_bos = TRY(keys.get<bool>("add_bos_token")).value_or(pieces || llama3) && spec.bos;
  spec.add_eos = TRY(keys.get<bool>("add_eos_token")).value_or(false) && spec.eos;
  // For byte_bpe the key is written but readers do not use it.
  spec.add_space_prefix = pieces && TRY(keys.get<bool>("add_space_prefix")).value_or(true);
  // The file format has no key for it; Qwen's own tokenizers normalise.
  if (spec.pre == "qwen2" || spec.pre == "qwen3" || spec.pre == "qwen35") {
    spec.normalizers.push_back({.kind = NormalizerKind::nfc});
  }
  spec.remove_extra_spaces = TRY(keys.get<bool>("remove_extra_whitespaces")).value_or(false);
  return {};
}

// Files older than the key "pre" have one possible scheme for some architectures.
Result<std::string> scheme_without_key(const VocabKeys& keys) {
  struct Row {
    std::string_view architecture, scheme;
  };
  constexpr Row kRows[] = {{"gpt2", "gpt-2"},          {"gptneox", "gpt-2"},
                           {"phi2", "gpt-2"},          {"qwen2", "qwen2"},
                           {"starcoder", "starcoder"}, {"starcoder2", "starcoder"},
                           {"falcon", "falcon"}};
  const std::string architecture = keys.architecture();
  for (const Row& row : kRows) {
    if (row.architecture == architecture) return std::string(row.scheme);
  }
  return keys.error("pre",
                    "is missing, so how words are split is not known: convert the model again",
                    Code::unsupported);
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_from_metadata(
    const std::map<std::string, MetaValue, std::less<>>& metadata, const std::string& source) {
  const VocabKeys keys(metadata, source);
  const std::optional<std::string> model = TRY(keys.get<std::string>("model"));
  if (!model) return keys.error("model", "is missing: the file has no tokenizer", Code::not_found);
  TokenizerSpec spec;
  if (*model == "llama") {
    spec.kind = TokenizerKind::sentencepiece_bpe;
  } else if (*model != "gpt2") {
    return keys.error("model", fmt::format("\"{}\" is not supported: llama and gpt2 are", *model),
                      Code::unsupported);
  }
  TRY(read_tokens(keys, spec));
  TRY(read_kinds(keys, spec));
  if (spec.kind == TokenizerKind::byte_bpe) {
    const std::optional<std::string> pre = TRY(keys.get<std::string>("pre"));
    spec.pre = pre ? *pre : TRY(scheme_without_key(keys));
    if (const auto known = PreTokenizer::find(spec.pre); !known) {
      return failure(with_context(source, known.error()));
    }
    spec.scores.clear();
  } else {
    if (spec.scores.empty()) return keys.error("scores", "is missing");
    spec.merges.clear();
  }
  TRY(read_ids(keys, spec));
  TRY(read_flags(keys, spec));
  add_special_tokens(keys.architecture(), spec);
  return spec;
}

}  // namespace ruv
