#include "memory/document_checks.h"

#include <algorithm>
#include <unordered_map>

namespace ruv {
namespace {

constexpr size_t kMostNameBytes = 4096;
constexpr size_t kMostMetadataBytes = 1 << 20;

// What is embedded of a chunk, as one text.
std::string chunk_key(std::string_view headings, std::string_view text) {
  return std::to_string(headings.size()) + ":" + std::string(headings) + std::string(text);
}

}  // namespace

int64_t text_bytes(const NewDocument& document) {
  return std::max<int64_t>(std::ssize(document.text), document.n_bytes);
}

std::string_view text_of_chunk(const NewDocument& document, size_t i) {
  if (!document.texts.empty()) return document.texts[i];
  const TextChunk& chunk = document.chunks[i];
  return document.text.substr(static_cast<size_t>(chunk.first),
                              static_cast<size_t>(chunk.end - chunk.first));
}

Status check_document(const NewDocument& document, int64_t n_dims) {
  if (document.name.empty() || document.name.size() > kMostNameBytes) {
    return fail(Code::invalid, "a name of {} bytes, not 1 to {}", document.name.size(),
                kMostNameBytes);
  }
  if (document.name.find('\0') != std::string::npos) return fail(Code::invalid, "a name with NUL");
  const auto n_chunks = std::ssize(document.chunks);
  if (std::ssize(document.vectors) != n_chunks * n_dims) {
    return fail(Code::invalid, "{} numbers for {} chunks, not {} for each", document.vectors.size(),
                n_chunks, n_dims);
  }
  const int64_t n_bytes = document.texts.empty() ? std::ssize(document.text) : text_bytes(document);
  for (const TextChunk& chunk : document.chunks) {
    if (chunk.page < 0) return fail(Code::invalid, "a chunk of page {}", chunk.page);
    if (chunk.first >= 0 && chunk.first <= chunk.end && chunk.end <= n_bytes) continue;
    return fail(Code::invalid, "a chunk from byte {} to {} of {}", chunk.first, chunk.end, n_bytes);
  }
  if (document.texts.empty()) return {};
  if (document.texts.size() != document.chunks.size()) {
    return fail(Code::invalid, "{} texts for {} chunks", document.texts.size(), n_chunks);
  }
  for (size_t i = 0; i < document.texts.size(); ++i) {
    const TextChunk& chunk = document.chunks[i];
    if (std::ssize(document.texts[i]) == chunk.end - chunk.first) continue;
    return fail(Code::invalid, "chunk {}: a text of {} bytes from byte {} to {}", i + 1,
                document.texts[i].size(), chunk.first, chunk.end);
  }
  return {};
}

Result<std::string> written_metadata(const Json& metadata) {
  if (!metadata.is_object()) return fail(Code::invalid, "metadata: not an object");
  std::string text = metadata.dump();
  if (text.size() <= kMostMetadataBytes) return text;
  return fail(Code::invalid, "metadata of {} bytes, more than {}", text.size(), kMostMetadataBytes);
}

DocumentStore::Known known_chunks(const NewDocument& document, const KeptDocument& kept,
                                  const std::function<std::vector<float>(size_t)>& vector_of) {
  DocumentStore::Known known;
  known.vectors.resize(document.chunks.size());
  known.id = kept.id;
  if (kept.id == 0) return known;
  std::vector<std::string> keys;
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < kept.chunks.size(); ++i) {
    keys.push_back(chunk_key(kept.chunks[i].headings, kept.texts[i]));
    places[keys.back()] = i;
  }
  known.is_same = kept.n_bytes == std::ssize(document.text) && kept.metadata == document.metadata &&
                  keys.size() == document.chunks.size();
  for (size_t i = 0; i < document.chunks.size(); ++i) {
    const TextChunk& chunk = document.chunks[i];
    const std::string key = chunk_key(chunk.headings, text_of_chunk(document, i));
    known.is_same = known.is_same && keys[i] == key && kept.chunks[i].first == chunk.first &&
                    kept.chunks[i].page == chunk.page;
    const auto at = places.find(key);
    if (at == places.end()) continue;
    known.vectors[i] = vector_of(at->second);
    known.is_same = known.is_same && !known.vectors[i].empty();
  }
  return known;
}

}  // namespace ruv
