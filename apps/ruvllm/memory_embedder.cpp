#include "memory_embedder.h"

#include <fmt/format.h>

#include <algorithm>

#include "memory/model_probe.h"
#include "text_lines.h"

namespace ruv {
namespace {

// Texts whose vectors are in memory at once.
constexpr size_t kChunksAtOnce = 256;

}  // namespace

void add_embedder_flags(CommandLine& line, EmbedderCall& call) {
  const OptionGroup group(line, "Vectors");
  call.engine.max_sequences = 8;
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  add_text_flags(line, call.engine, call.truncate);
}

Result<std::unique_ptr<Embedder>> Embedder::open(const CommandLine& line,
                                                 const EmbedderCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const auto model = TRY(open_model(chosen, call.engine.n_threads, call.load));
  std::unique_ptr<Embedder> embedder(new Embedder());
  embedder->info_ = TRY(embed_info(*model));
  embedder->engine_ = TRY(open_engine(line, chosen.path, model, call.engine));
  embedder->most_tokens_ = TRY(most_tokens(*embedder->engine_));
  embedder->truncates_ = call.truncate;
  const ModelInfo info = model_info(*model);
  embedder->kind_.n_dims = embedder->info_.n_dims;
  embedder->kind_.embedder =
      fmt::format("{}, {}, {} parameters, {}, {} pooling", info.name, info.architecture,
                  info.n_params, info.format, pooling_name(embedder->info_.pooling));
  embedder->kind_.probe = TRY(embedder->of_query(kProbeText));
  return embedder;
}

// The model's own prompt for this purpose, where it has one.
EmbedPrompt Embedder::prompt_for(const char* purpose) const {
  EmbedPrompt prompt;
  if (std::ranges::any_of(info_.prompts, [&](const auto& one) { return one.first == purpose; })) {
    prompt.name = purpose;
  }
  if (truncates_) prompt.max_tokens = most_tokens_;
  return prompt;
}

Result<std::vector<TextChunk>> Embedder::cut(const ReadText& read,
                                             const ChunkOptions& options) const {
  if (truncates_) return chunks_of(read.text, options, read.marks);
  const EmbedPrompt prompt = prompt_for("document");
  const auto count = [&](const std::string& text) -> Result<int64_t> {
    return std::ssize(TRY(tokenize_embedding(engine_->model(), text, prompt)));
  };
  return chunks_that_fit(read, options, most_tokens_, count);
}

Result<std::vector<float>> Embedder::of_texts(std::span<const std::string> texts,
                                              const char* purpose) {
  const EmbedPrompt prompt = prompt_for(purpose);
  std::vector<float> vectors;
  for (size_t at = 0; at < texts.size(); at += kChunksAtOnce) {
    std::vector<std::vector<Token>> ids;
    for (size_t i = at; i < std::min(texts.size(), at + kChunksAtOnce); ++i) {
      auto tokens = TRY(tokenize_embedding(engine_->model(), texts[i], prompt));
      if (std::ssize(tokens) > most_tokens_) {
        return fail(Code::invalid,
                    "chunk {}: {} tokens, more than the model's {}; --truncate cuts it", i + 1,
                    tokens.size(), most_tokens_);
      }
      if (tokens.empty()) return fail(Code::invalid, "chunk {}: it gives no tokens", i + 1);
      ids.push_back(std::move(tokens));
    }
    for (const Embedding& one : TRY(engine_->embed_all(std::move(ids), {}))) {
      vectors.insert(vectors.end(), one.numbers.begin(), one.numbers.end());
    }
  }
  return vectors;
}

Result<std::vector<float>> Embedder::of_chunks(std::string_view text,
                                               std::span<const TextChunk> chunks) {
  std::vector<std::string> texts;
  for (const TextChunk& chunk : chunks) {
    texts.emplace_back(text.substr(static_cast<size_t>(chunk.first),
                                   static_cast<size_t>(chunk.end - chunk.first)));
  }
  return of_chunks(texts, chunks);
}

Result<std::vector<float>> Embedder::of_chunks(std::span<const std::string> texts,
                                               std::span<const TextChunk> chunks) {
  std::vector<std::string> embedded;
  for (size_t i = 0; i < chunks.size(); ++i) {
    embedded.push_back(embedded_text(chunks[i].headings, texts[i]));
  }
  return of_texts(embedded, "document");
}

Result<std::vector<float>> Embedder::of_query(std::string_view query) {
  const std::string texts[] = {std::string(query)};
  return of_texts(texts, "query");
}

}  // namespace ruv
