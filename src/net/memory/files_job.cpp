#include "net/memory/files_job.h"

#include <set>

namespace ruv {
namespace {

// What one request may add: its texts are in memory until they are embedded.
constexpr size_t kMostNewFiles = 100;
constexpr int64_t kMostNewBytes = 64 << 20;  // of files that one request adds

}  // namespace

ApiResult<std::vector<FileToAdd>> read_new_files(const StoreOwner& owner, const Json& body,
                                                 const Json& attributes) {
  const ChunkPlan plan = TRY(read_chunk_plan(body));
  const Json* ids = find_field(body, "file_ids");
  std::vector<FileToAdd> files;
  if (ids == nullptr) return files;
  if (!ids->is_array()) return wrong_type("file_ids", "an array of strings", *ids);
  if (ids->size() > kMostNewFiles) {
    return tl::unexpected(
        bad_request("file_ids", fmt::format("'file_ids' has {} files, at most {} are taken at once",
                                            ids->size(), kMostNewFiles)));
  }
  std::set<std::string> seen;
  int64_t n_bytes = 0;
  for (const Json& id : *ids) {
    if (!id.is_string()) return wrong_type("file_ids", "an array of strings", *ids);
    if (!seen.emplace(id.text()).second) continue;
    files.push_back({TRY(find_file(owner, std::string(id.text()))), attributes, plan});
    n_bytes += files.back().file.n_bytes;
  }
  if (n_bytes <= kMostNewBytes) return files;
  return tl::unexpected(
      bad_request("file_ids", fmt::format("the files have {} bytes, at most {} are taken at once",
                                          n_bytes, kMostNewBytes)));
}

ApiResult<void> add_files(const MemoryRequest& call, const StoreOwner& owner, FilesJob job) {
  ServedMemory& memory = call.memory;
  auto documents = std::make_shared<std::vector<DocumentToAdd>>();
  uint64_t n_bytes = 0;
  for (const FileToAdd& one : job.files) {
    documents->push_back(TRY(document_of(owner, one)));
    n_bytes += documents->back().text.size();
  }
  const auto intake = std::make_shared<DocumentIntake>(memory, memory.store_folder(job.store));
  const auto write = [&memory, intake, now = owner.now_s](
                         const FilesJob& todo, EmbeddedTexts embedded) -> ApiResult<HttpResponse> {
    TRY(intake->write(std::move(embedded)));
    for (const FileToAdd& one : todo.files) {
      CatalogEntry entry;
      entry.file = one.file.id;
      entry.name = one.file.name;
      entry.created_s = now;
      entry.n_bytes = one.file.n_bytes;
      entry.chunk_tokens = one.plan.chunk_tokens;
      entry.overlap_tokens = one.plan.overlap_tokens;
      TRY(remembered(memory, memory.catalog().add_entry(todo.store, entry)));
    }
    TRY(remembered(memory, memory.catalog().touch_store(todo.store, now)));
    return HttpResponse{.body = TRY(todo.end()).dump()};
  };
  const auto answer = [write,
                       job = std::move(job)](EmbeddedTexts embedded) -> ApiResult<HttpResponse> {
    if (job.begin) TRY(job.begin());
    auto done = write(job, std::move(embedded));
    if (!done && job.undo) (void)job.undo();
    return done;
  };
  embed_and_answer(
      call, n_bytes,
      [intake, documents, answer, &memory](const OpenAiService& service) -> ApiResult<EmbedJob> {
        return EmbedJob{.texts = TRY(intake->prepare(service, std::move(*documents))),
                        .purpose = TextPurpose::document,
                        .workers = &memory.changes(),
                        .answer = answer};
      });
  return {};
}

}  // namespace ruv
