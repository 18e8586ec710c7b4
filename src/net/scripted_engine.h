// For tests of the HTTP layer: an engine that says what its script says, and a model whose tokens
// are bytes. What is tested with them is HTTP; generation has its own tests.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "net/model_text.h"
#include "ruv/engine.h"

namespace ruv {

// Ids 0 to 255 are bytes; 256 is the end token.
class ByteText final : public ModelText {
 public:
  // The engine's context is 200: by default the model allows more.
  explicit ByteText(int64_t n_ctx_train = 400) {
    info_.name = "scripted";
    info_.n_vocab = 300;
    info_.n_ctx_train = n_ctx_train;
    info_.n_embd = 2;
    embed_info_->n_dims = 2;
    embed_info_->max_tokens = 50;
    embed_info_->prompts = {{"query", "q:"}};
  }
  const Result<EmbedInfo>& embed_info() const override { return embed_info_; }
  // The model gives no vectors.
  void refuse_vectors() { embed_info_ = fail(Code::unsupported, "no vectors here"); }
  // Special tokens are '<' and '>'.
  Result<std::vector<Token>> embed_ids(std::string_view text,
                                       const EmbedPrompt& prompt) const override {
    if (prompt.name && !prompt.name->empty() && *prompt.name != "query") {
      return fail(Code::invalid, "prompt name: the model has no prompt '{}'", *prompt.name);
    }
    std::string whole = prompt.name == "query" ? "q:" : "";
    whole += text;
    if (prompt.max_tokens > 2) whole.resize(std::min<size_t>(whole.size(), prompt.max_tokens - 2));
    if (prompt.add_special) whole = "<" + whole + ">";
    return encode(whole, {.add_special = false, .parse_special = false})->ids();
  }
  Status can_rank() const override { return rank_status_; }
  void refuse_ranking() { rank_status_ = Status(Code::unsupported, "no classifier here"); }
  // Queries begin with "q:".
  Result<PairTexts> pair_ids(std::span<const TextPair> pairs, PairKind kind,
                             int64_t max_tokens) const override {
    PairTexts out;
    for (const TextPair& pair : pairs) {
      EmbedPrompt first{.max_tokens = max_tokens}, second = first;
      if (kind == PairKind::document) first.name = "query";
      out.ids.push_back(TRY(embed_ids(pair.first, first)));
      out.ids.push_back(TRY(embed_ids(pair.second, second)));
      out.pairs.push_back({out.ids.size() - 2, out.ids.size() - 1});
    }
    return out;
  }
  std::vector<double> pair_scores(const PairTexts& texts,
                                  std::span<const Embedding> vectors) const override {
    std::vector<double> scores;
    for (const auto& pair : texts.pairs) {
      scores.push_back(cosine_of(vectors[pair.first].numbers, vectors[pair.second].numbers));
    }
    return scores;
  }
  // The first numbers, scaled.
  Embedding finish_embedding(std::span<const float> states,
                             const EmbedParams& params) const override {
    Embedding out{.numbers = {states.begin(), states.end()}};
    if (params.dimensions > 0) out.numbers.resize(static_cast<size_t>(params.dimensions));
    if (!params.normalise.value_or(true)) return out;
    float squares = 0;
    for (const float x : out.numbers) squares += x * x;
    for (float& x : out.numbers) x /= std::sqrt(squares);
    return out;
  }
  Result<TokenizedText> encode(std::string_view text, const EncodeOptions& options) const override {
    TokenizedText out;
    if (has_bos_ && options.add_special) {
      ++out.n_tokens;
      if (!options.count_only) out.log.ids.push(kBos);
      if (options.with_spans) out.log.spans.push({0, 0});
    }
    for (uint32_t at = 0; at < text.size();) {
      uint32_t size = 1;
      uint64_t id = static_cast<unsigned char>(text[at]);
      for (size_t i = 0; options.parse_special && i < marks_.size(); ++i) {
        if (!text.substr(at).starts_with(marks_[i])) continue;
        size = static_cast<uint32_t>(marks_[i].size());
        id = 256 + i;
      }
      ++out.n_tokens;
      if (!options.count_only) out.log.ids.push(id);
      if (options.with_spans) out.log.spans.push({at, at + size});
      at += size;
    }
    return out;
  }
  // "<role>content{members}\n" of each message, which may have no content, and "." where no answer
  // begins; "REFUSE" is refused as templates do.
  Result<std::string> chat_text(const Conversation& conversation) const override {
    std::string text;
    for (const Message& message : conversation.messages) {
      const std::string content = joined_text(message);
      if (content == "REFUSE") {
        return fail(Code::invalid, "chat template: roles must alternate");
      }
      text += fmt::format("<{}>{}{}\n", message.role, content, message.members.to_string());
    }
    for (const TemplateValue& value : {conversation.tools, conversation.variables}) {
      if (value.json() != nullptr) text += "{" + value.to_string() + "}";
    }
    if (conversation.end == PromptEnd::open_message) text.pop_back();
    if (conversation.end == PromptEnd::closed) text += '.';
    return text;
  }
  // Everything but the last five bytes is fixed where the answer continues a message.
  Result<ChatPrompt> chat_prompt(const Conversation& conversation) const override {
    const std::string text = TRY(chat_text(conversation));
    const auto n = static_cast<int64_t>(text.size());
    const bool open = conversation.end == PromptEnd::open_message;
    return ChatPrompt{TRY(encode(text, {})).ids(), open ? n - 5 : n, tail_};
  }
  Result<std::string> text_of(std::span<const Token> ids, bool with_special) const override {
    std::string text;
    for (const Token id : ids) {
      if (id < 0 || id >= 300) return fail(Code::invalid, "token id {} is unknown", id);
      if (id < 256) text += static_cast<char>(id);
      if (id >= 256 && with_special) text += "<end>";
    }
    return text;
  }
  std::string valid_text(std::string_view bytes) const override { return to_valid_utf8(bytes); }
  std::string token_name(Token id) const override {
    return id < 256 ? std::string(1, static_cast<char>(id)) : "<end>";
  }
  const ModelInfo& info() const override { return info_; }
  const AnswerFormat& format() const override { return format_; }
  // Names of the tokens from 257 on, as models of code have them.
  void set_marks(std::vector<std::string> marks) {
    marks_.resize(1);
    marks_.insert(marks_.end(), marks.begin(), marks.end());
  }
  // Texts that are not of a chat begin with a token of their own.
  void set_bos(bool has_bos) { has_bos_ = has_bos; }
  // The model calls tools in this dialect.
  void set_format(AnswerFormat format, std::string tail) {
    format_ = std::move(format);
    tail_ = std::move(tail);
  }

