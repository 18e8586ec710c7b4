#include "memory_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "memory/document_lines.h"
#include "shown_text.h"
#include "standard_input.h"

namespace ruv {
namespace {

// Takes the documents of one file.
class LinesImport {
 public:
  LinesImport(const LinesTerms& terms, WorkerPool& pool) : terms_(terms), pool_(pool) {}

  // The first line.
  Status begin(std::string_view text) {
    head_ = TRY(read_head_line(TRY(parse_json(text, "line 1"))));
    if (head_.has_vectors && terms_.names_model) {
      return fail(Code::invalid, "it has vectors: --model is for files without");
    }
    DocumentStore::Kind kind = head_.kind;
    if (!head_.has_vectors) {
      embedder_ = TRY(terms_.open_embedder());
      kind = embedder_->kind();
    }
    store_ = TRY(terms_.open_store(kind));
    return {};
  }

  Status add(std::string_view text) {
    const Json line = TRY(parse_json(text, "the line"));
    KeptDocument kept =
        TRY(read_document_line(line, head_.has_vectors ? head_.kind.n_dims : int64_t{0}));
    if (names_.contains(kept.name)) {
      return fail(Code::invalid, "a line before has a document of this name, too: {}", kept.name);
    }
    if (embedder_) kept.vectors = TRY(embedder_->of_chunks(kept.texts, kept.chunks));
    const int64_t id = TRY(store_->add({.name = kept.name,
                                        .text = {},
                                        .chunks = kept.chunks,
                                        .vectors = kept.vectors,
                                        .metadata = kept.metadata,
                                        .texts = kept.texts,
                                        .n_bytes = kept.n_bytes,
                                        .added_s = kept.added_s},
                                       pool_));
    names_.insert(kept.name);
    if (terms_.json) {
      print_json_line(Json{{"name", kept.name}, {"id", id}, {"n_chunks", kept.chunks.size()}});
    } else {
      fmt::print("{}: {} chunks\n", shown_text(kept.name, kWholeText), kept.chunks.size());
    }
    return {};
  }

 private:
  const LinesTerms& terms_;
  WorkerPool& pool_;
  LinesHead head_;
  std::unique_ptr<Embedder> embedder_;
  std::unique_ptr<DocumentStore> store_;
  std::set<std::string> names_;
};

// Whether an error says that a line is wrong; others would come with the next one again.
bool is_of_the_line(Code code) {
  return code == Code::invalid || code == Code::corrupt || code == Code::unsupported;
}

}  // namespace

Status export_documents(const DocumentStore& store, bool with_vectors) {
  const int64_t n_dims = store.kind().n_dims;
  print_json_line(head_line({store.kind(), with_vectors}));
  int64_t after = 0;
  while (const auto document = TRY(store.next_document(after, with_vectors))) {
    print_json_line(document_line(*document, n_dims));
    after = document->id;
  }
  return {};
}

Result<int64_t> import_documents(const std::string& file, const LinesTerms& terms,
                                 WorkerPool& pool) {
  std::optional<MappedFile> mapped;
  std::string input;
  if (file == "-") input = TRY(read_stdin());
  if (file != "-") mapped = TRY(MappedFile::open(file));
  const std::string_view all = mapped ? as_text(mapped->bytes()) : std::string_view(input);
  LinesImport import(terms, pool);
  int64_t n_refused = 0, number = 1;
  for (size_t at = 0; at < all.size() || number == 1; ++number) {
    const size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view text = all.substr(at, end - at);
    at = end + 1;
    if (number == 1) {
      const Status begun = import.begin(text);
      if (!begun.ok()) return tl::unexpected(with_context(file, begun));
      continue;
    }
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const Status added = import.add(text);
    if (added.ok()) continue;
    if (!is_of_the_line(added.code())) return tl::unexpected(with_context(file, added));
    ++n_refused;
    fmt::print(stderr, "{}:{}: {}\n", file, number, shown_text(added.message(), kWholeText));
  }
  return n_refused;
}

}  // namespace ruv
