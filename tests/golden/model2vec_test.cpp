// A published table of embeddings (Model2Vec) against vectors of its own library. Needs the shared
// data.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "ruv/engine.h"

namespace ruv {
namespace {

std::string folder_of_data() {
  const char* const dir = std::getenv("RUV_DATA_DIR");
  return (dir != nullptr ? std::string(dir) : RUV_SOURCE_DIR "/../shared/data") +
         "/embeddings/model2vec/";
}

TEST(Model2Vec, VectorsAreThoseOfItsLibrary) {
  const std::string folder = folder_of_data();
  if (!file_exists(folder + "embeddings_short.json")) GTEST_SKIP() << folder << " is not there";
  std::string hellos = "hello";
  for (int i = 1; i < 1000; ++i) hellos += " hello";
  for (const auto& [name, bound] :
       {std::pair("test-model-float32", 1e-5), std::pair("test-model-float16", 1e-3)}) {
    const auto model = load_model(folder + name);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ(check_model(folder + name).message(), "");
    // Texts are longer than a step.
    const auto engine =
        std::move(*Engine::create(*model, {.n_threads = 1, .max_batch_tokens = 64}));
    for (const auto& [text, file] : {std::pair(std::string("hello world"), "embeddings_short.json"),
                                     std::pair(hellos, "embeddings_long.json")}) {
      const Json want = *parse_json(*read_text_file(folder + file), file);
      const Embedding got = *engine->embed(*tokenize_embedding(**model, text + " \U0001F600"));
      ASSERT_EQ(got.numbers.size(), want[0].size());
      for (size_t i = 0; i < got.numbers.size(); ++i) {
        EXPECT_NEAR(got.numbers[i], want[0][i].get<double>(), bound) << name << " " << file;
      }
    }
  }
}

}  // namespace
}  // namespace ruv
