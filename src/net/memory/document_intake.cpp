#include "net/memory/document_intake.h"

#include <algorithm>

#include "net/openai/vector_job.h"

namespace ruv {
namespace {

// The shortest chunk that is tried before a text is refused, in bytes.
constexpr int64_t kLeastChunkBytes = 32;

// What is embedded of a chunk, as `ruvllm memory` has it.
std::string embedded_text(std::string_view text, const TextChunk& chunk) {
  std::string one = chunk.headings;
  if (!one.empty()) one += "\n";
  one +=
      text.substr(static_cast<size_t>(chunk.first), static_cast<size_t>(chunk.end - chunk.first));
  return one;
}

// The most tokens that a chunk has.
ApiResult<int64_t> longest_chunk(const OpenAiService& service, std::string_view text,
                                 std::span<const TextChunk> chunks) {
  EmbedPrompt prompt;
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (info &&
      std::ranges::any_of(info->prompts, [](const auto& one) { return one.first == "document"; })) {
    prompt.name = "document";
  }
  int64_t most = 0;
  for (const TextChunk& chunk : chunks) {
    const auto ids = service.text->embed_ids(embedded_text(text, chunk), prompt);
    if (!ids) return tl::unexpected(api_error(ids.error()));
    most = std::max<int64_t>(most, std::ssize(*ids));
  }
  return most;
}

// Bytes of chunks are lowered in the proportion in which they have too many tokens.
ApiResult<std::vector<TextChunk>> cut_text(const OpenAiService& service,
                                           const DocumentToAdd& document, const ReadText& read) {
  int64_t limit = most_embed_tokens(service);
  if (document.chunk_tokens > 0) limit = std::min(limit, document.chunk_tokens);
  ChunkOptions options = document.chunking;
  options.form = text_form_of(document.form);
  while (true) {
    auto chunks = chunks_of(read.text, options, read.marks);
    if (!chunks) return tl::unexpected(api_error(chunks.error(), "text"));
    if (chunks->empty()) {
      return tl::unexpected(bad_request(
          "text", fmt::format("'{}' has no text but blank space", shortened(document.name, 100))));
    }
    const int64_t longest = TRY(longest_chunk(service, read.text, *chunks));
    if (longest <= limit) return std::move(*chunks);
    if (options.most_bytes <= kLeastChunkBytes) {
      return tl::unexpected(bad_request(
          "text", fmt::format("'{}' has chunks of {} bytes, headings apart, with {} tokens; at "
                              "most {} are possible",
                              shortened(document.name, 100), options.most_bytes, longest, limit)));
    }
    const int64_t before = options.most_bytes;
    options.most_bytes =
        std::max(kLeastChunkBytes, std::min(before * limit / longest, before * 9 / 10));
    options.overlap_bytes =
        std::min(options.overlap_bytes * options.most_bytes / before, options.most_bytes / 2 - 1);
  }
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
      texts.push_back(embedded_text(part.read.text, part.chunks[i]));
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
