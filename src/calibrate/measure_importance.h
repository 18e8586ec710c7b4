// measure_importance: runs texts through a model and sums what its matrices are multiplied by.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/input_squares.h"

namespace ruv {

// Passes on what it is shown; null: nothing.
class WatchSwitch final : public ProductWatcher {
 public:
  void on_product(const Weight& weight, HostRows x) override {
    if (to != nullptr) to->on_product(weight, x);
  }
  void on_result(const Weight& weight, HostRows out) override {
    if (to != nullptr) to->on_result(weight, out);
  }
  ProductWatcher* to = nullptr;
};

// A model whose products are watched. It computes the same numbers on every machine.
struct WatchedModel {
  std::unique_ptr<WatchSwitch> watch;  // outlives the model, which calls it
  std::unique_ptr<InputSquares> squares;
  std::shared_ptr<const Model> model;
};
// Fails: as load_model.
Result<WatchedModel> load_watched(const std::string& path, LoadOptions options);

struct MeasureOptions {
  int n_threads = 0;       // 0: one per core
  int64_t chunk_size = 0;  // the most tokens of a chunk; written to the file
  std::string dataset;     // the name of the texts; written to the file
  // Where sums are saved every kSavedChunks chunks, and continued from if they are there; empty:
  // nowhere. The caller removes it once the result is written.
  std::string state_path;
  // Called before each chunk with the number that are done; false: stop with Code::cancelled.
  std::function<bool(int64_t n_done)> on_chunk = {};
};
// Fewer lose less work when the process ends, and write more often. Part of the result: sums are
// rounded where they are saved.
inline constexpr int64_t kSavedChunks = 16;

// Sums over all chunks, each from an empty context. Fails: invalid (no chunk; ids that are not of
// the model; a state of another run), cancelled, unsupported (a model that answers a source text),
// and as files are written.
Result<InputSquares::OfFile> measure_importance(const WatchedModel& watched,
                                                std::span<const std::vector<Token>> chunks,
                                                const MeasureOptions& options);

}  // namespace ruv
