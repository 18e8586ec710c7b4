#include "net/body_tables.h"

#include <array>

#include "net/anthropic/messages.h"
#include "net/audit/audit_routes.h"
#include "net/llamacpp/infill.h"
#include "net/memory/memory_routes.h"
#include "net/memory/session_search.h"
#include "net/ollama/ollama.h"
#include "net/responses/responses.h"

namespace ruv {

// A table that is missing here has no documentation and no tests.
std::span<const BodyTable* const> body_tables() {
  static const std::array kTables{&chat_fields(),
                                  &completion_fields(),
                                  &embedding_fields(),
                                  &rerank_fields(),
                                  &score_fields(),
                                  &template_fields(),
                                  &tokenize_fields(),
                                  &detokenize_fields(),
                                  &session_fields(),
                                  &model_fields(),
                                  &messages_fields(),
                                  &count_tokens_fields(),
                                  &ollama_chat_fields(),
                                  &ollama_generate_fields(),
                                  &ollama_embed_fields(),
                                  &ollama_old_embed_fields(),
                                  &ollama_show_fields(),
                                  &responses_fields(),
                                  &infill_fields(),
                                  &load_adapter_fields(),
                                  &unload_adapter_fields(),
                                  &feedback_fields(),
                                  &undo_fields(),
                                  &memory_document_fields(),
                                  &memory_search_fields(),
                                  &session_search_fields(),
                                  &file_batch_fields(),
                                  &rating_fields(),
                                  &memory_context_fields(),
                                  &vector_store_fields(),
                                  &vector_store_change_fields(),
                                  &vector_store_file_fields(),
                                  &vector_store_file_change_fields(),
                                  &vector_store_search_fields()};
  return kTables;
}

}  // namespace ruv
