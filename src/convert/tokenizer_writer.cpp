// The steps of both kinds are those that converters of the packages write for them.
#include "convert/tokenizer_writer.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/json.h"
#include "base/json_writer.h"
#include "convert/score_merges.h"
#include "text/space_mark.h"
#include "text/split/schemes.h"
#include "text/tokenizer.h"

namespace ruv {
namespace {

Json pattern_step(std::string_view regex) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Json sequence(std::string_view list, Json steps) {
  Json json = {{"type", "Sequence"}};
  json[list] = std::move(steps);
  return json;
}

// A text is between bos and eos, where the tokenizer puts them.
Json template_step(const TokenizerSpec& spec) {
  Json single = Json::array(), pair = Json::array(), tokens = Json::object();
  const auto add = [&](const std::optional<Token>& id, int type) {
    const std::string& text = spec.tokens[static_cast<size_t>(*id)];
    const Json item = {{"SpecialToken", {{"id", text}, {"type_id", type}}}};
    if (type == 0) single.push_back(item);
    pair.push_back(item);
    tokens[text] = {{"id", text}, {"ids", Json::array({*id})}, {"tokens", Json::array({text})}};
  };
  for (const int type : {0, 1}) {
    if (spec.add_bos) add(spec.bos, type);
    const Json text = {{"Sequence", {{"id", type == 0 ? "A" : "B"}, {"type_id", type}}}};
    if (type == 0) single.push_back(text);
    pair.push_back(text);
    if (spec.add_eos) add(spec.eos, type);
  }
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(tokens)}};
}

Json byte_level(bool trims) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", trims},
          {"use_regex", false}};
}

// The steps around the model: "normalizer", "pre_tokenizer", "post_processor", "decoder".
struct Steps {
  Json normalizer, pre_tokenizer, post_processor, decoder;
};

// Words are cut by the patterns of the file's scheme.
Steps byte_steps(const TokenizerSpec& spec) {
  Steps steps;
  if (!spec.normalizers.empty()) steps.normalizer = {{"type", "NFC"}};
  Json cuts = Json::array();
  for (const std::string_view regex : scheme_patterns(spec.pre))
    cuts.push_back(pattern_step(regex));
  cuts.push_back(byte_level(true));
  steps.pre_tokenizer = sequence("pretokenizers", std::move(cuts));
  steps.post_processor = byte_level(false);
  steps.decoder = byte_level(true);
  return steps;
}

Json replace_step(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

// Spaces become marks; decoding takes the first one away where encoding added it.
Steps piece_steps(const TokenizerSpec& spec) {
  Steps steps;
  Json marks = Json::array();
  if (spec.add_space_prefix) marks.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
  marks.push_back(replace_step(" ", kSpaceMark));
  steps.normalizer = sequence("normalizers", std::move(marks));
  Json undone = Json::array({replace_step(kSpaceMark, " ")});
  undone.push_back({{"type", "ByteFallback"}});
  undone.push_back({{"type", "Fuse"}});
  if (spec.add_space_prefix) {
    undone.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  steps.decoder = sequence("decoders", std::move(undone));
  return steps;
}

// In the order of ids, which the package takes them in.
void write_added(const TokenizerSpec& spec, JsonWriter& out) {
  std::vector<const AddedToken*> added;
  for (const AddedToken& token : spec.added) added.push_back(&token);
  std::ranges::sort(added, {}, &AddedToken::id);
  out.key("added_tokens");
  out.begin_array();
  for (const AddedToken* const token : added) {
    out.begin_object();
    out.key("id");
    out.integer(token->id);
    out.key("content");
    out.text(token->text);
    for (const auto& [name, truth] : {std::pair("single_word", token->single_word),
                                      {"lstrip", token->lstrip},
                                      {"rstrip", token->rstrip},
                                      {"normalized", token->normalized},
                                      {"special", token->special}}) {
      out.key(name);
      out.boolean(truth);
    }
    out.end_object();
  }
  out.end_array();
}

// All tokens have their ids in the vocabulary, so that added ones get no others.
void write_model(const TokenizerSpec& spec, const std::vector<std::string>& merges,
                 JsonWriter& out) {
  const bool pieces = spec.kind == TokenizerKind::sentencepiece_bpe;
  out.key("model");
  out.begin_object();
  out.key("type");
  out.text("BPE");
  out.key("dropout");
  out.null();
  out.key("unk_token");
  const bool has_unknown =
      spec.unk && (pieces || spec.kinds[static_cast<size_t>(*spec.unk)] == TokenKind::unknown);
  out.text_or_null(has_unknown ? spec.tokens[static_cast<size_t>(*spec.unk)] : "");
  out.key("continuing_subword_prefix");
  out.null();
  out.key("end_of_word_suffix");
  out.null();
  for (const auto& [name, truth] : {std::pair("fuse_unk", pieces && spec.fuse_unknown),
                                    {"byte_fallback", pieces && spec.byte_fallback},
                                    {"ignore_merges", spec.ignore_merges}}) {
    out.key(name);
    out.boolean(truth);
  }
  out.key("vocab");
  out.begin_object();
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.kinds[id] == TokenKind::unused) continue;  // no text has it
    out.key(spec.tokens[id]);
    out.integer(id);
  }
  out.end_object();
  out.key("merges");
  out.begin_array();
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    out.begin_array();
    out.text(std::string_view(merge).substr(0, space));
    out.text(std::string_view(merge).substr(space + 1));
    out.end_array();
  }
  out.end_array();
  out.end_object();
}

