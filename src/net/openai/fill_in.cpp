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

// What begins a project and a file in prompts of several files.
constexpr std::array kRepositoryNames{"<|repo_name|>", "<repo_name>", "<reponame>"};
constexpr std::array kFileNames{"<|file_sep|>", "<file_sep>", "<|file_separator|>"};

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

// The first of the names that is a control token; -1: none is.
Token first_mark(const ModelText& text, std::span<const char* const> names) {
  for (const char* name : names) {
    if (const auto found = mark(text, name)) return *found;
  }
  return -1;
}

// Prompts are built of marks and texts.
class FillPrompt {
 public:
  FillPrompt(const ModelText& text, std::vector<Token> beginning)
      : text_(text), ids_(std::move(beginning)) {}

  ApiResult<void> add(Token mark, std::string_view part) {
    ids_.push_back(mark);
    return add(part);
  }
  ApiResult<void> add(std::string_view part) {
    if (part.empty()) return {};
    auto encoded = text_.encode(part, {.add_special = false, .parse_special = false});
    if (!encoded) return tl::unexpected(api_error(encoded.error(), "prompt"));
    const std::vector<Token> ids = encoded->ids();
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return {};
  }
  ApiResult<void> add_files(const FillMarks& marks, std::span<const FillFile> files) {
    if (files.empty()) return {};
    const bool has_marks = marks.repository >= 0 && marks.file >= 0;
    if (has_marks) TRY(add(marks.repository, "myproject\n"));
    for (const FillFile& file : files) {
      if (has_marks) TRY(add(marks.file, file.name + "\n"));
      TRY(add(file.text + "\n"));
    }
    if (has_marks) TRY(add(marks.file, "filename\n"));
    return {};
  }
  std::vector<Token> take() { return std::move(ids_); }

 private:
  const ModelText& text_;
  std::vector<Token> ids_;
};

}  // namespace

std::optional<FillMarks> fill_marks(const ModelText& text) {
  for (const MarkNames& names : kMarkNames) {
    const auto prefix = mark(text, names.prefix);
    const auto suffix = prefix ? mark(text, names.suffix) : std::nullopt;
    const auto middle = names.middle == nullptr ? Token{-1} : mark(text, names.middle);
    if (!prefix || !suffix || !middle) continue;
    FillMarks marks{*prefix,
                    *suffix,
                    *middle,
                    first_mark(text, kRepositoryNames),
                    first_mark(text, kFileNames),
                    {*prefix, *suffix}};
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
                                          const FillGap& gap) {
  const auto empty = text.encode("", {});
  if (!empty) return tl::unexpected(api_error(empty.error(), "prompt"));
  FillPrompt prompt(text, empty->ids());
  TRY(prompt.add_files(marks, gap.files));
  if (marks.middle < 0) {
    TRY(prompt.add(marks.suffix, gap.after));
    TRY(prompt.add(marks.prefix, gap.before));
    TRY(prompt.add(gap.begun));
  } else {
    TRY(prompt.add(marks.prefix, gap.before));
    TRY(prompt.add(marks.suffix, gap.after));
    TRY(prompt.add(marks.middle, gap.begun));
  }
  return prompt.take();
}

}  // namespace ruv
