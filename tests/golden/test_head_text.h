// Texts that a model and its drafting head read, for tests of heads beside a reference.
#pragma once

#include <cmath>
#include <numeric>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "test_golden_files.h"

namespace ruv {

using Rows = std::vector<std::vector<float>>;

// A text that a model and its head read.
class HeadText {
  struct StepRows {
    int64_t first, n;
  };

 public:
  explicit HeadText(const Model& model)
      : executor_(*Executor::create(model, {.n_threads = 1,
                                            .n_pages = 8,
                                            .frames = FrameLimits{.n_lists = 1, .n_rows = 128},
                                            .max_rows = 128,
                                            .max_outputs = 128,
                                            .n_ctx = 128})),
        frames_(frames_of(executor_->pages())),
        pool_(8, frames_),
        pages_(pool_) {
    pages_.grow(128, executor_->pages());
  }

  // Logits of the head after each of ids but the last, read in steps of `chunk` rows, and after the
  // token that is drafted then.
  Rows logits(const std::vector<Token>& ids, Token drafted, int64_t chunk) {
    Rows rows;
    const int64_t n = std::ssize(ids);
    std::vector<int32_t> from;
    const std::span all(ids);
    for (int64_t first = 0; first < n - 1; first += chunk) {
      const int64_t n_rows = std::min(chunk, n - 1 - first);
      from = read(all, {first, n_rows});
      batch_.clear();
      batch_.begin_sequence(first, pages_.pages());
      batch_.add(all.subspan(static_cast<size_t>(first) + 1, static_cast<size_t>(n_rows)));
      batch_.want_logits(n_rows);
      keep(executor_->run_head({batch_.batch(), from, false}), rows);
    }
    from = {from.back()};
    batch_.clear();
    batch_.begin_sequence(n - 1, pages_.pages());
    batch_.add(drafted);
    batch_.want_logits();
    keep(executor_->run_head({batch_.batch(), from, true}), rows);
    return rows;
  }

  // Logits of head `ahead` of several that read the same state, after each of ids.
  Rows logits_ahead(const std::vector<Token>& ids, int64_t ahead, int64_t chunk) {
    Rows rows;
    const int64_t n = std::ssize(ids);
    for (int64_t first = 0; first < n; first += chunk) {
      const auto from = read(ids, {first, std::min(chunk, n - first)});
      keep(executor_->run_head({batch_.batch(), from, ahead > 0, ahead}), rows);
    }
    return rows;
  }

 private:
  // The model reads these rows of ids: their numbers in the step.
  std::vector<int32_t> read(std::span<const Token> ids, StepRows rows) {
    batch_.clear();
    pages_.begin_step(batch_, {rows.first, rows.n});
    batch_.add(ids.subspan(static_cast<size_t>(rows.first), static_cast<size_t>(rows.n)));
    executor_->run(batch_.batch());
    pages_.finish_step(rows.first + rows.n);
    std::vector<int32_t> from(static_cast<size_t>(rows.n));
    std::iota(from.begin(), from.end(), 0);
    return from;
  }
  static void keep(HostRows logits, Rows& rows) {
    for (int64_t i = 0; i < logits.n_rows; ++i) {
      rows.emplace_back(logits.row(i), logits.row(i) + logits.n_cols);
    }
  }

  std::unique_ptr<Executor> executor_;
  std::vector<PageFrames> frames_;
  PagePool pool_;
  PageList pages_;
  BatchBuilder batch_;
};

inline double worst_gap(const Rows& got, const Json& answer, const Json& logits) {
  double worst = 0;
  for (size_t i = 0; i < answer.at("positions").size(); ++i) {
    const auto position = answer.at("positions")[i].get<size_t>();
    const auto want = logits[i].get<std::vector<double>>();
    if (position >= got.size()) return INFINITY;
    for (size_t j = 0; j < want.size(); ++j) {
      const double gap = std::abs(double{got[position][j]} - want[j]);
      worst = std::isnan(gap) ? INFINITY : std::max(worst, gap);
    }
  }
  return worst / answer.at("std").get<double>();
}

inline double worst_gap(const Rows& got, const Json& answer) {
  return worst_gap(got, answer, answer.at("logits"));
}

// A head's folder. Its table of tokens, where it has one, is in a file of its own.
inline void write_head_folder(const std::string& folder, const Json& golden) {
  std::filesystem::create_directories(folder);
  write_golden_text(folder + "/config.json", golden.at("config").dump());
  const std::string table_name = golden.contains("token_map") ? "token_map" : "d2t";
  const bool has_table = golden.contains(table_name);
  const std::string usual = has_table ? "weights.safetensors" : "model.safetensors";
  const std::string file = has_table ? usual : golden.value("file", usual);
  std::vector<GoldenTensor> tensors;
  Json index = {{"metadata", Json::object()}, {"weight_map", Json::object()}};
  for (const Json& row : golden.at("tensors")) {
    tensors.push_back(tensor_of(row, golden));
    index["weight_map"][tensors.back().name] = file;
  }
  write_safetensors(folder + "/" + file, tensors, golden.at("dtype").get<std::string>());
  if (!has_table) return;
  const auto numbers = golden.at(table_name).get<std::vector<int64_t>>();
  GoldenTensor table{table_name, {std::ssize(numbers)}, std::string(numbers.size() * 8, ' ')};
  std::memcpy(table.bytes.data(), numbers.data(), table.bytes.size());
  index["weight_map"][table_name] = "tokens.safetensors";
  write_safetensors(folder + "/tokens.safetensors", {table}, "i64");
  write_golden_text(folder + "/model.safetensors.index.json", index.dump());
}

}  // namespace ruv