 private:
  static constexpr uint64_t kBos = 299;
  bool has_bos_ = false;
  std::vector<std::string> marks_ = {"<end>"};
  AnswerFormat format_;
  std::string tail_;  // what prompts end with, as the template wrote it
  ModelInfo info_;
  Result<EmbedInfo> embed_info_ = EmbedInfo();
  Status rank_status_;
};

// What stands for the states of a prompt: its first id, and how many ids it has.
inline std::vector<float> scripted_states(const std::vector<Token>& prompt) {
  return {static_cast<float>(prompt[0]), static_cast<float>(prompt.size())};
}

// One answer.
struct Script {
  std::vector<Event> events;
  FinishReason finish = FinishReason::stop;
  Status status;         // of `error`
  bool endless = false;  // repeats its events until cancelled
  std::chrono::microseconds pause{0};
};

class ScriptedEngine final : public Engine {
 public:
  ~ScriptedEngine() override {
    for (auto& [id, answer] : answers_) answer->cancelled = true;
    for (auto& [id, answer] : answers_) answer->thread.join();
  }

  // Answers of the requests that follow, one each in turn; the last one stays.
  void set_scripts(std::vector<Script> scripts) {
    const std::lock_guard lock(mutex_);
    scripts_ = std::move(scripts);
    n_used_ = 0;
    submitted_.clear();
  }
  // Refuses the request that follows n others.
  void refuse_after(size_t n, Status status) {
    const std::lock_guard lock(mutex_);
    n_before_refusal_ = n;
    refusal_ = std::move(status);
  }
  // What was asked since set_scripts.
  std::vector<Request> submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }

  Result<RequestId> submit(Request request) override {
    const std::lock_guard lock(mutex_);
    if (!refusal_.ok() && n_before_refusal_-- == 0) {
      return tl::unexpected(std::exchange(refusal_, Status()));
    }
    const RequestId id = next_id_++;
    submitted_.push_back(request);
    submitted_.back().on_event = nullptr;
    const Script script = scripts_[std::min(n_used_++, scripts_.size() - 1)];
    auto answer = std::make_unique<Running>();
    Running* running = answer.get();
    ++n_running_;
    running->thread = std::thread(
        [this, running, script, request = std::move(request)] { play(*running, script, request); });
    answers_[id] = std::move(answer);
    return id;
  }
  void cancel(RequestId id) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = answers_.find(id); found != answers_.end()) {
      found->second->cancelled = true;
    }
  }
  Load load() const override { return {n_running_.load(), 0, 10, 10, 0}; }
  KvCacheStats kv_stats() const override { return {}; }
  SpeculativeStats speculative_stats() const override { return {}; }
  const Model& model() const override { std::abort(); }
  int64_t n_ctx() const override { return 200; }

 private:
  struct Running {
    std::thread thread;
    std::atomic<bool> cancelled{false};
  };

  void play(Running& running, const Script& script, const Request& request) {
    Timings timings;
    timings.n_prompt_tokens = static_cast<int64_t>(request.prompt.size());
    do {
      for (const Event& event : script.events) {
        if (running.cancelled) break;
        timings.n_generated_tokens += static_cast<int64_t>(event.ids.size());
        request.on_event(event);
        if (script.pause.count() > 0) std::this_thread::sleep_for(script.pause);
      }
    } while (script.endless && !running.cancelled);
    Event last;
    last.finish = running.cancelled ? FinishReason::cancelled : script.finish;
    last.timings = timings;
    last.status = script.status;
    const bool gives_states =
        request.output == RequestOutput::hidden && last.finish == FinishReason::stop;
    if (gives_states) last.hidden = scripted_states(request.prompt);
    --n_running_;
    request.on_event(last);
  }

  mutable std::mutex mutex_;
  std::vector<Script> scripts_{1};
  size_t n_used_ = 0;
  Status refusal_;
  size_t n_before_refusal_ = 0;
  std::vector<Request> submitted_;
  std::map<RequestId, std::unique_ptr<Running>> answers_;
  RequestId next_id_ = 1;
  std::atomic<int64_t> n_running_{0};
};

}  // namespace ruv
