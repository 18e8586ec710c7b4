#include "net/openai/fill_in.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

// The names that vocabularies have for the marks of one model.
struct MarkNames {
  const char* prefix;
  const char* suffix;
  const char* middle;  // null: there is none, and the suffix comes first
};
constexpr std::array kMarkNames{
    MarkNames{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    MarkNames{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    MarkNames{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    MarkNames{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    MarkNames{"▁<PRE>", "▁<SUF>", "▁<MID>"},
    MarkNames{"<PRE>", "<SUF>", "<MID>"},
    MarkNames{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
    MarkNames{"[PREFIX]", "[SUFFIX]", nullptr},
};
// What models write after the middle, where they have it.
constexpr std::array kEndNames{"<|fim_pad|>", "<fim_pad>",         "<fim-pad>",     "<EOT>",
                               "▁<EOT>",      "<|file_sep|>",      "<|endoftext|>", "<|repo_name|>",
                               "<file_sep>",  "<|file_separator|>"};

// The control token that is written so.
std::optional<Token> mark(const ModelText& text, std::string_view name) {
  const auto encoded = text.encode(name, {.add_special = false, .parse_special = true});
  if (!encoded || encoded->n_tokens != 1) return std::nullopt;
  const Token id = encoded->ids().front();
  // Without control tokens the same name is several tokens.
  const auto plain = text.encode(name, {.add_special = false, .parse_special = false});
  if (plain && plain->n_tokens == 1) return std::nullopt;
  return id;
}

}  // namespace

std::optional<FillMarks> fill_marks(const ModelText& text) {
  for (const MarkNames& names : kMarkNames) {
    const auto prefix = mark(text, names.prefix);
    const auto suffix = prefix ? mark(text, names.suffix) : std::nullopt;
    const auto middle = names.middle == nullptr ? Token{-1} : mark(text, names.middle);
    if (!prefix || !suffix || !middle) continue;
    FillMarks marks{*prefix, *suffix, *middle, {*prefix, *suffix}};
    if (*middle >= 0) marks.ends.push_back(*middle);
    for (const char* name : kEndNames) {
      if (const auto end = mark(text, name)) marks.ends.push_back(*end);
    }
    return marks;
  }
  return std::nullopt;
}

// What the model puts at the beginning of texts stays at the beginning.
ApiResult<std::vector<Token>> fill_prompt(const ModelText& text, const FillMarks& marks,
                                          std::string_view before, std::string_view after) {
  const auto plain = [&](std::string_view part) -> ApiResult<std::vector<Token>> {
    auto encoded = text.encode(part, {.add_special = false, .parse_special = false});
    if (!encoded) return tl::unexpected(api_error(encoded.error(), "prompt"));
    return encoded->ids();
  };
  const auto empty = text.encode("", {});
  if (!empty) return tl::unexpected(api_error(empty.error(), "prompt"));
  std::vector<Token> ids = empty->ids();
  const std::vector<Token> first = TRY(plain(before));
  const std::vector<Token> second = TRY(plain(after));
  const auto add = [&](Token mark, const std::vector<Token>& part) {
    ids.push_back(mark);
    ids.insert(ids.end(), part.begin(), part.end());
  };
  if (marks.middle < 0) {
    add(marks.suffix, second);
    add(marks.prefix, first);
  } else {
    add(marks.prefix, first);
    add(marks.suffix, second);
    ids.push_back(marks.middle);
  }
  return ids;
}

}  // namespace ruv
