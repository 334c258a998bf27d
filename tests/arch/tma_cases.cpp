// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/tma.hpp. The model here walks elements, one by one, and swizzles 16-byte chunks by their row:
//   128 B: chunk ^ row % 8      64 B: chunk ^ row / 2 % 4      32 B: chunk ^ row / 4 % 2      (row = offset / span)
#include <cstring>

#include "case.hpp"

namespace ww::arch_test {
namespace {

using runtime::SmemSwizzle;
using runtime::TensorMapSpec;

struct Shape {
  DType element;
  SmemSwizzle swizzle;
  std::array<u32, 3> extent, box;  // ones past the rank
  int rank;
};

u32 element_bytes(const Shape& s) { return static_cast<u32>(bytes_of(s.element)); }
u32 pitch(const Shape& s) { return round_up(s.extent[0] * element_bytes(s), 16u) + 16; }  // a gap after each row
u32 plane(const Shape& s) { return pitch(s) * s.extent[1] + 32; }
u32 tensor_bytes(const Shape& s) { return plane(s) * s.extent[2]; }
u32 box_bytes(const Shape& s) { return s.box[0] * s.box[1] * s.box[2] * element_bytes(s); }

u32 swizzled(u32 offset, SmemSwizzle swizzle) {
  const u32 span = swizzle == SmemSwizzle::b32 ? 32 : swizzle == SmemSwizzle::b64 ? 64 : 128;
  const u32 row = offset / span, chunk = offset % span / 16;
  switch (swizzle) {
    case SmemSwizzle::none: return offset;
    case SmemSwizzle::b128_unit32: return row * 128 + (offset % 128 / 32 ^ row % 4) * 32 + offset % 32;
    case SmemSwizzle::b128: return row * span + (chunk ^ row % 8) * 16 + offset % 16;
    case SmemSwizzle::b64: return row * span + (chunk ^ row / 2 % 4) * 16 + offset % 16;
    case SmemSwizzle::b32: return row * span + (chunk ^ row / 4 % 2) * 16 + offset % 16;
  }
  return offset;
}

/// Calls visit(byte in shared memory, byte in the tensor or -1) for each element of the box at `at`. A row of the
/// tensor has `row` elements.
template <class Visit> void walk(const Shape& s, const std::array<i32, 3>& at, u32 row, Visit visit) {
  const u32 size = element_bytes(s);
  for (u32 z = 0, element = 0; z < s.box[2]; ++z)
    for (u32 y = 0; y < s.box[1]; ++y)
      for (u32 x = 0; x < s.box[0]; ++x, ++element) {
        const i64 gx = at[0] + i64{x}, gy = at[1] + i64{y}, gz = at[2] + i64{z};
        const bool inside = gx >= 0 && gx < row && gy >= 0 && gy < s.extent[1] && gz >= 0 && gz < s.extent[2];
        visit(swizzled(element * size, s.swizzle), inside ? gz * plane(s) + gy * pitch(s) + gx * size : -1);
      }
}

TensorOf tensor_of(const Shape& s, bool in_output) {
  TensorMapSpec spec;
  spec.element = s.element;
  spec.rank = s.rank;
  for (int d = 0; d < s.rank; ++d)
    spec.extent[d] = s.extent[static_cast<u32>(d)], spec.box[d] = s.box[static_cast<u32>(d)];
  spec.stride_bytes[1] = pitch(s);
  spec.stride_bytes[2] = plane(s);
  spec.swizzle = s.swizzle;
  return {in_output, 0, spec};
}

/// The bytes that a load of the box leaves in shared memory.
std::vector<u8> loaded(const Shape& s, const std::vector<u32>& tensor, const std::array<i32, 3>& at) {
  std::vector<u8> image(box_bytes(s));
  walk(s, at, s.extent[0], [&](u32 to, i64 from) {
    if (from >= 0) std::memcpy(&image[to], reinterpret_cast<const u8*>(tensor.data()) + from, element_bytes(s));
  });
  return image;
}

/// Stores a box. A store clips a row at 16 bytes of memory, not at its extent, so that memory after the row is
/// overwritten.
void stored(const Shape& s, std::vector<u32>& tensor, const u32* image, const std::array<i32, 3>& at) {
  const u32 row = round_up(s.extent[0] * element_bytes(s), 16u) / element_bytes(s);
  walk(s, at, row, [&](u32 from, i64 to) {
    if (to >= 0)
      std::memcpy(reinterpret_cast<u8*>(tensor.data()) + to, reinterpret_cast<const u8*>(image) + from,
                  element_bytes(s));
  });
}

std::string name_of_case(const char* what, const Shape& s, const std::string& where) {
  const char* swizzle = s.swizzle == SmemSwizzle::none   ? "none"
                        : s.swizzle == SmemSwizzle::b32  ? "b32"
                        : s.swizzle == SmemSwizzle::b64  ? "b64"
                        : s.swizzle == SmemSwizzle::b128 ? "b128"
                                                         : "b128_unit32";
  return std::string(what) + "_" + std::to_string(s.rank) + "d_" + name_of(s.element) + "_" + swizzle + "_" + where;
}

Case base_case(const char* kernel, const Shape& s, const std::array<i32, 3>& at, bool in_output) {
  Case c{"", "tma", kernel};
  for (u32 d = 0; d < 3; ++d) c.arg[d] = at[d];
  c.arg[3] = s.rank;
  c.arg[4] = static_cast<i32>(box_bytes(s));
  c.tensors = {tensor_of(s, in_output)};
  return c;
}

Case load(const Shape& s, const std::array<i32, 3>& at, const std::string& where, i32 policy) {
  Case c = base_case("arch_tma_load", s, at, false);
  c.name = name_of_case("tma_load", s, where);
  c.arg[5] = policy;
  c.shared_bytes = box_bytes(s) + 16;
  c.in = random_words(tensor_bytes(s) / 4, 40);
  const std::vector<u8> image = loaded(s, c.in, at);
  c.expected.resize(image.size() / 4);
  std::memcpy(c.expected.data(), image.data(), image.size());
  return c;
}

Case multicast(const Shape& s, const std::array<i32, 3>& at, i32 step, const std::vector<i32>& masks) {
  const u32 ctas = static_cast<u32>(masks.size()), bytes = box_bytes(s);
  Case c = base_case("arch_tma_multicast", s, at, false);
  c.name =
      name_of_case("tma_multicast", s, "cluster_" + std::to_string(ctas) + "_first_mask_" + std::to_string(masks[0]));
  c.arg[6] = step;
  for (u32 r = 0; r < ctas; ++r) c.arg[8 + r] = masks[r];
  c.cluster = ctas;
  c.grid = 2 * ctas;
  c.shared_bytes = ctas * bytes + 16;
  c.in = random_words(tensor_bytes(s) / 4, 41);
  std::vector<u8> places(c.grid * ctas * bytes);
  for (u32 block = 0; block < c.grid; ++block)
    for (u32 r = 0; r < ctas; ++r) {
      if (!(masks[r] >> block % ctas & 1)) continue;
      std::array<i32, 3> from = at;
      from[static_cast<u32>(s.rank) - 1] += static_cast<i32>(r) * step;
      const std::vector<u8> image = loaded(s, c.in, from);
      std::memcpy(&places[(block * ctas + r) * bytes], image.data(), bytes);
    }
  c.expected.resize(places.size() / 4);
  std::memcpy(c.expected.data(), places.data(), places.size());
  return c;
}

Case store(const Shape& s, const std::array<i32, 3>& at, const std::string& where) {
  Case c = base_case("arch_tma_store", s, at, true);
  c.name = name_of_case("tma_store", s, where);
  c.shared_bytes = box_bytes(s);
  c.in = random_words(box_bytes(s) / 4, 42);
  c.out = c.expected = random_words(tensor_bytes(s) / 4, 43);
  stored(s, c.expected, c.in.data(), at);
  return c;
}

Case refused(Case c, const std::string& error) {
  c.error = error;
  return c;
}

Case store_groups() {
  const Shape s{bf16, SmemSwizzle::b128, {100, 40, 1}, {64, 8, 1}, 2};
  Case c = base_case("arch_tma_store_groups", s, {16, 2, 0}, true);
  c.name = name_of_case("tma_store_groups", s, "three");
  c.threads = 32;
  c.arg[6] = 9;
  c.shared_bytes = 2 * box_bytes(s);
  c.in = random_words(3 * box_bytes(s) / 4, 44);
  c.out = c.expected = random_words(tensor_bytes(s) / 4, 45);
  for (i32 i = 0; i < 3; ++i)
    stored(s, c.expected, c.in.data() + static_cast<u32>(i) * box_bytes(s) / 4, {16, 2 + 9 * i, 0});
  return c;
}

}  // namespace

std::vector<Case> tma_cases() {
  using enum SmemSwizzle;
  const Shape line{f32, none, {100, 1, 1}, {32, 1, 1}, 1}, line32{e4m3, b32, {64, 1, 1}, {32, 1, 1}, 1};
  const Shape odd_line{bf16, none, {99, 1, 1}, {32, 1, 1}, 1};
  const Shape e128{e4m3, b128, {300, 50, 1}, {128, 16, 1}, 2}, f128{f32, b128, {70, 30, 1}, {32, 20, 1}, 2};
  const Shape b64s{bf16, b64, {90, 40, 1}, {32, 24, 1}, 2}, h32{f16, b32, {50, 33, 1}, {16, 32, 1}, 2};
  const Shape plain{bf16, none, {50, 20, 1}, {24, 5, 1}, 2};
  const Shape cube128{e4m3, b128, {200, 9, 5}, {128, 4, 2}, 3}, cube{bf16, none, {20, 7, 6}, {8, 3, 4}, 3};
  const Shape cube64{f32, b64, {40, 6, 4}, {16, 4, 2}, 3};
  std::vector<Case> cases = {
      load(line, {0, 0, 0}, "start", 0),
      load(line, {12, 0, 0}, "inside", 1),
      load(line, {-8, 0, 0}, "before", 2),
      load(line, {96, 0, 0}, "end", 0),
      load(line32, {16, 0, 0}, "inside", 0),
      load(e128, {0, 0, 0}, "start", 0),
      load(e128, {128, 40, 0}, "bottom", 1),
      load(e128, {256, -3, 0}, "corner", 2),
      load(e128, {-64, 5, 0}, "left", 0),
      load(e128, {512, 5, 0}, "outside", 0),
      load(f128, {4, 15, 0}, "bottom", 0),
      load(b64s, {8, 3, 0}, "inside", 0),
      load(b64s, {72, 30, 0}, "corner", 0),
      load(h32, {24, 0, 0}, "inside", 0),
      load(h32, {40, 10, 0}, "corner", 0),
      load(plain, {32, 1, 0}, "right", 0),
      load(plain, {-16, 17, 0}, "corner", 0),
      load(cube128, {32, 2, 1}, "inside", 0),
      load(cube128, {96, -2, 4}, "corner", 0),
      load(cube, {8, 5, -2}, "corner", 0),
      load(cube64, {28, 4, 3}, "corner", 0),
      load(cube64, {0, 0, 0}, "start", 0),
      store(line, {8, 0, 0}, "inside"),
      store(line, {84, 0, 0}, "end"),
      store(odd_line, {72, 0, 0}, "end"),
      load(odd_line, {72, 0, 0}, "end", 0),
      store(e128, {16, 7, 0}, "inside"),
      store(e128, {224, 44, 0}, "corner"),
      store(e128, {320, 0, 0}, "right_of_all"),
      store(e128, {0, 64, 0}, "below_all"),
      store(f128, {48, 0, 0}, "right"),
      store(b64s, {72, 20, 0}, "corner"),
      store(h32, {8, 1, 0}, "inside"),
      store(plain, {40, 17, 0}, "corner"),
      store(cube128, {0, 6, 3}, "bottom"),
      store(cube, {16, 5, 4}, "corner"),
      store(cube64, {4, 1, 2}, "inside"),
      store_groups(),
      multicast(line, {0, 0, 0}, 20, {3, 3}),
      multicast(e128, {16, 0, 0}, 16, {3, 3}),
      multicast(e128, {16, 4, 0}, 12, {15, 15, 15, 15}),
      multicast(e128, {64, 0, 0}, 10, {5, 10, 1, 12}),
      multicast(b64s, {0, 1, 0}, 8, {2, 1}),
      multicast(cube128, {0, 0, 0}, 1, {3, 3}),
      multicast(cube128, {0, 3, 0}, 1, {1, 2, 4, 15}),
  };
  const char *negative = "negative", *unaligned = "no multiple of 16 bytes";
  for (Case& c : std::vector<Case>{
           refused(store(line, {-16, 0, 0}, "before"), negative),
           refused(store(line, {-4, 0, 0}, "just_before"), negative),
           refused(store(line, {-64, 0, 0}, "all_before"), negative),
           refused(store(line, {-2, 0, 0}, "before_unaligned"), unaligned),
           refused(store(line, {2, 0, 0}, "unaligned"), unaligned), refused(store(e128, {-32, 0, 0}, "left"), negative),
           refused(store(e128, {0, -4, 0}, "above"), negative),
           refused(store(e128, {-32, -4, 0}, "left_above"), negative),
           refused(store(e128, {8, 0, 0}, "unaligned"), unaligned),
           refused(store(plain, {-16, 0, 0}, "left"), negative), refused(store(plain, {0, -1, 0}, "above"), negative),
           refused(store(cube, {16, -1, 4}, "above"), negative), refused(store(cube, {0, 0, -1}, "in_front"), negative),
           refused(load(line, {2, 0, 0}, "unaligned", 0), unaligned),
           refused(load(line, {-2, 0, 0}, "before_unaligned", 0), unaligned),
           refused(load(e128, {8, 0, 0}, "unaligned", 0), unaligned),
           refused(load(plain, {4, 0, 0}, "unaligned", 0), unaligned)})
    cases.push_back(c);
  const Shape small{bf16, b128, {64, 64, 1}, {64, 8, 1}, 2};
  cases.push_back(multicast(small, {0, 0, 0}, 8, {255, 129, 255, 66, 255, 36, 255, 24}));
  return cases;
}

}  // namespace ww::arch_test
