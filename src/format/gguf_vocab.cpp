// Every key is optional in practice but model and tokens; what is there must have its type.
#include "format/gguf_vocab.h"

#include <algorithm>
#include <iterator>

#include "family/family.h"
#include "family/word_list.h"
#include "format/bert_steps.h"
#include "format/rwkv_vocab.h"
#include "format/vocab_names.h"
#include "text/end_of_turn.h"
#include "text/space_mark.h"
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

// White space after the token is not text.
bool strips_right(const VocabDefaults& defaults, std::string_view text) {
  return !defaults.untrimmed_tokens.empty() && !is_word_of(defaults.untrimmed_tokens, text);
}

void add_special_tokens(const VocabDefaults& defaults, TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const TokenKind kind = spec.kinds[i];
    const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (!special && kind != TokenKind::user_defined) continue;
    if (spec.tokens[i] == fmt::format("[PAD{}]", i)) continue;  // fills up a rounded size
    AddedToken added{.id = static_cast<Token>(i), .text = spec.tokens[i], .special = special};
    added.rstrip =
        spec.kind == TokenizerKind::sentencepiece_bpe && strips_right(defaults, spec.tokens[i]);
    spec.added.push_back(std::move(added));
  }
}

Status read_ids(const VocabKeys& keys, TokenizerSpec& spec) {
  const size_t n = spec.tokens.size();
  spec.bos = TRY(keys.id("bos_token_id", n));
  spec.eos = TRY(keys.id("eos_token_id", n));
  spec.unk = TRY(keys.id("unknown_token_id", n));
  spec.pad = TRY(keys.id("padding_token_id", n));
  const auto otherwise = [n](std::optional<Token>& id, Token usual) {
    if (!id && static_cast<size_t>(usual) < n) id = usual;
  };
  if (spec.kind == TokenizerKind::sentencepiece_bpe && n > 2) {
    // SentencePiece's own numbering.
    otherwise(spec.unk, 0);
    otherwise(spec.bos, 1);
    otherwise(spec.eos, 2);
  } else if (spec.kind == TokenizerKind::unigram) {
    // T5's numbering.
    otherwise(spec.eos, 1);
    otherwise(spec.unk, 2);
  } else if (spec.kind == TokenizerKind::wordpiece) {
    // A text is between these tokens; the misspelt key is the format's.
    spec.bos = TRY(keys.id("cls_token_id", n));
    spec.eos = TRY(keys.id("seperator_token_id", n));
    otherwise(spec.unk, 100);
    otherwise(spec.bos, 101);
    otherwise(spec.eos, 102);
  } else if (spec.kind == TokenizerKind::rwkv_world) {
    otherwise(spec.eos, 0);
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
  const bool unigram = spec.kind == TokenizerKind::unigram;
  const bool words = spec.kind == TokenizerKind::wordpiece;
  const SchemeTraits scheme = scheme_traits_of(spec.pre);
  spec.ignore_merges = !pieces && scheme.whole_words;
  spec.add_bos =
      TRY(keys.get<bool>("add_bos_token")).value_or(pieces || scheme.bos || words) && spec.bos;
  spec.add_eos = TRY(keys.get<bool>("add_eos_token")).value_or(unigram || words) && spec.eos;
  // For byte_bpe the key is written but readers do not use it.
  spec.add_space_prefix =
      (pieces || unigram) && TRY(keys.get<bool>("add_space_prefix")).value_or(true);
  // The file format has no key for it; these models' own tokenizers normalise.
  const bool byte_level = spec.kind == TokenizerKind::byte_bpe;
  if (scheme.nfc || (byte_level && vocab_defaults_of(keys.architecture()).nfc)) {
    spec.normalizers.push_back({.kind = NormalizerKind::nfc});
  }
  spec.remove_extra_spaces = TRY(keys.get<bool>("remove_extra_whitespaces")).value_or(false);
  return {};
}

// The normalisation table of a SentencePiece model, as numbers.
Status read_charsmap(const VocabKeys& keys, TokenizerSpec& spec) {
  const auto charsmap = TRY(keys.array("precompiled_charsmap"));
  if (charsmap == nullptr || charsmap->size() == 0) return {};
  NormalizerStep step{.kind = NormalizerKind::charsmap};
  step.content.reserve(charsmap->integers.size());
  for (const int64_t byte : charsmap->integers) {
    if (byte < -128 || byte > 255) return keys.error("precompiled_charsmap", "holds no bytes");
    step.content += static_cast<char>(byte);
  }
  if (step.content.empty()) return keys.error("precompiled_charsmap", "has the wrong type");
  spec.normalizers.push_back(std::move(step));
  return {};
}

// Files write ▁ at the beginning of a word where BERT's vocabulary has nothing, and nothing where
// it has ##. Whether a vocabulary is cased they do not say, but its tokens do.
void rewrite_word_pieces(TokenizerSpec& spec) {
  bool cased = false;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    std::string& text = spec.tokens[i];
    if (spec.kinds[i] != TokenKind::normal) continue;
    const bool bracketed = text.starts_with('[') && text.ends_with(']');
    if (bracketed && text.size() > 2) continue;
    cased = cased || std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (text.starts_with(kSpaceMark)) {
      text.erase(0, kSpaceMark.size());
    } else {
      text.insert(0, spec.continuing_prefix);
    }
  }
  spec.normalizers = bert_normalizers({.strip_accents = !cased, .lowercase = !cased});
  spec.splits = bert_splits();
  spec.cleanup_spaces = true;
}

