// The steps of a tokenizer.json around its model (normalizer, pre_tokenizer and decoder) as steps
// and flags of a TokenizerSpec. Steps that cannot be expressed there exactly are refused by name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "format/json_members.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// How the steps write a text for the model.
struct PipelineForm {
  bool byte_level = false;    // in GPT-2's byte alphabet
  bool marks_spaces = false;  // with ▁ for the space
};

class PipelineSteps {
 public:
  // `source` is quoted in errors. Requires: all three outlive this.
  PipelineSteps(const JsonElement& root, const std::string& source, TokenizerSpec& spec)
      : root_(root), source_(source), spec_(spec) {}

  // Fills normalizers, splits, pre (where a scheme has just these splits) and the flags of ▁.
  // Fails: corrupt (with the field), unsupported (with the step).
  Result<PipelineForm> read();
  // Decoding follows from spec.kind and its flags; a decoder that says otherwise is refused.
  // Fills cleanup_spaces. Fails: unsupported. Requires: spec.kind and continuing_prefix are set.
  Status check_decoder();

 private:
  Status read_normalizer(const JsonElement& step);
  Status read_replace(const JsonElement& step);
  Status read_prepend(const JsonElement& step);
  void read_bert_normalizer(const JsonElement& step);
  Status read_split(const JsonElement& step);
  Status read_byte_level(const JsonElement& step);
  Status read_pattern_split(const JsonElement& step);
  Status read_metaspace(const JsonElement& step);
  Status add_split(std::string regex, SplitBehavior behavior, bool invert = false);
  Status check_piece_decoders(const std::vector<JsonElement>& steps);
  void find_pre();

  tl::unexpected<Status> unsupported(std::string_view part, std::string_view step) const {
    return fail(Code::unsupported, "{}: {}: \"{}\" is not supported", source_, part, step);
  }
  tl::unexpected<Status> broken(std::string_view what) const {
    return fail(Code::corrupt, "{}: {}", source_, what);
  }

  const JsonElement& root_;
  const std::string& source_;
  TokenizerSpec& spec_;
  PipelineForm form_;
  bool prepends_ = false;   // ▁ precedes the text from here on
  bool replaces_ = false;   // the normalizer has replaced every space by ▁
  bool metaspace_ = false;  // the pre_tokenizer has
};

}  // namespace ruv
