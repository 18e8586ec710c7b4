// tokenizer_config.json: every member is optional.
#include "format/tokenizer_json_config.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "format/json_members.h"

namespace ruv {
namespace {

// A token's text, which is given plainly or as the member "content".
std::string_view token_text(const JsonElement& config, std::string_view key) {
  JsonElement token;
  if (config[key].get(token)) return {};
  std::string_view text;
  if (!token.get(text)) return text;
  return text_of(token, "content");
}

// Tokens of added_tokens_decoder that the tokenizer's file does not have.
Status add_missing_tokens(const JsonElement& config, const std::string& source,
                          TokenizerSpec& spec) {
  const auto tokens = member<JsonObject>(config, "added_tokens_decoder");
  if (!tokens) return {};
  const size_t n_listed = tokens->size();
  const auto max_id = static_cast<int64_t>(2 * (spec.tokens.size() + n_listed) + 1024);
  std::unordered_set<Token> known;
  for (const AddedToken& added : spec.added) known.insert(added.id);
  for (const auto& [key, token] : *tokens) {
    AddedToken added;
    const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), added.id);
    const auto content = member<std::string_view>(token, "content");
    if (wrong != std::errc() || end != key.data() + key.size() || added.id < 0 || !content) {
      return fail(Code::corrupt,
                  "{}: tokenizer_config.json: added_tokens_decoder: \"{}\" is not a token", source,
                  key);
    }
    if (!known.insert(added.id).second) continue;
    added.text = *content;
    added.special = flag_of(token, "special", false);
    added.lstrip = flag_of(token, "lstrip", false);
    added.rstrip = flag_of(token, "rstrip", false);
    added.single_word = flag_of(token, "single_word", false);
    added.normalized = flag_of(token, "normalized", !added.special);
    TRY(place_added_token(std::move(added), max_id, source + ": tokenizer_config.json", spec));
  }
  return {};
}

}  // namespace

std::optional<Token> find_token(const TokenizerSpec& spec, std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const AddedToken& added : spec.added) {
    if (added.text == text) return added.id;
  }
  const auto found = std::find(spec.tokens.begin(), spec.tokens.end(), text);
  if (found == spec.tokens.end()) return std::nullopt;
  return static_cast<Token>(found - spec.tokens.begin());
}

// The token table grows to the id, with unused tokens in between.
Status place_added_token(AddedToken added, int64_t max_id, const std::string& source,
                         TokenizerSpec& spec) {
  if (added.id < 0 || added.id > max_id) {
    return fail(Code::corrupt, "{}: token \"{}\" has id {}, outside 0 to {}", source, added.text,
                added.id, max_id);
  }
  const auto i = static_cast<size_t>(added.id);
  if (i >= spec.tokens.size()) {
    spec.tokens.resize(i + 1);
    spec.kinds.resize(i + 1, TokenKind::unused);
    if (!spec.scores.empty()) spec.scores.resize(i + 1, 0.0F);
    if (!spec.wide_scores.empty()) spec.wide_scores.resize(i + 1, 0.0);
  }
  if (spec.kinds[i] != TokenKind::unused && spec.tokens[i] != added.text) {
    return fail(Code::corrupt, "{}: tokens \"{}\" and \"{}\" have id {}", source, spec.tokens[i],
                added.text, added.id);
  }
  spec.tokens[i] = added.text;
  spec.kinds[i] = added.id == spec.unk ? TokenKind::unknown
                  : added.special      ? TokenKind::control
                                       : TokenKind::user_defined;
  spec.added.push_back(std::move(added));
  return {};
}

Status apply_tokenizer_config(std::string_view config, const std::string& source,
                              TokenizerSpec& spec) {
  if (config.empty()) return {};
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(config);
  JsonElement root;
  if (const auto error = parser.parse(padded).get(root)) {
    return fail(Code::corrupt, "{}: tokenizer_config.json: {}", source,
                simdjson::error_message(error));
  }
  TRY(add_missing_tokens(root, source, spec));
  const auto take = [&](std::optional<Token>& id, std::string_view key) {
    if (const auto found = find_token(spec, token_text(root, key))) id = found;
  };
  // A null names no token, though one that the tokenizer's file states still begins a text.
  JsonElement bos;
  if (!root["bos_token"].get(bos) && bos.is_null()) spec.bos = std::nullopt;
  take(spec.bos, "bos_token");
  take(spec.eos, "eos_token");
  take(spec.pad, "pad_token");
  // Where the config says whether there are any, bos and eos are what a text is put between.
  const bool is_said = member<bool>(root, "add_bos_token").has_value() ||
                       member<bool>(root, "add_eos_token").has_value();
  if (!is_said) return {};
  spec.lead.clear();
  spec.trail.clear();
  spec.add_bos = flag_of(root, "add_bos_token", spec.add_bos) && spec.bos;
  spec.add_eos = flag_of(root, "add_eos_token", spec.add_eos) && spec.eos;
  return {};
}

}  // namespace ruv
