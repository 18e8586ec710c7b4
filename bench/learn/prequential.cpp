// ruv_bench_learn MODEL STREAM WAY [NAME=VALUE]...: prequential losses. Each line of the stream is
// scored, and then learned if it has something to learn:
//   {"name": instance, "score": feedback, "learn": feedback or null, "tag": any}
// Without "learn" what is scored is learned. Another name begins anew. The ways:
//   nothing    the model as it is
//   last       the last k corrections in the context
//   retrieved  the k corrections whose prompts are most alike in the context
//   lora       an adapter of all matrices, without a gate
//   micro      what `ruvllm learn` does, gate included
//   full       all weights
//   gate       counts steps that the gate lets pass, and planted harm that it does
// Prints a line of JSON for each item, and at the end of each instance what became of held-out
// texts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "learn/gated_step.h"
#include "learn/learner.h"
#include "learn/usual_texts.h"
#include "train/trainer.h"

namespace ruv {
namespace {

// "gate" and "base" are files of lines {"text"} and {"messages", "answer"}: what the gate measures,
// and what is measured at the end of an instance.
struct Numbers {
  std::map<std::string, double> all;
  std::map<std::string, std::string> files;
};

double number_or(const Numbers& numbers, const std::string& name, double otherwise) {
  const auto found = numbers.all.find(name);
  return found == numbers.all.end() ? otherwise : found->second;
}

Result<UpdateTexts> texts_of(const Model& model, const Numbers& numbers, const std::string& name) {
  const auto found = numbers.files.find(name);
  if (found == numbers.files.end()) return usual_update_texts(model);
  std::istringstream in(TRY(read_text_file(found->second)));
  UpdateTexts texts;
  for (std::string line; std::getline(in, line);) {
    Json json = TRY(parse_json(line, found->second));
    if (json.contains("text")) {
      JudgedText text{.tokens = TRY(tokenize(model, json["text"].get<std::string>()))};
      text.weights.assign(text.tokens.size(), 1);
      text.weights[0] = 0;
      texts.held_out.push_back(std::move(text));
      continue;
    }
    json["correction"] = json["answer"];
    json.erase("answer");
    const FieldResult<AdaptFeedback> read = read_feedback(json);
    if (!read) return tl::unexpected(status_of(read.error()));
    texts.canaries.push_back(TRY(judgement_of(model, *read)).text);
  }
  return texts;
}

struct StreamItem {
  std::string name;
  AdaptFeedback scored;
  std::optional<AdaptFeedback> learned;
  Json tag;
};

// What a way to learn does with an item.
class Way {
 public:
  virtual ~Way() = default;
  virtual Status begin() = 0;
  // Σ -ln p of the judged tokens.
  virtual Result<double> score(const StreamItem& item, const JudgedText& text) = 0;
  virtual Status learn(const StreamItem& item, const Judgement& judgement) = 0;
  // Members for the line at the end of an instance.
  virtual Result<Json> end() = 0;
};

GradientOptions gradient_options(const Numbers& numbers, bool is_micro) {
  GradientOptions options;
  options.max_rows = static_cast<int64_t>(number_or(numbers, "ctx", 512));
  options.n_threads = static_cast<int>(number_or(numbers, "threads", 1));
  options.rank = static_cast<int64_t>(number_or(numbers, "rank", is_micro ? 2 : 8));
  options.alpha = 2 * static_cast<double>(options.rank);
  if (number_or(numbers, "all", 1) == 0) options.matrices = {"attn_q", "attn_v"};
  options.max_bytes = is_micro ? 1'000'000 : INT64_MAX;
  options.n_layers = static_cast<int64_t>(number_or(numbers, "layers", 1e6));
  return options;
}

// An adapter, with the gate or without.
class AdapterWay final : public Way {
 public:
  static Result<std::unique_ptr<Way>> open(const std::string& model, const Numbers& numbers,
                                           bool is_micro) {
    std::unique_ptr<AdapterWay> made(new AdapterWay);
    made->model_ = TRY(GradientModel<float>::create(model, gradient_options(numbers, is_micro)));
    StepNumbers step;
    step.rate = number_or(numbers, "rate", is_micro ? step.rate : 2e-3);
    step.rating_share = number_or(numbers, "rating_share", step.rating_share);
    step.lambda = number_or(numbers, "lambda", 0);
    step.replay_share = number_or(numbers, "replay", is_micro ? step.replay_share : 0);
    const Model& base = made->model_->model();
    UpdateTexts texts = TRY(texts_of(base, numbers, "gate"));
    step.rehearsal = number_or(numbers, "rehearsal", is_micro ? step.rehearsal : 0);
    if (numbers.files.contains("gate")) rehearse_half(texts);
    made->online_ = TRY(OnlineLearner::create(*made->model_, step, std::move(texts.rehearsed)));
    made->gate_ = TRY(UpdateGate::create(*made->model_, std::move(texts)));
    made->base_ = TRY(UpdateGate::create(*made->model_, TRY(texts_of(base, numbers, "base"))));
    made->has_gate_ = number_or(numbers, "gates", is_micro ? 1 : 0) > 0;
    UpdateLimits& limits = made->limits_;
    limits.held_out_rise = number_or(numbers, "held_out", limits.held_out_rise);
    limits.divergence = number_or(numbers, "divergence", limits.divergence);
    limits.canary_rise = number_or(numbers, "canary", limits.canary_rise);
    limits.norm = number_or(numbers, "norm", limits.norm);
    limits.own_rise = number_or(numbers, "own", limits.own_rise);
    return made;
  }
  Status begin() override {
    state_ = online_->initial_state();
    texts_.clear();
    n_refused_ = n_pulled_ = 0;
    return {};
  }
  Result<double> score(const StreamItem&, const JudgedText& text) override {
    model_->put(state_.numbers);
    return model_->loss(text);
  }
  Status learn(const StreamItem&, const Judgement& judgement) override {
    const std::optional<uint64_t> number = online_->next_replay(state_);
    texts_.push_back(judgement.text);
    const JudgedText* const again = number ? &texts_[*number - 1] : nullptr;
    if (!has_gate_) {
      TRY(online_->step(state_, texts_.size(), judgement, again));
      return {};
    }
    const GatedLearner learner{*model_, *online_, *gate_, limits_};
    GatedStep step = TRY(learner.step(state_, texts_.size(), judgement, again));
    n_pulled_ += step.share < 1 ? 1 : 0;
    if (step.refusal.empty()) {
      state_ = std::move(step.state);
    } else {
      ++n_refused_;
      ++reasons_[step.refusal.substr(0, step.refusal.find(':'))];
    }
    return {};
  }
  Result<Json> end() override {
    model_->put(state_.numbers);
    Json json = reading_json(TRY(base_->read(*model_)));
    json["refused"] = n_refused_;
    json["pulled"] = n_pulled_;
    json["bytes"] = model_->n_numbers() * int64_t{sizeof(float)};
    Json reasons = Json::object();
    for (const auto& [why, n] : reasons_) reasons[why] = n;
    json["reasons"] = std::move(reasons);
    reasons_.clear();
    return json;
  }

