// For tests: a configuration of pages of any type. int4 and int2 get a verdict that lets them pass,
// as `ruvllm kv-gate` would write it for a model that bears them.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "device/kv_verdict.h"
#include "ruv/kv_cache.h"

namespace ruv {

inline KvCacheConfig kv_of(KvType type) {
  KvCacheConfig config;
  config.type = type;
  if (type == KvType::f16 || type == KvType::int8) return config;
  config.gate_file =
      testing::TempDir() + "ruv_passed_" + std::to_string(getpid()) + ".kv-gate.json";
  const KvVerdict passed[] = {{.type = KvType::int4}, {.type = KvType::int2}};
  std::ofstream(config.gate_file) << kv_verdicts_text("test", passed);
  return config;
}

}  // namespace ruv
