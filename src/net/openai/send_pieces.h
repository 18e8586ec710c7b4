// Answers that are written while the client reads them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/http/reply.h"

namespace ruv {

// Sends an answer from any thread: at once up to 64 KB, else in pieces. `Answer` has next(n_bytes),
// done() and held_bytes(), as TokenizeAnswer does.
template <class Answer>
void send_in_pieces(const std::shared_ptr<Reply>& reply, std::shared_ptr<Answer> answer) {
  constexpr size_t kWholeBytes = 64 << 10;
  // Written on the network thread, where nothing may take long.
  constexpr size_t kPieceBytes = 16 << 10;
  const uint64_t n_held = answer->held_bytes();
  std::string first = answer->next(kWholeBytes);
  if (answer->done()) return send_response(reply, {.body = std::move(first)});
  reply->post([reply, answer, n_held, first = std::move(first)]() mutable {
    reply->send_pieces(n_held, [answer, first = std::move(first)]() mutable {
      return first.empty() ? answer->next(kPieceBytes) : std::exchange(first, {});
    });
  });
}

}  // namespace ruv