 private:
  std::unique_ptr<GradientModel<float>> model_;
  std::optional<OnlineLearner> online_;
  std::optional<UpdateGate> gate_, base_;
  bool has_gate_ = false;
  UpdateLimits limits_;
  LearnState state_;
  std::vector<JudgedText> texts_;
  int64_t n_refused_ = 0, n_pulled_ = 0;
  std::map<std::string, int64_t> reasons_;
};

// How alike two prompts are: the tokens that both have, rare ones counting more.
class PromptIndex {
 public:
  void add(const JudgedText& text) {
    prompts_.push_back(words(text));
    for (const int32_t token : prompts_.back()) ++n_with_[token];
  }
  void clear() {
    prompts_.clear();
    n_with_.clear();
  }
  // Places of the k most alike, the most alike last.
  std::vector<size_t> nearest(const JudgedText& text, size_t k) const {
    const std::set<int32_t> own = words(text);
    std::vector<std::pair<double, size_t>> scores;
    for (size_t i = 0; i < prompts_.size(); ++i) {
      double sum = 0;
      for (const int32_t token : prompts_[i]) {
        if (!own.contains(token)) continue;
        sum += std::log((1.0 + static_cast<double>(prompts_.size())) /
                        static_cast<double>(n_with_.at(token)));
      }
      scores.emplace_back(sum, i);
    }
    std::ranges::sort(scores);
    std::vector<size_t> places;
    for (size_t i = scores.size() - std::min(k, scores.size()); i < scores.size(); ++i) {
      places.push_back(scores[i].second);
    }
    return places;
  }

