// DocumentIntake: texts on their way into a store: cut into chunks, of which those are embedded
// that the store does not have under the document's name already.
#pragma once

#include <string>
#include <vector>

#include "net/memory/memory_vectors.h"

namespace ruv {

struct DocumentToAdd {
  std::string name;
  std::string text;
  Json metadata = Json::object();
  ChunkOptions chunking = {};
  // A chunk's tokens at most, with its headings and what the model puts around a text; 0: as many
  // as the model takes. Chunks become shorter than `chunking` says where they have more.
  int64_t chunk_tokens = 0;
};

// Names say of what form a text is, as with `ruvllm memory add`.
inline bool is_markdown_name(std::string_view name) {
  return name.ends_with(".md") || name.ends_with(".markdown");
}

struct AddedDocument {
  int64_t n_chunks = 0;
  int64_t n_embedded = 0;
  bool is_unchanged = false;  // nothing was written
};

// One thread at a time. `memory` must outlive it.
class DocumentIntake {
 public:
  DocumentIntake(ServedMemory& memory, std::string folder)
      : memory_(memory), folder_(std::move(folder)) {}

  // The texts whose vectors are needed; it may be that none is. Fails: 400 (a blank text, one that
  // cannot be cut as asked), as the store's files.
  ApiResult<std::vector<std::string>> prepare(const OpenAiService& service,
                                              std::vector<DocumentToAdd> documents);
  // Requires: the vectors of those texts. A document that fails leaves those before it written.
  ApiResult<std::vector<AddedDocument>> write(EmbeddedTexts embedded);

 private:
  struct Part {
    DocumentToAdd document;
    std::vector<TextChunk> chunks;
    MemoryStore::Known known;
    std::vector<size_t> missing;  // chunks without a vector
  };

  ServedMemory& memory_;
  std::string folder_;
  std::vector<Part> parts_;
};

}  // namespace ruv
