// ModelFile: what a GGUF file (or a set of splits) or a safetensors folder holds, in one form:
// hyper-parameters by GGUF key, tensors by GGUF name, the tokenizer's tables, the chat template.
// Everything is checked while opening; tensor bytes stay in the mapped file.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/faults.h"
#include "base/file.h"
#include "base/range.h"
#include "family/family.h"
#include "tensor/format.h"
#include "text/tokenizer.h"

namespace ruv {

struct MetaArray;
// A GGUF metadata value; integers of every width become int64 (u64 above 2^63 is refused).
using MetaValue =
    std::variant<bool, int64_t, double, std::string, std::shared_ptr<const MetaArray>>;
struct MetaArray {
  std::vector<bool> bools;  // exactly one of these is used
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> strings;
  size_t size() const { return bools.size() + integers.size() + numbers.size() + strings.size(); }
};
using MetaMap = std::map<std::string, MetaValue, std::less<>>;

// Makes the rows of a tensor that is not blocks in the file: its codes, scales and zeros are
// tensors of their own, or in another order. What it reads lies in mapped files that outlive it;
// safe to call from any number of threads.
class RowMaker {
 public:
  virtual ~RowMaker() = default;
  // Writes one row as blocks of the tensor's format. Requires: `row` is one of the tensor's rows;
  // `to` holds it.
  virtual void make_row(int64_t row, std::byte* to) const = 0;
  // Whether all rows so far could be made. Fails: corrupt, invalid, naming the tensor.
  virtual Status status() const { return {}; }
};

struct TensorInfo {
  std::string name;  // GGUF name, for example "blk.0.attn_q.weight"
  DType dtype = DType::f32;
  // Rows first, as in papers: a matrix is (n_out, n_in). The last dimension is contiguous.
  std::vector<int64_t> shape;
  // Exactly the tensor, inside the mapped file; valid while the ModelFile lives. Any alignment.
  // With steps: from its first number on. With a maker: only the codes, to tell contents apart.
  Bytes bytes;
  // Where numbers lie that do not follow each other: bytes between neighbours, by dimension, as in
  // transposed matrices and parts of larger ones. Empty: they follow each other. Only for formats
  // whose blocks are single numbers, and with a maker, where they count its rows.
  std::vector<int64_t> steps = {};
  // Not null: rows are made by this, row 0 from its row `first_row`.
  std::shared_ptr<const RowMaker> maker = {};
  int64_t first_row = 0;

  int64_t n_elements() const;
  // What the numbers take in the tensor's format.
  int64_t n_bytes() const;
  // The tensor as a matrix has this many rows of shape.back() numbers.
  int64_t n_rows() const;
  // Where a row begins in `bytes`; with a maker, how many of its rows are before it.
  int64_t row_offset(int64_t row) const;
  // Whether the numbers of a row follow each other.
  bool has_whole_rows() const;
  // A row as the format packs it. Requires: `to` holds bytes_of(shape.back()).
  void copy_row(int64_t row, std::byte* to) const;
  // Numbers of a row, as float32. Requires: `to` holds shape.back() of them.
  void decode_row(int64_t row, float* to) const;
};

// Whether rows of q and k are in the order for rotating neighbours (2i, 2i+1), as GGUF files of
// some families have them, or halves (i, i + d/2), as safetensors have them.
enum class RopeOrder : uint8_t { halves, neighbours };

struct ModelFileOptions {
  // Keys and tensors that are taken as absent, named as errors name them.
  std::vector<std::string> ignored_keys;
  // Weights are not looked at: an output matrix that repeats the embedding counts as another.
  bool tables_only = false;
};

class ModelFile {
 public:
  virtual ~ModelFile() = default;

  // Opens a GGUF file (also the first of splits "-00001-of-0000N.gguf"), a ggmf file (rwkv.cpp), or
  // a folder with config.json and safetensors. Fails: not_found, corrupt (file, offset, field),
  // unsupported (GGUF v1, big-endian). What is wrong with the rest of a file that can be read is in
  // faults().
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const ModelFileOptions& options = {});

  const std::string& path() const { return path_; }
  // "gguf", "ggmf" or "safetensors".
  std::string_view container() const { return container_; }
  // As general.architecture; in a folder of a family we do not have, as the config calls it.
  const std::string& architecture() const { return architecture_; }
  // Null: not one of ours.
  const FamilyRecord* family() const { return family_; }
  // The model class that a folder's config names; null: not one of ours, or a GGUF file.
  const HfClass* hf_class() const { return hf_class_; }
  // The family. Fails: unsupported, naming the architecture and the families that are most like it.
  Result<const FamilyRecord*> known_family() const;
  RopeOrder rope_order() const;
  // How the rows of a fused matrix of queries, keys and values are ordered.
  QkvRows qkv_rows() const;
  // The weights of norms are stored as w - 1: add 1 while loading. GGUF files of the same models
  // hold w.
  bool norms_minus_one() const;

