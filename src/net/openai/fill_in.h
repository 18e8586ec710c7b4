// Texts that fill a gap: a prompt before it and a suffix after it, joined by the control tokens
// that models of code were trained with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/api_error.h"
#include "net/model_text.h"

namespace ruv {

struct FillMarks {
  Token prefix;      // before the text that precedes the gap
  Token suffix;      // before the text that follows it
  Token middle;      // where the gap begins; -1: after the preceding text, which comes last
  Token repository;  // before the name of a project; -1: there is none
  Token file;        // before the name and the text of a file; -1: there is none
  // These end what fills the gap, besides the model's own end tokens.
  std::vector<Token> ends;
};

// Nothing: the model has no such tokens.
std::optional<FillMarks> fill_marks(const ModelText& text);

// Another file, which the model sees before the gap.
struct FillFile {
  std::string name;
  std::string text;
};

struct FillGap {
  std::string_view before;
  std::string_view after;
  std::string_view begun = {};  // the beginning of what fills the gap
  std::span<const FillFile> files = {};
};

// The prompt that asks for what fills the gap. All texts are plain: control tokens written in them
// stay text. Models without marks for files get the texts of these alone. Fails: 400 as encoding
// does.
ApiResult<std::vector<Token>> fill_prompt(const ModelText& text, const FillMarks& marks,
                                          const FillGap& gap);

}  // namespace ruv
