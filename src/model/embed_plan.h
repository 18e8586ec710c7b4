// EmbedPlan: how a model makes vectors of texts, as its files say it: GGUF's pooling_type, or the
// files of sentence-transformers (format/sentence_files.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "format/model_file.h"
#include "format/sentence_files.h"
#include "ruv/embed.h"

namespace ruv {

struct EmbedPlan {
  EmbedInfo info;
  std::vector<DenseLayer> dense;  // after pooling
  bool pools_prompt = true;       // SentenceFiles
  bool lower_case = false;
  std::optional<LogitScore> logit_score = {};  // the files rank documents and make no vectors
};

// `n_embd`: numbers of a hidden state. Fails: corrupt, unsupported, not_found, naming file and key.
Result<std::shared_ptr<const EmbedPlan>> read_embed_plan(const ModelFile& file, int64_t n_embd);

}  // namespace ruv
