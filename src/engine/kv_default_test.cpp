// In what an engine stores keys and values when nobody says it.
#include <gtest/gtest.h>

#include "ruv/engine.h"

namespace ruv {
namespace {

TEST(KvTypes, NarrowHeadsKeepF16UnlessAskedOtherwise) {
  static_assert(default_kv_type(8) == KvType::f16 && default_kv_type(31) == KvType::f16);
  static_assert(default_kv_type(32) == KvType::int8 && default_kv_type(128) == KvType::int8);
  const auto type_of = [](const std::string& path, std::optional<KvType> asked) {
    const auto model = load_model(path);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    EngineOptions options{.n_threads = 1, .n_ctx = 32};
    options.kv.type = asked;
    return Engine::create(*model, options).value()->kv_stats().type;
  };
  const std::string wide = RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf";
  const std::string narrow = RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf";
  EXPECT_EQ(type_of(wide, {}), KvType::int8);
  EXPECT_EQ(type_of(wide, KvType::f16), KvType::f16);
  EXPECT_EQ(type_of(narrow, {}), KvType::f16);
  EXPECT_EQ(type_of(narrow, KvType::int8), KvType::int8);
}

}  // namespace
}  // namespace ruv
