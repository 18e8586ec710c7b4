// StateSpacePlan: the sizes of a layer with a selective scan, in the place of attention or beside
// it. By the generation (family.h: StateSpace) a layer computes
//   columns  x, z of h;  x = act(conv(x));  d', b, c of x;  d of d';  y = scan_columns(x, d, b, c)
//   heads    z, x and b and c together, d of h;  x, b, c = act(conv(x, b, c));
//            y = norm(scan_heads(x, b, c, d) · silu(z))
// and out of it, of columns y · silu(z).
#pragma once

#include <array>

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

struct StateSpacePlan {
  StateSpace kind = StateSpace::none;
  int64_t n_inner = 0;   // of x and z
  int64_t n_state = 0;   // of b and c
  int64_t n_groups = 1;  // of b and c
  int64_t n_steps = 0;   // heads, or the width of d' where columns have steps
  // Columns: d', b and c are normalised (RMS).
  bool norms_inputs = false;
  float input_norm_eps = 0;
  // Heads: the groups' results are normalised, after they are gated or before. Without a norm they
  // are only gated.
  bool norms_results = false;
  bool norms_first = false;
  float least_step = 0;
  float most_step = 0;  // 0: any
  // What is multiplied: h; the result; z, x, b, c and d.
  float in_scale = 1, out_scale = 1;
  std::array<float, 5> part_scales = {1, 1, 1, 1, 1};

  bool exists() const { return kind != StateSpace::none; }
  bool by_head() const { return kind == StateSpace::heads; }
  int64_t head_dim() const { return by_head() ? n_inner / n_steps : 1; }
  // Columns of the convolution.
  int64_t n_convolved() const { return n_inner + (by_head() ? 2 * n_groups * n_state : 0); }
  // Numbers of the running state beyond the convolution's.
  int64_t n_matrix() const { return n_inner * n_state; }
};

// Nothing for families without one. Fails: not_found, corrupt, unsupported, naming keys.
Result<StateSpacePlan> read_state_space(const ModelFile& file, const FamilyRecord& family);

// Two factors that a family's attention or feed-forward has in the file: {1, 1} where the file has
// none. Fails: corrupt.
Result<std::array<float, 2>> read_two_scales(const ModelFile& file, std::string_view key);

}  // namespace ruv
