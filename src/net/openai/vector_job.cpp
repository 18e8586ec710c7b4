#include "net/openai/vector_job.h"

#include <algorithm>

#include "base/allocation.h"
#include "net/openai/noted_texts.h"

namespace ruv {
namespace {

// Open requests of one job: enough that steps are full, few enough that others get their turn.
constexpr size_t kMostOpen = 32;

// Everything but finish() runs on the network thread.
class VectorJob final : public std::enable_shared_from_this<VectorJob> {
 public:
  VectorJob(const OpenAiService& service, VectorRequest request, std::shared_ptr<Reply> reply,
            SendVectors send)
      : service_(service),
        request_(std::move(request)),
        reply_(std::move(reply)),
        send_(std::move(send)),
        states_(request_.texts.size()) {}

  void start() {
    reply_->notes().model = service_.names.front();
    reply_->notes().tenant = request_.terms.tenant;
    if (service_.notes_contents) {
      RequestContents& contents = reply_->notes().contents.emplace();
      for (const std::vector<Token>& ids : request_.texts) {
        note_prompt(*service_.text, ids, contents);
      }
    }
    if (!reply_->hold(n_held_bytes())) return fail_all(answers_overloaded());
    reply_->on_disconnect([self = shared_from_this()] {
      self->over_ = true;
      self->cancel_all();
    });
    fill();
  }

 private:
  struct Open {
    size_t index;
    RequestId id;
  };

  // Ids and states while the answer is computed.
  uint64_t n_held_bytes() const {
    uint64_t n = request_.n_kept_bytes;
    const auto n_embd = static_cast<uint64_t>(service_.text->info().n_embd);
    for (const std::vector<Token>& text : request_.texts) {
      n += text.size() * sizeof(Token) + n_embd * sizeof(float);
    }
    return n;
  }

  // Submits what there is room for. A full queue is waited for while texts of this job are open.
  void fill() {
    while (!over_ && next_ < states_.size() && open_.size() < kMostOpen) {
      const Result<RequestId> id = submit(next_);
      if (id) {
        open_.push_back({next_++, *id});
        continue;
      }
      if (id.error().code() == Code::unavailable && !open_.empty()) return;
      return fail_all(api_error(id.error()));
    }
  }

  Result<RequestId> submit(size_t index) {
    Request request;
    request.prompt = request_.texts[index];
    request.output = RequestOutput::hidden;
    request.pooling = request_.pooling;
    request.terms = request_.terms;
    request.adapters = request_.adapters;
    if (!request_.second_texts.empty()) request.second_text = request_.second_texts[index];
    request.on_event = [self = shared_from_this(), index](const Event& event) {
      if (event.finish == FinishReason::none) return;
      self->reply_->post([self, index, event] { self->take(index, event); });
    };
    return service_.engine->submit(std::move(request));
  }

  void take(size_t index, const Event& event) {
    std::erase_if(open_, [&](const Open& open) { return open.index == index; });
    if (over_) return;
    if (event.finish == FinishReason::error) return fail_all(api_error(event.status));
    if (event.hidden.empty()) {
      return fail_all(api_error(Status(Code::cancelled, "the server is stopping")));
    }
    states_[index] = event.hidden;
    n_prompt_tokens_ += event.timings.n_prompt_tokens;
    request_.texts[index] = {};
    if (++n_done_ < states_.size()) return fill();
    over_ = true;
    reply_->notes().n_prompt_tokens = n_prompt_tokens_;
    service_.beside->post([self = shared_from_this()] { self->finish(); });
  }

  // On the service's own thread.
  void finish() {
    const auto make_all = [&] {
      VectorResult result{.vectors = {}, .n_prompt_tokens = n_prompt_tokens_};
      result.vectors.reserve(states_.size());
      for (std::vector<float>& states : states_) {
        result.vectors.push_back(request_.as_states
                                     ? Embedding{.numbers = std::move(states)}
                                     : service_.text->finish_embedding(states, request_.params));
        states = {};
      }
      send_(std::move(result));
    };
    if (try_allocating(make_all)) return;
    send_response(reply_, error_response(api_error(Status(Code::out_of_memory, "out of memory"))));
  }

  void fail_all(const ApiError& error) {
    over_ = true;
    reply_->notes().finish = error.code;
    cancel_all();
    reply_->send(error_response(error));
  }
  void cancel_all() {
    for (const Open& open : open_) service_.engine->cancel(open.id);
  }

  const OpenAiService& service_;
  VectorRequest request_;
  std::shared_ptr<Reply> reply_;
  SendVectors send_;
  std::vector<std::vector<float>> states_;
  std::vector<Open> open_;
  size_t next_ = 0;
  size_t n_done_ = 0;
  int64_t n_prompt_tokens_ = 0;
  bool over_ = false;  // the answer is sent, or no client waits for it
};

}  // namespace

void compute_vectors(const OpenAiService& service, VectorRequest request,
                     const std::shared_ptr<Reply>& reply, SendVectors send) {
  auto job = std::make_shared<VectorJob>(service, std::move(request), reply, std::move(send));
  reply->post([job] { job->start(); });
}

int64_t most_embed_tokens(const OpenAiService& service) {
  const int64_t n_ctx = service.engine->n_ctx();
  const Result<EmbedInfo>& info = service.text->embed_info();
  return info && info->max_tokens > 0 ? std::min(n_ctx, info->max_tokens) : n_ctx;
}

}  // namespace ruv