// A JSON object has each text once.
Status check_texts(const TokenizerSpec& spec, const std::string& source) {
  std::set<std::string_view> texts;
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.kinds[id] == TokenKind::unused || texts.insert(spec.tokens[id]).second) continue;
    return fail(Code::unsupported,
                "{}: 'tokenizer.ggml.tokens': token {} has the text of another one, and a "
                "tokenizer.json has each text once",
                source, id);
  }
  return {};
}

// Kinds whose files have other parts are refused.
Status check_kind(const TokenizerSpec& spec, const std::string& source) {
  const bool bytes = spec.kind == TokenizerKind::byte_bpe;
  std::string_view what;
  if (!bytes && spec.kind != TokenizerKind::sentencepiece_bpe) what = "is of another kind";
  if (bytes && (spec.raw_tokens || spec.merges.empty())) what = "has no list of merges";
  if (bytes && scheme_patterns(spec.pre).empty()) what = "has words of a kind without patterns";
  if (!bytes && spec.remove_extra_spaces) what = "removes spaces";
  if (what.empty()) return {};
  return fail(Code::unsupported,
              "{}: the tokenizer ('tokenizer.ggml.model', 'tokenizer.ggml.pre') {}, which is not "
              "written as a tokenizer.json; byte-level BPE and SentencePiece's BPE are",
              source, what);
}

}  // namespace

Result<std::string> tokenizer_json_of(const TokenizerSpec& spec, const std::string& source) {
  TRY(check_kind(spec, source));
  TRY(check_texts(spec, source));
  const bool pieces = spec.kind == TokenizerKind::sentencepiece_bpe;
  const std::vector<std::string> merges =
      pieces && spec.merges.empty() ? TRY(merges_of_scores(spec, source)) : spec.merges;
  Steps steps = pieces ? piece_steps(spec) : byte_steps(spec);
  if (spec.add_bos || spec.add_eos) steps.post_processor = template_step(spec);
  std::string text;
  JsonWriter out(text, 1);
  out.begin_object();
  out.key("version");
  out.text("1.0");
  out.key("truncation");
  out.null();
  out.key("padding");
  out.null();
  write_added(spec, out);
  for (const auto& [name, step] : {std::pair("normalizer", &steps.normalizer),
                                   {"pre_tokenizer", &steps.pre_tokenizer},
                                   {"post_processor", &steps.post_processor},
                                   {"decoder", &steps.decoder}}) {
    out.key(name);
    out.value(*step);
  }
  write_model(spec, merges, out);
  out.end_object();
  return text + "\n";
}

std::string tokenizer_config_of(const TokenizerSpec& spec, std::string_view chat_template,
                                int64_t n_positions) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false},
                 {"add_bos_token", spec.add_bos},
                 {"add_eos_token", spec.add_eos}};
  for (const auto& [name, id] : {std::pair("bos_token", spec.bos),
                                 {"eos_token", spec.eos},
                                 {"unk_token", spec.unk},
                                 {"pad_token", spec.pad}}) {
    if (id) config[name] = spec.tokens[static_cast<size_t>(*id)];
  }
  if (n_positions > 0) config["model_max_length"] = n_positions;
  if (!chat_template.empty()) config["chat_template"] = chat_template;
  return config.dump(2) + "\n";
}

