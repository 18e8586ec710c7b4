// What tests of learning share: a tiny model, texts of its tokens, folders.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "learn/learner.h"

namespace ruv {

inline std::string tiny_model() { return RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf"; }

// Tokens after the second are judged.
inline JudgedText tiny_text(int32_t seed, size_t n = 10) {
  JudgedText text;
  for (size_t i = 0; i < n; ++i) {
    text.tokens.push_back((seed * 13 + static_cast<int32_t>(i) * (seed % 5 + 3)) % 70 + 1);
    text.weights.push_back(i < 2 ? 0 : 1);
  }
  return text;
}

inline AdaptFeedback tiny_feedback(int32_t seed, std::optional<double> rating = {}) {
  const JudgedText text = tiny_text(seed);
  AdaptFeedback feedback{.ids = text.tokens, .rating = rating};
  for (const float w : text.weights) feedback.judged.push_back(w != 0 ? 1 : 0);
  return feedback;
}

// A folder of a test's own, which is removed with it.
class LearnFolder {
 public:
  explicit LearnFolder(const std::string& name)
      : path_(testing::TempDir() + "ruv_learn_" + std::to_string(getpid()) + "_" + name) {
    std::filesystem::remove_all(path_);
  }
  ~LearnFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// Limits that a random model's adapter does not pass.
inline UpdateLimits loose_limits() {
  return {.held_out_rise = 10, .divergence = 100, .canary_rise = 100, .norm = 100, .own_rise = 100};
}

inline LearnOptions tiny_options(const std::string& folder) {
  LearnOptions options{.folder = folder};
  options.gradient.max_rows = 24;
  options.limits = loose_limits();
  options.texts = {{tiny_text(101)}, {tiny_text(102)}};
  return options;
}

}  // namespace ruv
