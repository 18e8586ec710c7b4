// What answers of single requests do not show: requests at the same time, stores that are closed
// for others and deleted while they are used, restarts, and a server without a memory.
#include "net/memory/memory_routes.h"

#include <gtest/gtest.h>

#include "net/openai/test_case_server.h"

namespace ruv::memory_routes_test {
namespace {

TEST(MemoryRoutes, AreRefusedWithoutAFolder) {
  CaseServer server;
  const auto off = [&](const Json& request) {
    const Json answer = server.answer({{"request", request}});
    EXPECT_EQ(answer.at("status"), 400);
    EXPECT_EQ(answer.at("body").at("error").at("code"), "memory_off");
    EXPECT_NE(answer.dump().find("--memory"), std::string::npos);
  };
  off({{"path", "/v1/memory/documents"}, {"body", {{"name", "a"}, {"text", "b"}}}});
  off({{"path", "/v1/memory/search"}, {"body", {{"query", "a"}}}});
  off({{"path", "/v1/memory/context"}, {"body", {{"query", "a"}}}});
  off({{"path", "/v1/memory/documents"}, {"method", "GET"}});
  off({{"path", "/v1/memory/stats"}, {"method", "GET"}});
  off({{"path", "/v1/memory/documents/a"}, {"method", "DELETE"}, {"raw", ""}});
}

// Each client adds, finds, changes and deletes documents of its own, while the others do.
TEST(MemoryRoutes, TakeRequestsAtTheSameTime) {
  CaseMemory memory;
  CaseServer server(nullptr, nullptr, "", memory.get());
  const auto client = [&](const std::string& name) {
    TestClient connection(server.port());
    const auto ask = [&](const std::string& path, const Json& body) {
      const TestResponse response = connection.ask(request_bytes({{"path", path}, {"body", body}}));
      EXPECT_EQ(response.status, 200) << response.body;
      return *parse_json(response.body, "answer");
    };
    for (int i = 0; i < 8; ++i) {
      const std::string word = name + std::to_string(i);
      ask("/v1/memory/documents", {{"name", name}, {"text", "the word " + word + " is here"}});
      const Json found =
          ask("/v1/memory/search", {{"query", word}, {"metadata", Json::object()}, {"k", 50}});
      bool is_there = false;
      for (const Json& chunk : found.at("data")) {
        if (chunk.at("document") == name) {
          is_there = chunk.at("text").get<std::string>().find(word) != std::string::npos;
        }
      }
      EXPECT_TRUE(is_there) << word;
    }
  };
  std::vector<std::thread> clients;
  for (const char* name : {"ann", "bob", "cid", "dan"}) clients.emplace_back(client, name);
  for (std::thread& one : clients) one.join();
  const Json listed =
      server.answer({{"request", {{"method", "GET"}, {"path", "/v1/memory/documents"}}}});
  EXPECT_EQ(listed.at("body").at("data").size(), 4U);
}

class ShelfTest : public testing::Test {
 protected:
  ShelfTest() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-shelf-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ShelfTest() override { std::filesystem::remove_all(folder_); }
  static int64_t add(MemoryStore& store, const std::string& name) {
    const std::vector<float> vector = {1, 2};
    const auto chunks = *chunks_of(name);
    WorkerPool pool(1);
    return store.add({name, name, chunks, vector}, pool).value_or(0);
  }
  std::string folder_;
  const MemoryStore::Kind kind_{"a model", 2, {1, 0}};
};

TEST_F(ShelfTest, ClosesWhatWasNotUsedForLongest) {
  StoreShelf shelf({.max_open = 2});
  const auto held = *shelf.make(folder_ + "/held", kind_);
  for (const char* name : {"/a", "/b", "/c"})
    EXPECT_GT(add(**shelf.make(folder_ + name, kind_), name), 0);
  EXPECT_LE(shelf.n_open(), 4);
  EXPECT_EQ(*shelf.find(folder_ + "/held"), held) << "in use";
  // It was closed, and is opened again with what it has.
  EXPECT_EQ((*shelf.find(folder_ + "/a"))->stats()->n_documents, 1);
  EXPECT_EQ(*shelf.find(folder_ + "/none"), nullptr);
}

TEST_F(ShelfTest, AStoreThatIsDroppedServesThoseThatHaveIt) {
  StoreShelf shelf({});
  auto held = *shelf.make(folder_ + "/a", kind_);
  EXPECT_GT(add(*held, "one"), 0);
  shelf.drop(folder_ + "/a");
  EXPECT_EQ(held->search({.words = "one"})->size(), 1U);
  EXPECT_GT(add(*held, "two"), 0);
  EXPECT_EQ(*shelf.find(folder_ + "/a"), nullptr);
  EXPECT_EQ(shelf.make(folder_ + "/a", kind_).error().code(), Code::not_found);
  held.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a"));
}

TEST_F(ShelfTest, AnotherModelIsRefused) {
  StoreShelf shelf({});
  EXPECT_TRUE(shelf.make(folder_ + "/a", kind_));
  EXPECT_EQ(shelf.make(folder_ + "/a", {"another", 2, {0, 1}}).error().code(), Code::invalid);
  EXPECT_TRUE(shelf.make(folder_ + "/a", {"the same in 8 bits", 2, {1, 0.01F}}));
}

TEST_F(ShelfTest, AStartRemovesStoresThatWereDeleted) {
  const ServedMemoryOptions options{.folder = folder_};
  std::filesystem::create_directory(folder_ + "/vs_gone");
  {
    const auto memory = *ServedMemory::open(options);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/vs_gone"));
    CatalogStore store;
    store.id = "vs_kept";
    EXPECT_TRUE(memory->catalog().add_store(1, store).ok());
    std::filesystem::create_directory(folder_ + "/vs_kept");
    const std::string first = *memory->tenant_folder("ann/");
    EXPECT_NE(*memory->tenant_folder("bob/"), first);
    EXPECT_EQ(*memory->tenant_folder("ann/"), first);
    EXPECT_NE(memory->new_id("vs_"), memory->new_id("vs_"));
  }
  const auto memory = *ServedMemory::open(options);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/vs_kept"));
}

// What has expired is in no list, in no store and in no room of its owner, whatever is asked for.
TEST(MemoryRoutes, ExpiredFilesLeaveTheirStores) {
  CaseMemory memory;
  CaseServer server(nullptr, nullptr, "", memory.get());
  MemoryCatalog& catalog = memory.get()->catalog();
  const int64_t tenant = *catalog.tenant("");
  const auto ask = [&](const char* method, const std::string& path, const Json& body = {}) {
    Json request = {{"method", method}, {"path", path}};
    if (body.is_object()) request["body"] = body;
    return server.answer({{"request", request}}).at("body");
  };
  CatalogFile file{.id = "file-a", .name = "a.txt", .n_bytes = 8};
  ASSERT_TRUE(catalog.add_file(tenant, file, "the word", 8).value_or(false));
  const std::string store =
      ask("POST", "/v1/vector_stores", {{"file_ids", {"file-a"}}})["id"].get<std::string>();
  const std::string inside = "/v1/vector_stores/" + store;
  const auto found = [&] { return ask("POST", inside + "/search", {{"query", "word"}})["data"]; };
  ASSERT_EQ(found().size(), 1U);

  auto database = Database::open(memory.get()->options().folder + "/catalog.db", false);
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->run("UPDATE files SET expires_s = 1700000001").ok());
  EXPECT_EQ(found().size(), 0U);
  EXPECT_EQ(ask("GET", inside + "/files")["data"].size(), 0U);
  EXPECT_EQ(ask("GET", "/v1/files")["data"].size(), 0U);
  file.id = "file-b";
  EXPECT_TRUE(catalog.add_file(tenant, file, "the word", 8).value_or(false));
}

TEST(MemoryRoutes, FilesThatComeAtOnceShareTheRoom) {
  CaseMemory memory;
  MemoryCatalog& catalog = memory.get()->catalog();
  std::atomic<int> n_added = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        const CatalogFile file{.id = fmt::format("file-{}-{}", i, k), .n_bytes = 10};
        if (catalog.add_file(1, file, "0123456789", 75).value_or(false)) ++n_added;
      }
    });
  }
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(n_added, 7);
  EXPECT_TRUE(catalog.add_file(2, {.id = "other", .n_bytes = 75}, "", 75).value_or(false));
}

// An id has no slashes, so that a path below one is not taken for an id.
TEST(MemoryRoutes, AWrongMethodBelowAnIdIsNamed) {
  CaseMemory memory;
  CaseServer server(nullptr, nullptr, "", memory.get());
  const auto status = [&](const char* method, const char* path) {
    return server.answer({{"request", {{"method", method}, {"path", path}, {"raw", ""}}}})
        .at("status");
  };
  for (const char* path : {"/v1/files/a/content", "/v1/vector_stores/a/files/b/content",
                           "/v1/vector_stores/a/files", "/v1/vector_stores/a/search"})
    EXPECT_EQ(status("DELETE", path), Json(405)) << path;
  EXPECT_EQ(status("GET", "/v1/files/a/b/c"), Json(404));
  EXPECT_EQ(status("GET", "/v1/files/a"), Json(404));
}

}  // namespace
}  // namespace ruv::memory_routes_test
