// Readers normalise by the table alone and cut whole texts; tokenizer.json normalises grapheme by
// grapheme and cuts words, which gives other tokens now and then.
#include "format/gguf_pieces.h"

#include "base/file.h"
#include "format/tokenizer_file.h"

namespace ruv {
namespace {

constexpr std::string_view kPieceFiles[] = {"spiece.model", "sentencepiece.bpe.model",
                                            "tokenizer.model"};

}  // namespace

std::string_view unwritten_pieces(const TokenizerSpec& spec) {
  const bool cuts = !spec.splits.empty() || spec.split_at_spaces || spec.prefix_if_missing;
  if (cuts) return "cuts words by rules that have no name there";
  if (spec.normalizers.size() > 1) return "has steps that have no name there";
  for (const NormalizerStep& step : spec.normalizers) {
    if (step.kind != NormalizerKind::charsmap || !step.pattern.empty()) {
      return "has steps that have no name there";
    }
  }
  return {};
}

Result<TokenizerSpec> written_spec(const ModelFile& model, TokenizerSpec spec) {
  if (spec.kind != TokenizerKind::unigram || unwritten_pieces(spec).empty()) return spec;
  for (const std::string_view name : kPieceFiles) {
    const std::string path = fmt::format("{}/{}", model.path(), name);
    if (!file_exists(path)) continue;
    TokenizerSpec pieces = TRY(read_tokenizer_spec(path, ""));
    const size_t n = pieces.tokens.size();
    if (pieces.kind != TokenizerKind::unigram || n > spec.tokens.size() ||
        !std::equal(pieces.tokens.begin(), pieces.tokens.end(), spec.tokens.begin())) {
      return fail(Code::unsupported, "{}: its pieces differ from those of tokenizer.json", path);
    }
    for (size_t id = n; id < spec.tokens.size(); ++id) {
      pieces.tokens.push_back(spec.tokens[id]);
      pieces.kinds.push_back(spec.kinds[id]);
      pieces.scores.push_back(0.0F);
    }
    pieces.bos = spec.bos, pieces.eos = spec.eos, pieces.unk = spec.unk, pieces.pad = spec.pad;
    pieces.add_bos = spec.add_bos, pieces.add_eos = spec.add_eos;
    pieces.lead = spec.lead, pieces.trail = spec.trail;
    pieces.end_of_turn = spec.end_of_turn;
    return pieces;
  }
  return spec;
}

void add_piece_keys(const TokenizerSpec& spec, GgufWriter& out) {
  out.add_bool("tokenizer.ggml.remove_extra_whitespaces", spec.remove_extra_spaces);
  if (spec.normalizers.empty()) return;
  const std::string& table = spec.normalizers.front().content;
  out.add_bytes("tokenizer.ggml.precompiled_charsmap", as_bytes(table));
}

}  // namespace ruv
