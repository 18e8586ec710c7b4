// Texts cut at random bytes inside words: with token healing the answer goes on as it does when the
// text is not cut. Trained models: the built-in one, and a SentencePiece one of the shared data.
// RUV_CUTS sets how many cuts are made of each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/rng.h"
#include "base/utf8.h"
#include "ruv/engine.h"

namespace ruv {
namespace {

constexpr int64_t kContinuation = 8;  // tokens compared behind the cut token

int n_cuts() {
  const char* asked = std::getenv("RUV_CUTS");
  return asked == nullptr ? 300 : std::atoi(asked);
}

std::string data_dir() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return given == nullptr ? RUV_SOURCE_DIR "/../shared/data" : given;
}

struct Cut {
  std::string prompt;    // ends inside a token
  std::string rest;      // of that token
  std::string expected;  // what the model says behind it
};

// One model, answering greedily.
class Speaker {
 public:
  explicit Speaker(const std::string& path)
      : model_(load_model(path).value()),
        engine_(
            Engine::create(model_, {.n_threads = 2, .n_ctx = 256, .max_sequences = 1}).value()) {}

  Answer say(const std::string& text, int64_t max_tokens, bool healing) {
    GenerateParams p;
    p.temperature = 0;
    p.max_tokens = max_tokens;
    p.ignore_eos = true;
    p.token_healing = healing;
    return generate(*engine_, tokenize(*model_, text).value(), p).value();
  }
  std::vector<Token> ids(const std::string& text) const { return tokenize(*model_, text).value(); }
  std::string text_of(std::span<const Token> ids) const { return detokenize(*model_, ids).value(); }

 private:
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> engine_;
};

// The model's own text after one of these, so that it would go on with the words that are cut.
constexpr const char* kStarts[] = {
    "Once upon a time", "One day, a little girl", "The cat sat on", "Tom and his friend",
    "There was a big",  "Lily wanted to",         "The old man",    "In the morning",
    "A small bird",     "Her mom said",           "They went to",   "The dog ran",
    "Sam had a red",    "It was a sunny day",     "The king",       "Ben liked to play",
};

// A cut inside a token of letters that the model said itself; none: this start gives none.
std::optional<Cut> cut_own_text(Speaker& speaker, Rng& rng, const std::string& start) {
  const std::string text = start + speaker.say(start, 40, false).text;
  const std::vector<Token> ids = speaker.ids(text);
  const size_t last = 3 + rng.below(ids.size() - 3);
  const std::string before = speaker.text_of(std::span(ids).first(last));
  const std::string with = speaker.text_of(std::span(ids).first(last + 1));
  if (before.size() < start.size() || with.size() < before.size() + 2) return std::nullopt;
  const size_t at = before.size() + 1 + rng.below(with.size() - before.size() - 1);
  if (!is_valid_utf8(text.substr(0, at)) || !is_valid_utf8(with)) return std::nullopt;
  Cut cut{with.substr(0, at), with.substr(at), speaker.say(with, kContinuation, false).text};
  return cut;
}

struct Shares {
  int n = 0;
  int healed = 0;
  int unhealed = 0;
  int not_reproduced = 0;
};

bool goes_on(const std::string& text, const Cut& cut) {
  return text.starts_with(cut.rest + cut.expected);
}

void measure(Speaker& speaker, const Cut& cut, Shares& shares) {
  // Tokens of the rest, one by one at worst.
  const auto more = kContinuation + static_cast<int64_t>(cut.rest.size());
  const Answer healed = speaker.say(cut.prompt, more, true);
  const std::string said = speaker.text_of(healed.ids);
  // The ids are the end of the prompt, if anything of it, and the answer.
  const bool whole = is_valid_utf8(said);
  const bool ends = !whole || said.ends_with(healed.text);
  const bool begins =
      !whole || !ends || cut.prompt.ends_with(said.substr(0, said.size() - healed.text.size()));
  shares.not_reproduced += ends && begins ? 0 : 1;
  ++shares.n;
  shares.healed += goes_on(healed.text, cut);
  shares.unhealed += goes_on(speaker.say(cut.prompt, more, false).text, cut);
}

Shares measure_own_text(const std::string& path) {
  Speaker speaker(path);
  Shares shares;
  for (uint64_t seed = 0; shares.n < n_cuts() && seed < 100'000; ++seed) {
    Rng rng(seed);
    // A word from elsewhere makes the texts differ.
    const std::string start = std::string(kStarts[rng.below(std::size(kStarts))]) + " " +
                              kStarts[rng.below(std::size(kStarts))];
    const auto cut = cut_own_text(speaker, rng, start);
    if (cut) measure(speaker, *cut, shares);
  }
  std::printf("%s: %d cuts, %.2f %% go on with healing, %.2f %% without, %d not reproduced\n",
              std::filesystem::path(path).filename().c_str(), shares.n,
              100.0 * shares.healed / shares.n, 100.0 * shares.unhealed / shares.n,
              shares.not_reproduced);
  return shares;
}

void expect_goes_on(const Shares& shares) {
  EXPECT_EQ(shares.not_reproduced, 0);
  EXPECT_EQ(shares.n, n_cuts());
  EXPECT_GE(shares.healed, 0.95 * shares.n);
  EXPECT_LT(shares.unhealed, shares.healed);
}

TEST(HealingProperty, ByteBpeGoesOnWithTheCutWord) {
  expect_goes_on(measure_own_text(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf"));
}

TEST(HealingProperty, SentencePieceGoesOnWithTheCutWord) {
  const std::string path = data_dir() + "/models/stories260K/derived/stories260K.f32.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  expect_goes_on(measure_own_text(path));
}

}  // namespace
}  // namespace ruv
