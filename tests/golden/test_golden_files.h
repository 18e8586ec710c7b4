// Folders of tiny models from goldens, which hold a config, shapes and a seed: weights and prompts
// are made of the seed as tests/oracle/families/weights.py makes them.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "ruv/token.h"
#include "tensor/format.h"

namespace ruv {

inline uint64_t fnv1a(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return value;
}

// n numbers in [-1, 1) by splitmix64, exact in float32.
inline std::vector<double> uniform(std::string_view name, uint64_t seed, size_t n) {
  std::vector<double> out(n);
  uint64_t state = fnv1a(name) ^ seed;
  for (double& number : out) {
    uint64_t x = state += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    x ^= x >> 31;
    number = (static_cast<double>(x >> 40) - 0x1p23) / 0x1p23;
  }
  return out;
}

inline std::vector<Token> prompt_of(const Json& golden, size_t length) {
  const Json& vocab = golden.at("config").value("vocab_size", Json(32));
  std::vector<Token> ids;
  // A padding token has no place in a text.
  const auto unplaced = golden.value("unplaced", Json(-1)).get<Token>();
  const auto seed = golden.at("seed").get<uint64_t>();
  for (const double u : uniform("ids " + std::to_string(length), seed, length))
    ids.push_back(static_cast<Token>((u + 1) / 2 * vocab.get<double>()));
  for (Token& id : ids) {
    if (id == unplaced) id = (id + 1) % vocab.get<Token>();
  }
  return ids;
}

// A tensor of a golden: [name in the file, (name its numbers come from,) shape, centre, spread].
struct GoldenTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string bytes;
};
inline GoldenTensor tensor_of(const Json& row, const Json& golden) {
  GoldenTensor tensor{
      row.at(0).get<std::string>(), row.at(row.size() - 3).get<std::vector<int64_t>>(), {}};
  const auto filler = row.at(row.size() == 5 ? 1 : 0).get<std::string>();
  const auto centre = row.at(row.size() - 2).get<double>();
  const auto spread = row.at(row.size() - 1).get<double>();
  size_t n = 1;
  for (const int64_t length : tensor.shape) n *= static_cast<size_t>(length);
  std::vector<float> numbers;
  for (const double u : uniform(filler, golden.at("seed").get<uint64_t>(), n))
    numbers.push_back(static_cast<float>(centre + spread * u));
  const auto dtype = golden.at("dtype").get<std::string>();
  const DType type = dtype == "f16" ? DType::f16 : dtype == "bf16" ? DType::bf16 : DType::f32;
  tensor.bytes.resize(n * (type == DType::f32 ? 4 : 2));
  format_of(type).encode(numbers.data(), nullptr, tensor.bytes.data(), static_cast<int64_t>(n));
  return tensor;
}

inline void write_golden_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void write_safetensors(const std::string& path, const std::vector<GoldenTensor>& tensors,
                              const std::string& dtype) {
  Json header = Json::object();
  std::string data;
  for (const GoldenTensor& tensor : tensors) {
    std::string upper = dtype;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    header[tensor.name] = {{"dtype", upper},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t n = text.size();
  write_golden_text(path, std::string(reinterpret_cast<const char*>(&n), sizeof n) + text + data);
}

// config.json and the weights, in as many files as the golden says.
inline void write_folder(const std::string& folder, const Json& golden) {
  std::filesystem::create_directories(folder);
  write_golden_text(folder + "/config.json", golden.at("config").dump());
  const auto n_shards = golden.at("shards").get<size_t>();
  std::vector<std::vector<GoldenTensor>> shards(n_shards);
  Json index = {{"metadata", Json::object()}, {"weight_map", Json::object()}};
  const auto name_of = [&](size_t shard) {
    return n_shards == 1 ? std::string("model.safetensors")
                         : "model-" + std::to_string(shard) + ".safetensors";
  };
  size_t at = 0;
  for (const Json& row : golden.at("tensors")) {
    shards[at % n_shards].push_back(tensor_of(row, golden));
    index["weight_map"][row.at(0).get<std::string>()] = name_of(at++ % n_shards);
  }
  for (size_t i = 0; i < n_shards; ++i)
    write_safetensors(folder + "/" + name_of(i), shards[i], golden.at("dtype").get<std::string>());
  if (n_shards > 1) write_golden_text(folder + "/model.safetensors.index.json", index.dump());
}

}  // namespace ruv
