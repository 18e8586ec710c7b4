#include "net/local/local_source.h"

namespace ruv {

OpenAiService service_of(const LocalSource& source, Engine& engine) {
  OpenAiService service = make_service(make_server_parts(), engine, *source.text, source.names);
  service.usual = source.usual;
  service.sessions = source.sessions;
  service.max_sequences = source.max_sequences;
  service.adapters = source.adapters;
  service.adapter_folder = source.adapter_folder;
  return service;
}

}  // namespace ruv
