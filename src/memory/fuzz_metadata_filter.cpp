// Any bytes as a filter of metadata: it is refused with a message that names its place, or SQLite
// takes the condition that is made of it, whatever its keys and values are.
#include <cstdio>
#include <cstdlib>

#include "base/entropy.h"
#include "memory/database.h"
#include "memory/metadata_filter.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

// As store_schema has them, with a document that filters may take.
ruv::Database& tables() {
  static ruv::Database database = [] {
    const std::string path = "/tmp/ruv_fuzz_filter_" + std::to_string(ruv::draw_entropy());
    auto made = ruv::Database::open(path, false);
    expect(made.has_value());
    constexpr const char* kTables = R"(
        CREATE TABLE documents (id INTEGER PRIMARY KEY, metadata TEXT);
        CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER);
        INSERT INTO documents VALUES (1, '{"a": 1, "b.c": 3, "d": "z", "e": true}');
        INSERT INTO chunks VALUES (1, 1))";
    expect(made->run(kTables).ok());
    return std::move(*made);
  }();
  return database;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = ruv::parse_json(text, "filter", {.depth = 64, .values = 10'000});
  if (!json) return 0;
  const auto filter = ruv::MetadataFilter::parse(*json, "filter");
  if (!filter) {
    expect(filter.error().message().find("filter") != std::string::npos);
    return 0;
  }
  if (filter->empty()) return 0;
  auto rows = tables().prepare("SELECT id FROM chunks WHERE " + filter->condition());
  expect(rows.has_value());
  filter->bind(*rows);
  expect(rows->run().ok());
  return 0;
}