 private:
  static std::set<int32_t> words(const JudgedText& text) {
    std::set<int32_t> tokens;
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      if (text.weights[i] == 0) tokens.insert(text.tokens[i]);
    }
    return tokens;
  }
  std::vector<std::set<int32_t>> prompts_;
  std::map<int32_t, int64_t> n_with_;
};

// Examples before the text: turns of a conversation, or tokens.
class ContextWay final : public Way {
 public:
  enum class Choice { none, last, alike };
  static Result<std::unique_ptr<Way>> open(const std::string& model, const Numbers& numbers,
                                           Choice choice) {
    std::unique_ptr<ContextWay> made(new ContextWay);
    made->model_ = TRY(GradientModel<float>::create(model, gradient_options(numbers, true)));
    made->choice_ = choice;
    made->k_ = static_cast<size_t>(number_or(numbers, "k", 4));
    made->max_rows_ = static_cast<size_t>(number_or(numbers, "ctx", 512));
    return made;
  }
  Status begin() override {
    items_.clear();
    texts_.clear();
    index_.clear();
    return {};
  }
  Result<double> score(const StreamItem& item, const JudgedText& text) override {
    double sum = 0;
    const JudgedText longer = TRY(with_examples(item, text));
    for (const double x : TRY(model_->rows(longer, Beside::nothing, false)).log_probabilities) {
      sum -= x;
    }
    return sum;
  }
  Status learn(const StreamItem& item, const Judgement& judgement) override {
    if (judgement.rating) return {};
    items_.push_back(*item.learned);
    texts_.push_back(judgement.text);
    index_.add(judgement.text);
    return {};
  }
  Result<Json> end() override { return Json::object(); }

 private:
  Result<JudgedText> with_examples(const StreamItem& item, const JudgedText& text) {
    std::vector<size_t> places;
    if (choice_ == Choice::alike) places = index_.nearest(text, k_);
    if (choice_ == Choice::last) {
      for (size_t i = items_.size() - std::min(k_, items_.size()); i < items_.size(); ++i) {
        places.push_back(i);
      }
    }
    // As many of the last ones as have room.
    for (size_t first = 0; first < places.size(); ++first) {
      JudgedText made = TRY(joined(item, text, std::span(places).subspan(first)));
      if (made.tokens.size() <= max_rows_) return made;
    }
    return text;
  }
  Result<JudgedText> joined(const StreamItem& item, const JudgedText& text,
                            std::span<const size_t> places) {
    if (item.scored.conversation) {
      AdaptFeedback longer = item.scored;
      std::vector<Message> turns;
      for (const size_t i : places) {
        for (const Message& m : items_[i].conversation->messages) turns.push_back(m);
        turns.push_back(text_message("assistant", items_[i].answer));
      }
      auto& messages = longer.conversation->messages;
      messages.insert(messages.begin(), turns.begin(), turns.end());
      return TRY(judgement_of(model_->model(), longer)).text;
    }
    JudgedText made;
    for (const size_t i : places) {
      // A text that follows the last one begins with its end.
      const bool is_next = choice_ == Choice::last;
      for (size_t t = 0; t < texts_[i].tokens.size(); ++t) {
        if (is_next && texts_[i].weights[t] == 0) continue;
        made.tokens.push_back(texts_[i].tokens[t]);
      }
    }
    if (choice_ == Choice::last) {
      const auto own = std::ranges::count(text.weights, 0.0F);
      made.tokens.resize(made.tokens.size() -
                         std::min<size_t>(made.tokens.size(), static_cast<size_t>(own)));
    }
    made.weights.assign(made.tokens.size(), 0);
    made.tokens.insert(made.tokens.end(), text.tokens.begin(), text.tokens.end());
    made.weights.insert(made.weights.end(), text.weights.begin(), text.weights.end());
    return made;
  }

