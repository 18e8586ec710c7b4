#include "net/http/server_state.h"

namespace ruv {

void ServerState::report(RequestRecord& record, const std::optional<ApiKey>& key,
                         std::chrono::steady_clock::time_point begun) {
  const auto now = std::chrono::steady_clock::now();
  const RequestNotes& used = record.notes;
  if (key) limits.charge(*key, used.n_prompt_tokens + used.n_generated_tokens, now);
  if (!options.on_request) return;
  record.ms = std::chrono::duration<double, std::milli>(now - begun).count();
  options.on_request(record);
}

void ServerState::note_left() {
  if (stopping && connections.empty() && works.empty()) drain.cancel();
}

}  // namespace ruv
