// The vectors of `ruvllm memory`: of chunks that are kept, and of what is looked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/document_store.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/embed.h"

namespace ruv {

struct EmbedderCall {
  std::string model;
  LoadCall load;
  EngineCall engine;
  bool truncate = false;
};
void add_embedder_flags(CommandLine& line, EmbedderCall& call);

class Embedder {
 public:
  // Fails: as open_model, embed_info, open_engine.
  static Result<std::unique_ptr<Embedder>> open(const CommandLine& line, const EmbedderCall& call);

  // What a store keeps of it: the model's name, family, size, format and pooling, and its vector of
  // a sentence.
  const DocumentStore::Kind& kind() const { return kind_; }
  // How much its vectors are trusted beside words.
  double vector_weight() const { return vector_weight_of(info_.pooling_is_stated); }
  // Chunks that are not too long for the model. With --truncate they are as
  // `options` says. Fails: as chunks_that_fit.
  Result<std::vector<TextChunk>> cut(const ReadText& read, const ChunkOptions& options) const;
  // With the model's prompt for documents, where it has one; a chunk's headings precede its text.
  // Fails: invalid (a chunk of too many tokens, by its place), as Engine::embed_all.
  Result<std::vector<float>> of_chunks(std::string_view text, std::span<const TextChunk> chunks);
  // The same of chunks whose texts are known one by one.
  Result<std::vector<float>> of_chunks(std::span<const std::string> texts,
                                       std::span<const TextChunk> chunks);
  // With the model's prompt for queries.
  Result<std::vector<float>> of_query(std::string_view query);

 private:
  Embedder() = default;
  EmbedPrompt prompt_for(const char* purpose) const;
  Result<std::vector<float>> of_texts(std::span<const std::string> texts, const char* purpose);

  std::unique_ptr<Engine> engine_;
  EmbedInfo info_;
  DocumentStore::Kind kind_;
  int64_t most_tokens_ = 0;
  bool truncates_ = false;
};

}  // namespace ruv
