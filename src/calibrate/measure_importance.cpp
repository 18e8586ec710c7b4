// Chunks go through compute_logits, as `perplexity` runs them: the model's device shows every
// product's input to the sums, so neither the engine nor the decoder knows of this.
#include "calibrate/measure_importance.h"

#include "base/hash.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

// Draft heads and packed files have no part in it: their products are other ones, or are not seen.
Result<std::shared_ptr<const Model>> load_on_watched_device(const std::string& path,
                                                            LoadOptions options,
                                                            ProductWatcher& watcher) {
  options.draft_head = false;
  return load_model_on(watched_device(watcher), path, options);
}

// Tells states of other texts and models apart.
std::string fingerprint_of(const Model& model, std::span<const std::vector<Token>> chunks) {
  uint64_t hash = 0;
  for (const std::vector<Token>& chunk : chunks) {
    hash = hash_bytes(std::as_bytes(std::span(chunk)), hash + chunk.size());
  }
  uint64_t n_bytes = 0;
  for (const MappedFile& file : model.file->files()) n_bytes += file.stamp().n_bytes;
  return fmt::format("{:016x} {}", hash, n_bytes);
}

// All positions: the output matrix has inputs too.
Status run_chunk(const Model& model, std::span<const Token> ids, int n_threads) {
  LogitsOptions options;
  options.n_threads = n_threads;
  options.all = true;
  if (model.h.encodes) return compute_hidden(model, ids, options, [](auto...) {});
  return compute_logits(model, ids, options, [](auto...) {});
}

// Sums between two runs: a file of importance under all names, whose second dataset is the
// fingerprint.
class SavedSums {
 public:
  SavedSums(const WatchedModel& watched, std::span<const std::vector<Token>> chunks,
            const MeasureOptions& options)
      : watched_(watched),
        options_(options),
        fingerprint_(fingerprint_of(*watched.model, chunks)) {}

  // How many chunks are done.
  Result<int64_t> restore(int64_t n_chunks) const {
    if (options_.state_path.empty()) return 0;
    const Result<Importance> saved = read_importance(options_.state_path);
    if (!saved && saved.error().code() == Code::not_found) return 0;
    if (!saved) return tl::unexpected(saved.error());
    if (saved->datasets != names() || saved->n_chunks > n_chunks ||
        saved->chunk_size != options_.chunk_size) {
      return fail(Code::invalid,
                  "{}: holds sums of other texts or of another model; remove it to begin anew",
                  options_.state_path);
    }
    TRY(watched_.squares->restore(*saved));
    return saved->n_chunks;
  }

  Status save(int64_t n_done) const {
    if (options_.state_path.empty()) return {};
    Importance sums = watched_.squares->all();
    sums.datasets = names();
    sums.n_chunks = n_done;
    sums.chunk_size = options_.chunk_size;
    return write_importance(sums, options_.state_path, ImportanceForm::gguf, {.replace = true});
  }

 private:
  std::vector<std::string> names() const { return {options_.dataset, fingerprint_}; }

  const WatchedModel& watched_;
  const MeasureOptions& options_;
  std::string fingerprint_;
};

}  // namespace

Result<WatchedModel> load_watched(const std::string& path, LoadOptions options) {
  WatchedModel watched{std::make_unique<WatchSwitch>(), std::make_unique<InputSquares>(), nullptr};
  watched.model = TRY(load_on_watched_device(path, std::move(options), *watched.watch));
  watched.squares->follow(*watched.model);
  return watched;
}

Result<InputSquares::OfFile> measure_importance(const WatchedModel& watched,
                                                std::span<const std::vector<Token>> chunks,
                                                const MeasureOptions& options) {
  const int64_t n = std::ssize(chunks);
  if (n == 0) return fail(Code::invalid, "the texts are too short: there is no chunk of tokens");
  watched.watch->to = watched.squares.get();
  const SavedSums saved(watched, chunks, options);
  int64_t n_done = TRY(saved.restore(n));
  for (; n_done < n; ++n_done) {
    if (options.on_chunk && !options.on_chunk(n_done)) {
      return fail(Code::cancelled, "stopped after {} of {} chunks", n_done, n);
    }
    TRY(run_chunk(*watched.model, chunks[static_cast<size_t>(n_done)], options.n_threads));
    if ((n_done + 1) % kSavedChunks != 0) continue;
    watched.squares->round_to_file();
    TRY(saved.save(n_done + 1));
  }
  InputSquares::OfFile result = TRY(watched.squares->of_file(*watched.model));
  result.importance.datasets = {options.dataset};
  result.importance.n_chunks = n;
  result.importance.chunk_size = options.chunk_size;
  return result;
}

}  // namespace ruv
