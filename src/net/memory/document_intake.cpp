#include "net/memory/document_intake.h"

#include <algorithm>

#include "net/openai/vector_job.h"

namespace ruv {
namespace {

// Fails: 400 (a blank text, or one that cannot be cut as asked).
ApiResult<std::vector<TextChunk>> cut_text(const OpenAiService& service,
                                           const DocumentToAdd& document, const ReadText& read) {
  int64_t limit = most_embed_tokens(service);
  if (document.chunk_tokens > 0) limit = std::min(limit, document.chunk_tokens);
  EmbedPrompt prompt;
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (info &&
      std::ranges::any_of(info->prompts, [](const auto& one) { return one.first == "document"; })) {
    prompt.name = "document";
  }
  ChunkOptions options = document.chunking;
  options.form = text_form_of(document.form);
  auto chunks =
      chunks_that_fit(read, options, limit, [&](const std::string& text) -> Result<int64_t> {
        return std::ssize(TRY(service.text->embed_ids(text, prompt)));
      });
  if (!chunks) {
    ApiError error = api_error(chunks.error(), "text");
    error.message = fmt::format("'{}': {}", shortened(document.name, 100), error.message);
    return tl::unexpected(std::move(error));
  }
  if (!chunks->empty()) return std::move(*chunks);
  return tl::unexpected(bad_request(
      "text", fmt::format("'{}' has no text but blank space", shortened(document.name, 100))));
}

ApiError unread_document(const std::string& name, const Status& status) {
  return bad_request("text", fmt::format("'{}': {}", shortened(name, 100), status.message()),
                     status.code() == Code::unsupported ? "unsupported_file" : "invalid_value");
}

}  // namespace

ApiResult<std::vector<std::string>> DocumentIntake::prepare(const OpenAiService& service,
                                                            std::vector<DocumentToAdd> documents) {
  const StoreShelf::Lease store = TRY(remembered(memory_, memory_.shelf().find(folder_)));
  std::vector<std::string> texts;
  for (DocumentToAdd& document : documents) {
    Part& part = parts_.emplace_back();
    auto read = read_document(document.form, document.text);
    if (!read) return tl::unexpected(unread_document(document.name, read.error()));
    part.read = std::move(*read);
    part.chunks = TRY(cut_text(service, document, part.read));
    part.known.vectors.resize(part.chunks.size());
    if (store != nullptr) {
      part.known = TRY(remembered(
          memory_,
          store->known({document.name, part.read.text, part.chunks, {}, document.metadata})));
    }
    for (size_t i = 0; i < part.chunks.size(); ++i) {
      if (!part.known.vectors[i].empty()) continue;
      part.missing.push_back(i);
      const TextChunk& chunk = part.chunks[i];
      const std::string_view text = part.read.text;
      texts.push_back(
          embedded_text(chunk.headings, text.substr(static_cast<size_t>(chunk.first),
                                                    static_cast<size_t>(chunk.end - chunk.first))));
    }
    document.text = {};  // what was read of it stays
    part.document = std::move(document);
  }
  return texts;
}

// Where nothing was embedded, the store is there: it has all the vectors.
ApiResult<std::vector<AddedDocument>> DocumentIntake::write(EmbeddedTexts embedded) {
  auto found = embedded.vectors.empty() ? memory_.shelf().find(folder_)
                                        : memory_.shelf().make(folder_, embedded.kind);
  const StoreShelf::Lease store = TRY(remembered(memory_, std::move(found)));
  if (store == nullptr) {
    return tl::unexpected(
        api_error(Status(Code::not_found, "the store was deleted while a document was added")));
  }
  WorkerPool pool(1);
  std::vector<AddedDocument> added;
  size_t next = 0;
  for (Part& part : parts_) {
    AddedDocument& one = added.emplace_back();
    one = {.n_bytes = std::ssize(part.read.text),
           .n_chunks = std::ssize(part.chunks),
           .n_embedded = std::ssize(part.missing),
           .is_unchanged = part.known.is_same};
    if (one.is_unchanged) continue;
    for (const size_t i : part.missing) {
      part.known.vectors[i] = std::move(embedded.vectors[next++]);
    }
    std::vector<float> vectors;
    for (const std::vector<float>& vector : part.known.vectors) {
      vectors.insert(vectors.end(), vector.begin(), vector.end());
    }
    const DocumentToAdd& document = part.document;
    TRY(remembered(memory_, store->add({document.name, part.read.text, part.chunks, vectors,
                                        document.metadata},
                                       pool)));
  }
  return added;
}

}  // namespace ruv