namespace {

// Texts that have most of the tokens: each one's own bytes, after a space and after a letter.
std::vector<std::string> probes_of(const Tokenizer& tokenizer) {
  constexpr int32_t kTogether = 64;
  std::vector<std::string> probes = {
      "The quick brown fox jumps over 13 lazy dogs.\n\n  Don't   you?\t'tis 3.14159, 1234567!",
      "int main() { return x->y[0] != 0x1F; }\r\n\r\n// \xC3\xA9t\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87 "
      "\xF0\x9F\x98\x80 \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82"};
  std::string text;
  for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_control(id)) tokenizer.append_bytes(id, true, text);
    if (id % 3 == 0) text += ' ';
    if (id % kTogether != kTogether - 1 && id + 1 < tokenizer.vocab_size()) continue;
    probes.push_back(std::move(text));
    text.clear();
  }
  return probes;
}

bool same_list(std::vector<Token> a, std::vector<Token> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

// What differs in the tables; empty: nothing.
std::string table_difference(const TokenizerSpec& a, const TokenizerSpec& b) {
  if (a.kind != b.kind) return "tokenizer.ggml.model";
  if (b.tokens.size() > a.tokens.size()) return "tokenizer.ggml.tokens";
  for (size_t id = 0; id < a.tokens.size(); ++id) {
    const bool is_there = id < b.tokens.size() && b.kinds[id] != TokenKind::unused;
    if (is_there == (a.kinds[id] == TokenKind::unused)) return "tokenizer.ggml.tokens";
    if (!is_there) continue;
    if (a.tokens[id] != b.tokens[id]) return "tokenizer.ggml.tokens";
    if (a.kinds[id] != b.kinds[id]) {
      return fmt::format("tokenizer.ggml.token_type[{}]", id);
    }
  }
  if (a.bos != b.bos) return "tokenizer.ggml.bos_token_id";
  if (a.eos != b.eos) return "tokenizer.ggml.eos_token_id";
  if (a.unk != b.unk && a.kind == TokenizerKind::sentencepiece_bpe) {
    return "tokenizer.ggml.unknown_token_id";
  }
  if (a.pad != b.pad) return "tokenizer.ggml.padding_token_id";
  if (a.add_bos != b.add_bos) return "tokenizer.ggml.add_bos_token";
  if (a.add_eos != b.add_eos) return "tokenizer.ggml.add_eos_token";
  if (a.add_space_prefix != b.add_space_prefix) return "tokenizer.ggml.add_space_prefix";
  if (!same_list(a.end_of_turn, b.end_of_turn)) return "tokenizer.ggml.eot_token_id";
  const bool bytes = a.kind == TokenizerKind::byte_bpe;
  if (bytes && a.merges != b.merges) return "tokenizer.ggml.merges";
  if (bytes && !std::ranges::equal(scheme_patterns(a.pre), scheme_patterns(b.pre))) {
    return "tokenizer.ggml.pre";
  }
  const auto same_step = [](const NormalizerStep& x, const NormalizerStep& y) {
    return x.kind == y.kind;
  };
  if (!std::ranges::equal(a.normalizers, b.normalizers, same_step)) return "tokenizer.ggml.pre";
  if (a.ignore_merges != b.ignore_merges) return "tokenizer.ggml.pre";
  const auto same_added = [](const AddedToken& x, const AddedToken& y) {
    return x.id == y.id && x.text == y.text && x.special == y.special && x.lstrip == y.lstrip &&
           x.rstrip == y.rstrip && x.single_word == y.single_word && x.normalized == y.normalized;
  };
  if (!std::ranges::equal(a.added, b.added, same_added)) return "tokenizer.ggml.token_type";
  return {};
}

}  // namespace

Status check_same_tokenizer(const TokenizerSpec& source, const TokenizerSpec& written,
                            const std::string& path) {
  const std::string differs = table_difference(source, written);
  if (!differs.empty()) {
    return fail(Code::unsupported, "{}: '{}': a tokenizer.json would not say the same as the file",
                path, differs);
  }
  const auto a = Tokenizer::create(source), b = Tokenizer::create(written);
  if (!a) return tl::unexpected(with_context(path, a.error()));
  if (!b) return tl::unexpected(with_context(path, b.error()));
  std::vector<std::string> probes = probes_of(**a);
  if (!source.scores.empty()) {
    std::ranges::move(TRY(texts_of_ties(source, path)), std::back_inserter(probes));
  }
  for (const std::string& probe : probes) {
    const auto parsed = SpecialParsing::on;
    const std::vector<Token> ids = (*a)->encode_prompt(probe, parsed);
    if (ids == (*b)->encode_prompt(probe, parsed) &&
        (*a)->decode(ids, false) == (*b)->decode(ids, false)) {
      continue;
    }
    return fail(Code::unsupported,
                "{}: 'tokenizer.ggml.scores': a tokenizer.json of this vocabulary would cut texts "
                "elsewhere",
                path);
  }
  return {};
}

}  // namespace ruv
