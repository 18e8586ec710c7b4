// ArchSpec: what is special about a family, as data. The decoder branches on these choices and
// never on a name; names occur only in model/arch/ and format/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/ops.h"

namespace ruv {

struct HParams;

// Where a block normalises: before attention and feed-forward, or before and after each.
enum class NormPlace : uint8_t { pre, sandwich };
// How tokens know their position.
enum class Positions : uint8_t { rope, learned };
// Which layers see only the newest keys (HParams::window; 0 there means no layer does).
enum class Window : uint8_t { none, all, every_second, five_of_six };
enum class EmbedScale : uint8_t { none, sqrt_dim };

struct BlockSpec {
  Norm norm = Norm::rms;
  NormPlace norm_place = NormPlace::pre;
  Positions positions = Positions::rope;
  // Biases that must be there whatever the file says; others are used where it has them.
  bool qkv_bias = false;  // q, k and v
  bool all_bias = false;  // the other projections
  bool qk_norm = false;   // queries and keys are normalised per head
  bool gated = true;      // feed-forward: down(act(gate) · up), else down(act(up))
  Act act = Act::silu;
  Window window = Window::none;
  float attn_softcap = 0;  // default where the file does not say; 0: none
};

struct ArchSpec {
  std::string_view name;  // general.architecture
  BlockSpec block;
  EmbedScale embed_scale = EmbedScale::none;
  float final_softcap = 0;
  float local_rope_base = 0;  // base of windowed layers where it differs; 0: the same
  // Numbers that files of the family leave out. May be null.
  void (*adjust)(HParams& h) = nullptr;
};

// Null for a family we do not have.
const ArchSpec* find_arch(std::string_view name);
std::span<const ArchSpec* const> all_archs();

// Whether layer i sees only the window.
constexpr bool is_local(Window window, int64_t i) {
  switch (window) {
    case Window::none:
      return false;
    case Window::all:
      return true;
    case Window::every_second:
      return i % 2 == 0;
    case Window::five_of_six:
      return i % 6 != 5;
  }
  return false;
}

}  // namespace ruv
