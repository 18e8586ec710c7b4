// `ruvllm memory export` and `import`: documents as lines of JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "memory/document_store.h"
#include "memory_embedder.h"

namespace ruv {

// Writes the head and a line for each document to stdout. Fails: as DocumentStore::next_document.
Status export_documents(const DocumentStore& store, bool with_vectors);

struct LinesTerms {
  std::function<Result<std::unique_ptr<Embedder>>()> open_embedder;
  // The store that is added to, for vectors of this model.
  std::function<Result<std::unique_ptr<DocumentStore>>(const DocumentStore::Kind&)> open_store;
  bool names_model = false;  // the call does, which a file with vectors has no use for
  bool json = false;         // what was added is shown as lines of JSON
};

// Adds the documents of a file, "-" for stdin, one transaction each. A line that is wrong, or has a
// name that a line before had, is named on stderr with its number, and the others are added;
// returns how many such lines there were. Fails, with nothing added: as the file, a wrong first
// line, a store of another model, no model where it is needed.
Result<int64_t> import_documents(const std::string& file, const LinesTerms& terms,
                                 WorkerPool& pool);

}  // namespace ruv