  std::unique_ptr<GradientModel<float>> model_;
  Choice choice_ = Choice::none;
  size_t k_ = 4, max_rows_ = 512;
  std::vector<AdaptFeedback> items_;
  std::vector<JudgedText> texts_;
  PromptIndex index_;
};

// All weights. What it forgets of held-out texts is their loss alone.
class FullWay final : public Way {
 public:
  FullWay(std::string model, const Numbers& numbers) : path_(std::move(model)), numbers_(numbers) {
    options_.n_threads = static_cast<int>(number_or(numbers, "threads", 1));
    options_.rate = {.shape = RateShape::constant, .peak = number_or(numbers, "rate", 1e-4)};
    options_.optimiser.adam.weight_decay = 0;
  }
  Status begin() override {
    trainer_.reset();
    trainer_ = TRY(Trainer::create(path_, options_));
    held_out_.clear();
    for (const JudgedText& text : TRY(texts_of(trainer_->model(), numbers_, "base")).held_out) {
      held_out_.push_back({text.tokens, text.weights});
    }
    base_ = TRY(trainer_->loss(held_out_));
    return {};
  }
  Result<double> score(const StreamItem&, const JudgedText& text) override {
    const TrainSequence sequence{text.tokens, text.weights};
    return TRY(trainer_->loss({&sequence, 1})) * static_cast<double>(text.n_judged());
  }
  Status learn(const StreamItem&, const Judgement& judgement) override {
    if (judgement.rating) return {};
    const TrainSequence sequence{judgement.text.tokens, judgement.text.weights};
    TRY(trainer_->step({&sequence, 1}));
    return {};
  }
  Result<Json> end() override {
    Json json = Json::object();
    json["held_out"] = TRY(trainer_->loss(held_out_));
    json["base_held_out"] = base_;
    return json;
  }