Status unescape_tokens(const VocabKeys& keys, TokenizerSpec& spec) {
  spec.raw_tokens = true;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    if (spec.kinds[i] != TokenKind::normal) continue;
    std::optional<std::string> bytes = unescape_rwkv(spec.tokens[i]);
    if (!bytes) return keys.error("tokens", fmt::format("[{}] has a broken escape", i));
    spec.tokens[i] = std::move(*bytes);
  }
  return {};
}

// Files older than the key "pre" have one possible scheme for some architectures.
Result<std::string> scheme_without_key(const VocabKeys& keys) {
  const VocabDefaults defaults = vocab_defaults_of(keys.architecture());
  if (!defaults.splits.empty()) return std::string(defaults.splits);
  return keys.error("pre",
                    "is missing, so how words are split is not known: convert the model again",
                    Code::unsupported);
}

// What each kind needs besides its tokens.
Status read_form(const VocabKeys& keys, const std::string& source, TokenizerSpec& spec) {
  const bool scored =
      spec.kind == TokenizerKind::sentencepiece_bpe || spec.kind == TokenizerKind::unigram;
  if (scored && spec.scores.empty()) return keys.error("scores", "is missing");
  if (!scored) spec.scores.clear();
  if (spec.kind != TokenizerKind::byte_bpe) spec.merges.clear();
  switch (spec.kind) {
    case TokenizerKind::byte_bpe: {
      const std::optional<std::string> pre = TRY(keys.get<std::string>("pre"));
      spec.pre = pre ? *pre : TRY(scheme_without_key(keys));
      const auto known = PreTokenizer::find(spec.pre);
      return known ? Status() : with_context(source, known.error());
    }
    case TokenizerKind::sentencepiece_bpe:
      return {};
    case TokenizerKind::unigram:
      return read_charsmap(keys, spec);
    case TokenizerKind::wordpiece:
      rewrite_word_pieces(spec);
      return {};
    case TokenizerKind::rwkv_world:
      return unescape_tokens(keys, spec);
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_from_metadata(
    const std::map<std::string, MetaValue, std::less<>>& metadata, const std::string& source) {
  const VocabKeys keys(metadata, source);
  const std::optional<std::string> name = TRY(keys.get<std::string>("model"));
  if (!name) return keys.error("model", "is missing: the file has no tokenizer", Code::not_found);
  const std::optional<TokenizerKind> kind = vocab_kind_of(*name);
  if (!kind) {
    return keys.error("model", fmt::format("\"{}\" is not supported: {} are", *name, vocab_names()),
                      Code::unsupported);
  }
  TokenizerSpec spec;
  spec.kind = *kind;
  TRY(read_tokens(keys, spec));
  TRY(read_kinds(keys, spec));
  TRY(read_form(keys, source, spec));
  TRY(read_ids(keys, spec));
  TRY(read_flags(keys, spec));
  add_special_tokens(vocab_defaults_of(keys.architecture()), spec);
  return spec;
}

}  // namespace ruv
