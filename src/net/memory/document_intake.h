// DocumentIntake: texts on their way into a store: cut into chunks, of which those are embedded
// that the store does not have under the document's name already.
#pragma once

#include <string>
#include <vector>

#include "memory/document_forms.h"
#include "net/memory/memory_vectors.h"

namespace ruv {

struct DocumentToAdd {
  std::string name;
  std::string text;  // in its form
  DocumentForm form = DocumentForm::plain;
  Json metadata = Json::object();
  ChunkOptions chunking = {};  // its form follows from `form`
  // A chunk's tokens at most, with its headings and what the model puts around a text; 0: as many
  // as the model takes. Chunks become shorter than `chunking` says where they have more.
  int64_t chunk_tokens = 0;
};

struct AddedDocument {
  int64_t n_bytes = 0;  // of the text that is kept
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
  // cannot be read or cut as asked), as the store's files.
  ApiResult<std::vector<std::string>> prepare(const OpenAiService& service,
                                              std::vector<DocumentToAdd> documents);
  // Requires: the vectors of those texts. A document that fails leaves those before it written.
  ApiResult<std::vector<AddedDocument>> write(EmbeddedTexts embedded);

 private:
  struct Part {
    DocumentToAdd document;
    ReadText read;
    std::vector<TextChunk> chunks;
    MemoryStore::Known known;
    std::vector<size_t> missing;  // chunks without a vector
  };

  ServedMemory& memory_;
  std::string folder_;
  std::vector<Part> parts_;
};

}  // namespace ruv