 private:
  std::string path_;
  Numbers numbers_;
  TrainOptions options_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<TrainSequence> held_out_;
  double base_ = 0;
};

Result<std::unique_ptr<Way>> open_way(const std::string& model, const std::string& way,
                                      const Numbers& numbers) {
  using Choice = ContextWay::Choice;
  if (way == "nothing") return ContextWay::open(model, numbers, Choice::none);
  if (way == "last") return ContextWay::open(model, numbers, Choice::last);
  if (way == "retrieved") return ContextWay::open(model, numbers, Choice::alike);
  if (way == "lora") return AdapterWay::open(model, numbers, false);
  if (way == "micro") return AdapterWay::open(model, numbers, true);
  if (way == "full") return std::make_unique<FullWay>(model, numbers);
  return fail(Code::invalid, "'{}' is no way to learn", way);
}

Result<AdaptFeedback> feedback_of(const Json& json) {
  const FieldResult<AdaptFeedback> read = read_feedback(json);
  if (!read) return tl::unexpected(status_of(read.error()));
  return *read;
}

Result<StreamItem> read_item(const std::string& line) {
  const Json json = TRY(parse_json(line, "stream"));
  StreamItem item{.name = json["name"].get<std::string>(),
                  .scored = TRY(feedback_of(json["score"])),
                  .learned = {},
                  .tag = json["tag"]};
  if (!json.contains("learn")) item.learned = item.scored;
  if (json["learn"].is_object()) item.learned = TRY(feedback_of(json["learn"]));
  return item;
}

Status end_instance(Way& way, const std::string& name) {
  Json json = TRY(way.end());
  json["end"] = name;
  std::printf("%s\n", json.dump().c_str());
  return {};
}

// Planted harm to an instance's numbers, of four kinds: noise, a step back that is ten steps long,
// lessons of random tokens, and numbers that are far too large or none.
Result<std::vector<float>> planted_harm(size_t i, OnlineLearner& online, const LearnState& before,
                                        const LearnState& after, const Judgement& judgement,
                                        int64_t n_vocab) {
  Rng rng(i);
  std::vector<float> numbers = before.numbers;
  if (i % 4 == 0) {
    for (float& x : numbers) x += static_cast<float>(0.1 * (2 * rng.uniform() - 1));
  } else if (i % 4 == 1) {
    for (size_t k = 0; k < numbers.size(); ++k) numbers[k] -= 10 * (after.numbers[k] - numbers[k]);
  } else if (i % 4 == 2) {
    LearnState state = before;
    for (int k = 0; k < 30; ++k) {
      Judgement garbage = judgement;
      for (size_t t = 0; t < garbage.text.tokens.size(); ++t) {
        if (garbage.text.weights[t] == 0) continue;
        garbage.text.tokens[t] = static_cast<int32_t>(rng.below(static_cast<uint64_t>(n_vocab)));
      }
      TRY(online.step(state, 1, garbage, nullptr));
    }
    numbers = state.numbers;
  } else {
    for (float& x : numbers) x *= i % 8 == 3 ? 30.0F : NAN;
  }
  return numbers;
}

// How many steps of a stream the gate lets pass, and how much planted harm.
Status run_gate(const std::string& path, const std::string& stream, const Numbers& numbers) {
  const auto model = TRY(GradientModel<float>::create(path, gradient_options(numbers, true)));
  UpdateTexts texts = TRY(texts_of(model->model(), numbers, "gate"));
  if (numbers.files.contains("gate")) rehearse_half(texts);
  OnlineLearner online = TRY(OnlineLearner::create(*model, {}, std::move(texts.rehearsed)));
  const UpdateGate gate = TRY(UpdateGate::create(*model, std::move(texts)));
  const GatedLearner learner{*model, online, gate};
  LearnState state = online.initial_state();
  std::istringstream in(TRY(read_text_file(stream)));
  const auto most = static_cast<int64_t>(number_or(numbers, "n", 100));
  int64_t n = 0, good = 0;
  std::map<size_t, int64_t> bad;
  for (std::string line; std::getline(in, line) && n < most; ++n) {
    const Judgement judgement = TRY(judgement_of(model->model(), *TRY(read_item(line)).learned));
    GatedStep step = TRY(learner.step(state, static_cast<uint64_t>(n + 1), judgement, nullptr));
    const bool passes = step.refusal.empty();
    good += passes ? 1 : 0;
    const auto i = static_cast<size_t>(n);
    const std::vector<float> harmed =
        TRY(planted_harm(i, online, state, step.state, judgement, model->model().h.n_vocab));
    model->put(harmed);
    const Result<UpdateReading> of_harm = gate.read(*model);
    if (of_harm) {
      UpdateReading reading = *of_harm;
      const Result<double> own = model->loss(judgement.text);
      // What random tokens teach is what they were to teach: the base alone can tell.
      if (i % 4 != 2) {
        reading.own_before = step.reading.own_before;
        reading.own_after = own ? *own / static_cast<double>(judgement.text.n_judged()) : NAN;
      }
      if (refusal_of(reading, {}).empty()) ++bad[i % 4];
    }
    if (passes) state = std::move(step.state);
  }
  std::printf(
      "{\"steps\": %lld, \"accepted\": %lld, \"harm_accepted\": [%lld, %lld, %lld, %lld]}\n",
      static_cast<long long>(n), static_cast<long long>(good), static_cast<long long>(bad[0]),
      static_cast<long long>(bad[1]), static_cast<long long>(bad[2]),
      static_cast<long long>(bad[3]));
  return {};
}

Status run_stream(const std::string& model, const std::string& stream, const std::string& name,
                  const Numbers& numbers) {
  const std::shared_ptr<const Model> texts = TRY(load_model(model));
  const std::unique_ptr<Way> way = TRY(open_way(model, name, numbers));
  std::istringstream in(TRY(read_text_file(stream)));
  std::string line, instance;
  const SteadyClock clock;
  while (std::getline(in, line)) {
    const StreamItem item = TRY(read_item(line));
    if (item.name != instance) {
      if (!instance.empty()) TRY(end_instance(*way, instance));
      TRY(way->begin());
      instance = item.name;
    }
    const Judgement scored = TRY(judgement_of(*texts, item.scored));
    const int64_t start = clock.now_ns();
    const double nll = TRY(way->score(item, scored.text));
    const int64_t middle = clock.now_ns();
    if (item.learned) TRY(way->learn(item, TRY(judgement_of(*texts, *item.learned))));
    const Json out = {{"name", item.name},
                      {"tag", item.tag},
                      {"nll", nll},
                      {"n", scored.text.n_judged()},
                      {"score_ms", static_cast<double>(middle - start) * 1e-6},
                      {"learn_ms", static_cast<double>(clock.now_ns() - middle) * 1e-6}};
    std::printf("%s\n", out.dump().c_str());
  }
  return instance.empty() ? Status() : end_instance(*way, instance);
}

int bench_learn(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: ruv_bench_learn MODEL STREAM WAY [NAME=VALUE]...\n", stderr);
    return 2;
  }
  Numbers numbers;
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t at = text.find('=');
    if (at == text.npos) {
      std::fprintf(stderr, "'%s' is not NAME=VALUE\n", text.c_str());
      return 2;
    }
    const std::string name = text.substr(0, at);
    if (name == "gate" || name == "base") {
      numbers.files[name] = text.substr(at + 1);
    } else {
      numbers.all[name] = std::strtod(text.c_str() + at + 1, nullptr);
    }
  }
  const Status done = std::string(argv[3]) == "gate"
                          ? run_gate(argv[1], argv[2], numbers)
                          : run_stream(argv[1], argv[2], argv[3], numbers);
  if (done.ok()) return 0;
  std::fprintf(stderr, "ruv_bench_learn: %s\n", done.message().c_str());
  return 1;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return ruv::bench_learn(argc, argv); }
