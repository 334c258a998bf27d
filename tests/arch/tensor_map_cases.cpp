// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/tensor_map.hpp: groups of ragged extent in one buffer, element by element.
#include <cstring>

#include "case.hpp"

namespace ww::arch_test {
namespace {

using runtime::SmemSwizzle;

constexpr u32 kMapWords = 32;

/// One group's tensor of 4-byte elements, as its row of the table says.
struct Group {
  u32 offset, extent[3], pitch, plane;
};

struct Boxes {
  u32 box[3];
  i32 at[3];
  int rank;
  u32 bytes() const { return 4 * box[0] * box[1] * box[2]; }
};

/// The template: right in nothing that is replaced, except that it is legal.
TensorOf any_tensor(const Boxes& b, bool in_output) {
  TensorOf tensor{in_output, 0, {}};
  tensor.spec.element = f32;
  tensor.spec.rank = b.rank;
  for (u32 d = 0; d < static_cast<u32>(b.rank); ++d) tensor.spec.extent[d] = 1, tensor.spec.box[d] = b.box[d];
  tensor.spec.stride_bytes[1] = tensor.spec.stride_bytes[2] = 16;
  tensor.spec.swizzle = SmemSwizzle::none;
  return tensor;
}

Case base(const char* name, const char* kernel, const Boxes& b, const std::vector<Group>& groups, bool in_output) {
  Case c{name, "tensor_map", kernel};
  c.threads = 32;
  c.shared_bytes = 1024 + 2 * 1024;
  for (u32 d = 0; d < 3; ++d) c.arg[d] = b.at[d];
  c.arg[3] = b.rank;
  c.arg[4] = static_cast<i32>(b.bytes());
  c.arg[5] = static_cast<i32>(groups.size());
  c.tensors = {any_tensor(b, in_output)};
  for (const Group& g : groups)
    for (u32 word : {g.offset, g.extent[0], g.extent[1], g.extent[2], g.pitch, g.plane, 0u, 0u}) c.in.push_back(word);
  return c;
}

/// Calls visit(word of the box, word of the buffer or -1); a row of the tensor has `columns` elements.
template <class Visit> void walk(const Boxes& b, const Group& g, u32 columns, Visit visit) {
  u32 word = 0;
  for (u32 z = 0; z < b.box[2]; ++z)
    for (u32 y = 0; y < b.box[1]; ++y)
      for (u32 x = 0; x < b.box[0]; ++x, ++word) {
        const i64 gx = b.at[0] + i64{x}, gy = b.at[1] + i64{y}, gz = b.at[2] + i64{z};
        const bool inside =
            gx >= 0 && gx < columns && gy >= 0 && gy < g.extent[1] && gz >= 0 && (b.rank < 3 || gz < g.extent[2]);
        visit(word, inside ? (g.offset + gz * g.plane + gy * g.pitch + gx * 4) / 4 : -1);
      }
}

void expect_boxes(Case& c, const Boxes& b, const std::vector<Group>& groups) {
  for (const Group& g : groups)
    walk(b, g, g.extent[0], [&](u32, i64 from) { c.expected.push_back(from < 0 ? 0 : c.in[static_cast<u32>(from)]); });
}

Case loads(const char* name, const Boxes& b, const std::vector<Group>& groups, u32 tensor_words) {
  Case c = base(name, "arch_tensor_map_groups", b, groups, false);
  c.threads = 64;
  const std::vector<u32> data = random_words(tensor_words, 60);
  c.in.insert(c.in.end(), data.begin(), data.end());
  c.expected.assign(kMapWords, 0);
  expect_boxes(c, b, groups);
  return c;
}

Case across(const Boxes& b, const std::vector<Group>& groups, u32 tensor_words) {
  Case c = loads("tensor_map_across", b, groups, tensor_words);
  const u32 ctas = static_cast<u32>(groups.size());
  c.kernel = "arch_tensor_map_across";
  c.threads = 32;
  c.grid = ctas;
  c.cross_cta = true;
  c.expected.assign(kMapWords * (ctas + 1), 0);
  expect_boxes(c, b, groups);
  c.out.assign(c.expected.size(), 0);
  c.expected[kMapWords * ctas] = 1;
  return c;
}

Case stores(const char* name, const Boxes& b, const std::vector<Group>& groups, u32 out_words) {
  Case c = base(name, "arch_tensor_map_store", b, groups, true);
  const u32 words = b.bytes() / 4, first = static_cast<u32>(c.in.size());
  const std::vector<u32> data = random_words(words * groups.size(), 61);
  c.in.insert(c.in.end(), data.begin(), data.end());
  c.out = c.expected = random_words(out_words, 62);
  std::fill(c.expected.begin(), c.expected.begin() + 2 * kMapWords, 0);
  for (u32 i = 0; i < groups.size(); ++i)
    walk(b, groups[i], round_up(groups[i].extent[0], 4u), [&](u32 from, i64 to) {  // rows are cut at 16 bytes
      if (to >= 0) c.expected[static_cast<u32>(to)] = c.in[first + i * words + from];
    });
  return c;
}

}  // namespace

std::vector<Case> tensor_map_cases() {
  const Boxes plain{{8, 4, 1}, {0, 0, 0}, 2}, shifted{{16, 4, 1}, {4, 2, 0}, 2}, cube{{8, 3, 2}, {4, 1, 1}, 3};
  const std::vector<Group> ragged = {
      {128, {20, 1, 1}, 80, 0}, {208, {20, 7, 1}, 80, 0}, {768, {5, 3, 1}, 32, 0}, {1024, {8, 4, 1}, 4096, 0}};
  const std::vector<Group> solids = {{64, {12, 4, 3}, 48, 208}, {688, {9, 2, 2}, 64, 128}};
  const std::vector<Group> rows = {{512, {12, 1, 1}, 64, 0},
                                   {576, {12, 5, 1}, 64, 0},
                                   {1024, {7, 3, 1}, 48, 0},
                                   {2048, {20, 64, 1}, 80, 0},
                                   {1536, {16, 2, 1}, 128, 0}};
  return {loads("tensor_map_ragged", plain, ragged, 4096),
          loads("tensor_map_shifted", shifted, ragged, 4096),
          loads("tensor_map_3d", cube, solids, 512),
          across(plain, ragged, 4096),
          stores("tensor_map_store", plain, rows, 2048),
          stores("tensor_map_store_shifted", shifted, rows, 2048),
          stores("tensor_map_store_3d", cube, {{256, {12, 4, 3}, 48, 208}, {1024, {9, 2, 2}, 64, 128}}, 512)};
}

}  // namespace ww::arch_test
