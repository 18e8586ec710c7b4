// Chooses the kernel table for this machine. Tables are merged once: an instruction set's row, with
// every entry it leaves null taken from the reference, so that a caller never meets a null.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "kernels/isa.h"
#include "kernels/ref/ref_gemm.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ruv {
namespace {

constexpr int kMaxTables = 6;
constexpr int kMaxRows = 48;

template <class T>
void inherit(T& entry, T from) {
  if (entry == nullptr) entry = from;
}

void inherit_all(Kernels& k, const Kernels& from) {
  inherit(k.quantize_row, from.quantize_row);
  inherit(k.rms_norm, from.rms_norm);
  inherit(k.layer_norm, from.layer_norm);
  inherit(k.add, from.add);
  for (size_t act = 0; act < kActs; ++act) {
    inherit(k.gate[act], from.gate[act]);
    inherit(k.activate[act], from.activate[act]);
  }
  inherit(k.xielu, from.xielu);
  inherit(k.rope_half, from.rope_half);
  inherit(k.softcap, from.softcap);
  inherit(k.exp_sum, from.exp_sum);
  inherit(k.state_step, from.state_step);
  inherit(k.scan_step, from.scan_step);
  inherit(k.largest, from.largest);
  inherit(k.page_scores, from.page_scores);
  inherit(k.page_values, from.page_values);
  inherit(k.blend, from.blend);
  inherit(k.quantize_head, from.quantize_head);
  inherit(k.byte_scores, from.byte_scores);
  inherit(k.byte_weights, from.byte_weights);
  inherit(k.byte_values, from.byte_values);
  inherit(k.code_scores, from.code_scores);
  inherit(k.code_weights, from.code_weights);
  inherit(k.code_values, from.code_values);
  inherit(k.to_f16, from.to_f16);
  inherit(k.to_bf16, from.to_bf16);
  inherit(k.int8_peak, from.int8_peak);
  inherit(k.f32_peak, from.f32_peak);
  inherit(k.sum_words, from.sum_words);
}

// What both leave null is inherited from the reference.
Kernels merged(const Kernels& bytes, const Kernels& vectors) {
  Kernels all = bytes;
  inherit_all(all, vectors);
  inherit_all(all, kRefBytes);
  inherit_all(all, kRefVectors);
  return all;
}

[[maybe_unused]] Kernels renamed(Kernels bytes, const NamedPeak& by) {
  bytes.isa = by.isa;
  bytes.int8_peak = by.int8_peak;
  return bytes;
}

// Whether this processor has what a table needs; everything where instructions are emulated
// (tests/emulated).
#if defined(RUV_KERNELS_EMULATED)
#define RUV_HAS(feature) true
#elif defined(__x86_64__)
#define RUV_HAS(feature) __builtin_cpu_supports(feature)
#endif

#if defined(RUV_KERNELS_EMULATED)
bool has_avxvnni() { return true; }
#elif defined(RUV_KERNELS_AVXVNNI)
// The compilers' builtin learned the name later. That the system keeps AVX's registers is known
// from AVX2.
bool has_avxvnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}
#endif

#if defined(RUV_KERNELS_AVX512BW) || defined(RUV_KERNELS_AVX512)
bool has_avx512() {
  return RUV_HAS("avx512f") && RUV_HAS("avx512bw") && RUV_HAS("avx512vl") && RUV_HAS("avx512dq");
}
#endif

