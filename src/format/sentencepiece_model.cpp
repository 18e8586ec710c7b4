// A small reader of the protocol buffer wire format, and the fields of the four messages that
// matter. Unknown fields are skipped; messages nest one deep, so nothing is recursive.
#include "format/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <optional>

#include "format/tokenizer_json_config.h"
#include "text/end_of_turn.h"

namespace ruv {
namespace {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// One field of a message.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t integer = 0;  // varint, fixed64, fixed32
  Bytes bytes{};         // bytes
};

// Base 128, the lowest seven bits first; at most ten bytes.
Result<uint64_t> read_varint(ByteReader& reader) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = TRY(reader.read<uint8_t>("varint"));
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return reader.error("varint", "is longer than ten bytes");
}

// The next field; nothing at the end of the message.
Result<std::optional<Field>> next_field(ByteReader& reader) {
  if (reader.remaining() == 0) return std::optional<Field>();
  const uint64_t key = TRY(read_varint(reader));
  if (key >> 3 == 0 || key >> 32 != 0) return reader.error("key", "is not a field");
  Field field{.number = static_cast<uint32_t>(key >> 3)};
  switch (key & 7) {
    case 0:
      field.integer = TRY(read_varint(reader));
      break;
    case 1:
      field.type = WireType::fixed64;
      field.integer = TRY(reader.read<uint64_t>("fixed64"));
      break;
    case 2:
      field.type = WireType::bytes;
      field.bytes = TRY(reader.take(TRY(read_varint(reader)), "bytes"));
      break;
    case 5:
      field.type = WireType::fixed32;
      field.integer = TRY(reader.read<uint32_t>("fixed32"));
      break;
    default:
      return reader.error("key", "has no known wire type: the file is not a SentencePiece model");
  }
  return std::optional<Field>(field);
}

// Calls on_field(field) -> Status for each field of a message.
template <class OnField>
Status each_field(Bytes message, const std::string& source, const OnField& on_field) {
  ByteReader reader(message, source);
  while (const std::optional<Field> field = TRY(next_field(reader))) TRY(on_field(*field));
  return {};
}

// What trainer_spec and normalizer_spec say, with SentencePiece's defaults.
struct Options {
  uint64_t model_type = 1;
  bool whitespace_as_suffix = false;
  bool byte_fallback = false;
  std::string_view bos_piece = "<s>", eos_piece = "</s>", pad_piece = "<pad>";
  std::string_view unk_surface = " \u2047 ";
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Collects the pieces and options of one model.
class ModelReader {
 public:
  explicit ModelReader(const std::string& source) : source_(source) {}

  Result<TokenizerSpec> read(Bytes bytes);

 private:
  Status read_piece(Bytes message);
  Status read_trainer(Bytes message);
  Status read_normalizer(Bytes message);
  Status check_options();
  std::optional<Token> control(std::string_view piece) const;
  void finish();

  tl::unexpected<Status> unsupported(std::string_view what) const {
    return fail(Code::unsupported, "{}: {} is not supported", source_, what);
  }