  // Value by key; keys of hyper-parameters are given without the architecture ("block_count" finds
  // "qwen2.block_count"). Null when absent.
  const MetaValue* find(std::string_view key) const;
  // As find, converted; fails not_found naming the key, corrupt when of another type.
  Result<int64_t> integer(std::string_view key) const;
  // An array of integers, or one integer alone. Fails: as integer().
  Result<std::vector<int64_t>> integers(std::string_view key) const;
  // The same of numbers, which must be exactly n. Fails: not_found, corrupt.
  Result<std::vector<double>> numbers(std::string_view key, size_t n) const;
  Result<double> number(std::string_view key) const;
  // `otherwise` when absent. Fails corrupt also where it is not finite.
  Result<double> number_or(std::string_view key, double otherwise) const;
  Result<std::string> text(std::string_view key) const;
  const MetaMap& metadata() const { return metadata_; }

  // The files the tensors lie in, in order.
  std::span<const MappedFile> files() const { return files_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* find_tensor(std::string_view name) const;
  // Tensors in a format that is not read, by GGUF name, with the reason; they are not among
  // tensors().
  const std::map<std::string, Status, std::less<>>& unread() const { return unread_; }

  // Every matrix of plain floats that multiplications read gets the format that files of this type
  // have for it (quant_mix.h), and its rows are encoded as they are read; other tensors stay. A
  // later call replaces an earlier one, an empty name undoes it. Fails: invalid, for a name that
  // quant_types() lacks.
  Status set_weight_type(std::string_view type_name);
  // That of the last set_weight_type(); empty: none.
  std::string_view weight_type() const { return weight_type_; }
  // As find_tensor(), as the file has it.
  const TensorInfo* find_stored(std::string_view name) const;

  // Lets the system take back the memory of what was read so far; it is read again when touched.
  void drop_pages() const;
  // Advice that bytes [after.begin, after.end) counted from `at` are read soon, as far as the
  // mapped file that holds `at` reaches, so that the disk fetches many parts of it at once. What
  // memory holds already is not asked for; an address of no file asks for nothing.
  void expect_read(const std::byte* at, Range after) const;

  // Ok, or why the model cannot be run: a key asks for something that the engine does not compute
  // (unsupported; it is named with its value), a tensor is in a format that is not read
  // (unsupported), or the output matrix is missing or of another size than the config says.
  const Status& usable() const { return faults_.first(); }
  // All reasons; usable() is the first.
  const Faults& faults() const { return faults_; }
  // Messages about contents of the file that are not used.
  std::span<const std::string> remarks() const { return remarks_; }
  // Those of ModelFileOptions::ignored_keys that the file had.
  std::span<const std::string> ignored_keys() const { return ignored_keys_; }
  // A key or tensor as the file itself names it: "rope.freq_base" is "rope_theta" in a config.json,
  // "llama.rope.freq_base" in a GGUF file.
  std::string shown_key(std::string_view key) const;
  virtual std::string shown_tensor(std::string_view name) const { return std::string(name); }

  // The tokenizer's tables. Fails: not_found when the file has none, unsupported, corrupt.
  virtual Result<TokenizerSpec> tokenizer_spec() const = 0;
  // Empty when the model has none.
  virtual std::string chat_template() const = 0;
  // JSON: how the model writes reasoning and calls. Empty when the files do not say it, as GGUF
  // files never do.
  virtual std::string response_template() const { return {}; }

 protected:
  // Fills tensor_index_ from tensors_. Fails: corrupt when two tensors have one name.
  Status index_tensors();

  std::vector<MappedFile> files_;  // tensors point into them
  std::string path_;
  std::string_view container_;
  std::string architecture_;
  const FamilyRecord* family_ = nullptr;
  const HfClass* hf_class_ = nullptr;
  MetaMap metadata_;
  std::map<std::string, std::string, std::less<>> key_names_;  // where the file has others
  Faults faults_;
  std::vector<std::string> remarks_, ignored_keys_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, Status, std::less<>> unread_;
  std::map<std::string, size_t, std::less<>> tensor_index_;

 private:
  std::string weight_type_;
  std::vector<TensorInfo> stored_;  // tensors_ of the file; empty before set_weight_type()
};

}  // namespace ruv