// The merged tables this machine can run, reference first, best last.
class Tables {
 public:
  Tables() {
    merged_[0] = merged(kRefBytes, kRefVectors);
    merged_[0].gemm = ref_gemm();
    pointers_[0] = &merged_[0];
    n_ = 1;
#if defined(RUV_KERNELS_AVX2)
    // F16C, which the builtin does not know by every compiler, came before AVX2 on every machine.
    if (RUV_HAS("avx2") && RUV_HAS("fma")) {
      add(merged(kAvx2Bytes, kAvx2Vectors),
          {&kAvx2Floats, &kAvx2Blocks, &kAvx2Superblocks, &kAvx2Codebooks});
#if defined(RUV_KERNELS_AVXVNNI)
      if (has_avxvnni()) {
        add(merged(renamed(kAvx2Bytes, kAvxVnniPeak), kAvx2Vectors),
            {&kAvx2Floats, &kAvxVnniBlocks, &kAvxVnniSuperblocks, &kAvxVnniCodebooks});
      }
#endif
    }
#endif
#if defined(RUV_KERNELS_AVX512BW)
    if (has_avx512()) {
      add(merged(kAvx512BwBytes, kAvx512Vectors),
          {&kAvx512Floats, &kAvx512BwBlocks, &kAvx512BwSuperblocks, &kAvx512BwCodebooks});
    }
#endif
#if defined(RUV_KERNELS_AVX512)
    if (has_avx512() && RUV_HAS("avx512vnni")) add_avx512();
#endif
#if defined(RUV_KERNELS_NEON)
    constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_FPHP | HWCAP_ASIMDHP;
    if ((getauxval(AT_HWCAP) & kNeeded) == kNeeded) {
      add(merged(kNeonBytes, kNeonVectors),
          {&kNeonFloats, &kNeonBlocks, &kNeonSuperblocks, &kNeonCodebooks});
      if ((getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) {
        add(merged(renamed(kNeonBytes, kNeonI8mmPeak), kNeonVectors),
            {&kNeonFloats, &kNeonI8mmBlocks, &kNeonI8mmSuperblocks, &kNeonI8mmCodebooks});
      }
    }
#endif
  }

  std::span<const Kernels* const> all() const { return {pointers_.data(), n_}; }

 private:
#if defined(RUV_KERNELS_AVX512)
  void add_avx512() {
    Kernels pairs = merged(kAvx512Bytes, kAvx512Vectors);
    add(pairs, {&kAvx512Floats, &kAvx512Blocks, &kAvx512Superblocks, &kAvx512Codebooks});
    if (!RUV_HAS("avx512bf16")) return;
    pairs.isa = "avx512bf16";
    pairs.portable = false;
    pairs.to_bf16 = kAvx512Bf16.to_bf16;
    pairs.bf16_peak = kAvx512Bf16.bf16_peak;
    add(pairs, {&kAvx512Bf16.gemm, &kAvx512Floats, &kAvx512Blocks, &kAvx512Superblocks,
                &kAvx512Codebooks});
  }
#endif

  void add(const Kernels& table, std::initializer_list<const GemmTable*> families) {
    auto& rows = rows_[n_];
    size_t n = 0;
    const auto add_new = [&](const GemmKernel& row) {
      const auto same = [&](const GemmKernel& r) { return r.weight == row.weight; };
      const auto end = rows.begin() + static_cast<ptrdiff_t>(n);
      if (std::none_of(rows.begin(), end, same)) rows[n++] = row;
    };
    for (const GemmTable* family : families) std::for_each_n(family->rows, family->n, add_new);
    std::ranges::for_each(ref_gemm(), add_new);
    merged_[n_] = table;
    merged_[n_].gemm = {rows.data(), n};
    pointers_[n_] = &merged_[n_];
    ++n_;
  }

  std::array<std::array<GemmKernel, kMaxRows>, kMaxTables> rows_{};
  std::array<Kernels, kMaxTables> merged_{};
  std::array<const Kernels*, kMaxTables> pointers_{};
  size_t n_ = 0;
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

}  // namespace

std::span<const Kernels* const> all_kernels() { return tables().all(); }

const Kernels* find_kernels(std::string_view isa) {
  for (const Kernels* k : all_kernels()) {
    if (isa == k->isa) return k;
  }
  return nullptr;
}

const Kernels& kernels() {
  static const Kernels& chosen = [&]() -> const Kernels& {
    const char* forced = std::getenv("RUV_ISA");
    const Kernels* found = forced != nullptr ? find_kernels(forced) : nullptr;
    return found != nullptr ? *found : *all_kernels().back();
  }();
  return chosen;
}

const Kernels& portable_kernels() {
  if (kernels().portable) return kernels();
  const auto tables = all_kernels();
  return **std::find_if(tables.rbegin(), tables.rend(),
                        [](const Kernels* k) { return k->portable; });
}

bool is_for_another_processor() {
#if defined(__x86_64__)
  return all_kernels().size() == 1 && __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

const GemmKernel* find_gemm(const Kernels& kernels, DType weight) {
  for (const GemmKernel& row : kernels.gemm) {
    if (row.weight == weight) return &row;
  }
  return nullptr;
}

}  // namespace ruv