  const std::string& source_;
  Options options_;
  TokenizerSpec spec_;
};

Result<TokenizerSpec> ModelReader::read(Bytes bytes) {
  TRY(each_field(bytes, source_, [&](const Field& field) -> Status {
    if (field.type != WireType::bytes) return {};
    if (field.number == 1) return read_piece(field.bytes);
    if (field.number == 2) return read_trainer(field.bytes);
    if (field.number == 3) return read_normalizer(field.bytes);
    return {};
  }));
  if (spec_.tokens.empty()) return fail(Code::corrupt, "{}: no pieces", source_);
  TRY(check_options());
  finish();
  return std::move(spec_);
}

// A piece's id is its position.
Status ModelReader::read_piece(Bytes message) {
  constexpr TokenKind kKinds[] = {TokenKind::normal,  TokenKind::normal,       TokenKind::unknown,
                                  TokenKind::control, TokenKind::user_defined, TokenKind::unused,
                                  TokenKind::byte};
  const size_t id = spec_.tokens.size();
  if (id >= INT32_MAX) return fail(Code::corrupt, "{}: too many pieces", source_);
  std::string_view text;
  float score = 0;
  uint64_t type = 1;
  TRY(each_field(message, source_, [&](const Field& field) -> Status {
    if (field.number == 1 && field.type == WireType::bytes) text = as_text(field.bytes);
    if (field.number == 2 && field.type == WireType::fixed32) {
      score = std::bit_cast<float>(static_cast<uint32_t>(field.integer));
    }
    if (field.number == 3 && field.type == WireType::varint) type = field.integer;
    return {};
  }));
  if (type < 1 || type > 6) {
    return fail(Code::corrupt, "{}: pieces[{}]: type {} is not 1 to 6", source_, id, type);
  }
  if (std::isnan(score)) return fail(Code::corrupt, "{}: pieces[{}]: score is NaN", source_, id);
  spec_.tokens.emplace_back(text);
  spec_.scores.push_back(score);
  spec_.kinds.push_back(kKinds[type]);
  return {};
}

Status ModelReader::read_trainer(Bytes message) {
  return each_field(message, source_, [&](const Field& field) -> Status {
    if (field.type == WireType::bytes) {
      if (field.number == 46) options_.bos_piece = as_text(field.bytes);
      if (field.number == 47) options_.eos_piece = as_text(field.bytes);
      if (field.number == 44) options_.unk_surface = as_text(field.bytes);
      if (field.number == 48) options_.pad_piece = as_text(field.bytes);
    }
    if (field.type != WireType::varint) return {};
    if (field.number == 3) options_.model_type = field.integer;
    if (field.number == 24) options_.whitespace_as_suffix = field.integer != 0;
    if (field.number == 35) options_.byte_fallback = field.integer != 0;
    return {};
  });
}

Status ModelReader::read_normalizer(Bytes message) {
  return each_field(message, source_, [&](const Field& field) -> Status {
    if (field.number == 2 && field.type == WireType::bytes) {
      options_.charsmap = as_text(field.bytes);
    }
    if (field.type != WireType::varint) return {};
    if (field.number == 3) options_.add_dummy_prefix = field.integer != 0;
    if (field.number == 4) options_.remove_extra_whitespaces = field.integer != 0;
    if (field.number == 5) options_.escape_whitespaces = field.integer != 0;
    return {};
  });
}

// Refuses options that would change tokens in ways that the tokenizer does not know.
Status ModelReader::check_options() {
  if (options_.model_type == 1) {
    spec_.kind = TokenizerKind::unigram;
  } else if (options_.model_type == 2) {
    spec_.kind = TokenizerKind::sentencepiece_bpe;
  } else {
    const std::string_view name = options_.model_type == 3   ? "word"
                                  : options_.model_type == 4 ? "char"
                                                             : "unknown";
    return unsupported(fmt::format("model type {} (\"{}\")", options_.model_type, name));
  }
  if (options_.whitespace_as_suffix) return unsupported("treat_whitespace_as_suffix");
  if (!options_.escape_whitespaces) return unsupported("escape_whitespaces = false");
  return {};
}

// SentencePiece finds its own ids by their pieces; the numbers in trainer_spec are for training.
std::optional<Token> ModelReader::control(std::string_view piece) const {
  const std::optional<Token> id = find_token(spec_, piece);
  const bool found = id && spec_.kinds[static_cast<size_t>(*id)] == TokenKind::control;
  return found ? id : std::nullopt;
}

void ModelReader::finish() {
  spec_.byte_fallback = options_.byte_fallback;
  spec_.add_space_prefix = options_.add_dummy_prefix;
  // SentencePiece puts its prefix before the whole text, whatever that begins with.
  spec_.prefix_first_only = spec_.prefix_before_added = options_.add_dummy_prefix;
  spec_.remove_extra_spaces = options_.remove_extra_whitespaces;
  if (!options_.charsmap.empty()) {
    spec_.normalizers.push_back(
        {.kind = NormalizerKind::charsmap, .pattern = {}, .content = std::move(options_.charsmap)});
  }
  spec_.unknown_text = options_.unk_surface;
  spec_.bos = control(options_.bos_piece);
  spec_.eos = control(options_.eos_piece);
  spec_.pad = control(options_.pad_piece);
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const TokenKind kind = spec_.kinds[i];
    if (kind == TokenKind::unknown) spec_.unk = static_cast<Token>(i);
    const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (!special && kind != TokenKind::user_defined) continue;
    spec_.added.push_back(
        {.id = static_cast<Token>(i), .text = spec_.tokens[i], .special = special});
  }
  // The file does not say it: BPE models of this format begin a text, T5's kind ends one.
  spec_.add_bos = spec_.kind == TokenizerKind::sentencepiece_bpe && spec_.bos;
  spec_.add_eos = !spec_.bos && spec_.eos;
  spec_.end_of_turn = find_end_of_turn(spec_);
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_from_sentencepiece(Bytes bytes, const std::string& source) {
  return ModelReader(source).read(bytes);
}

}  // namespace ruv
