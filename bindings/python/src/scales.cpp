// SPDX-License-Identifier: Apache-2.0
// Scales of a call. A recipe is a pair of matrices of scales, one for A and one for B; each tensor is matched against
// the extents of the recipe that the caller names or, in turn, of all recipes.
//   tensor        A (1, 1)             B (1, 1)
//   block         A (M, K / 128)       B (N / 128, K / 128)
//   block-1d      A (M, K / 128)       B (N, K / 128)
//   row-column    A (M, 1)             B (N, 1)
// Scales of mx and nv are bytes in chunks of 512 (warpwright/core/scale_chunks.hpp), in one dimension for each matrix.
#include "errors.hpp"
#include "operands.hpp"

namespace wwpy {
namespace {

constexpr std::int64_t blocks(std::int64_t extent) { return (extent + 127) / 128; }

struct Extents {
  std::int64_t rows, columns;
};
/// How the outer extent (batch, groups) may stand in front.
struct Outer {
  std::int64_t extent = 0;
  bool allowed = false, required = false;
  std::int64_t masked = 0;  // the rows are the outer extent times this
};

/// Strides of a matrix of scales, where an extent of 1 has a stride that fits the other one.
bool strides_of(std::int64_t row, std::int64_t column, Extents e, ScaleStrides& strides) {
  if (e.rows == 0 || e.columns == 0) return true;  // packed, because frameworks disagree about the strides of nothing
  if (e.columns <= 1) column = e.rows > 1 && row == 1 ? e.rows : 1;
  if (e.rows <= 1) row = column == 1 ? (e.columns > 0 ? e.columns : 1) : 1;
  if (row == 0 && column == 0) return false;  // the library reads two zeros as "packed"
  if (e.columns <= 1 && row == 0) return false;
  strides.row = row, strides.column = column;
  return true;
}

/// Matches `t` against (rows, columns), (rows) if there is one column, or (1, rows); with the outer extent in front.
bool fits(const Tensor& t, Extents e, Outer outer, ScaleStrides& strides) {
  const bool nothing = t.elements() == 0;  // no products or no groups: nobody reads a stride
  const auto strided = [&](std::int64_t row, std::int64_t column) {
    return nothing || strides_of(row, column, e, strides);
  };
  const auto at = [&](int first, int count) {
    if (count == 2 && t.shape[first] == e.rows && t.shape[first + 1] == e.columns)
      return strided(t.stride[first], t.stride[first + 1]);
    if (e.columns != 1) return false;
    if (count == 1 && t.shape[first] == e.rows) return strided(t.stride[first], 1);
    if (count == 2 && t.shape[first] == 1 && t.shape[first + 1] == e.rows) return strided(t.stride[first + 1], 1);
    return count == 0 && e.rows == 1 && strided(1, 1);
  };
  strides = {};
  if (!outer.required && t.rank <= 2 && at(0, t.rank)) return true;
  if (!outer.allowed || t.rank < 1 || t.rank > 3 || t.shape[0] != outer.extent) return false;
  if (outer.masked > 0) {  // (G, Mmax, columns)
    const std::int64_t columns = t.rank == 3 ? t.shape[2] : 1;
    if (t.rank < 2 || t.shape[1] != outer.masked || columns != e.columns) return false;
    const bool apart = t.shape[0] > 1 && t.shape[1] > 1 && t.stride[0] != t.shape[1] * t.stride[1];
    if (apart && t.stride[0] == 0) return false;  // the library reads a zero as "evenly spaced"
    if (apart) strides.outer = t.stride[0];
    return strided(t.shape[1] > 1 ? t.stride[1] : t.stride[0], t.rank == 3 ? t.stride[2] : 1);
  }
  if (!at(1, t.rank - 1)) return false;
  strides.outer = outer.extent > 1 ? t.stride[0] : 0;
  return true;
}

struct Recipe {
  ww_scale scale;
  const char* name;
  const char* shapes;  // for messages
};
constexpr Recipe kRecipes[] = {
    // in the order in which shapes are tried
    {WW_SCALE_TENSOR, "tensor", "one element each"},
    {WW_SCALE_BLOCK, "block", "(M, ceil(K/128)) for scale_a and (ceil(N/128), ceil(K/128)) for scale_b"},
    {WW_SCALE_BLOCK_1D, "block-1d", "(M, ceil(K/128)) for scale_a and (N, ceil(K/128)) for scale_b"},
    {WW_SCALE_ROW_COLUMN, "row-column", "(M) for scale_a and (N) for scale_b"},
    {WW_SCALE_MX, "mx", "one dimension of chunks of 512 bytes in e8m0"},
    {WW_SCALE_NV, "nv", "one dimension of chunks of 512 bytes in e4m3"},
};
constexpr bool is_chunked(ww_scale scale) { return scale == WW_SCALE_MX || scale == WW_SCALE_NV; }

}  // namespace

bool read_chunks(Argument argument, ww_scale recipe, const Tensor& t, const Chunks& chunks, std::int64_t k,
                 std::int64_t outer, ScaleStrides& strides) {
  const std::int64_t vector = recipe == WW_SCALE_MX ? 32 : 16;
  const std::int64_t bytes = chunks.blocks * ((k + 4 * vector - 1) / (4 * vector)) * 512;
  const bool shared = t.rank == 1 && chunks.shared;
  const bool per_matrix = t.rank == 2 && chunks.per_matrix && t.shape[0] == outer;
  const bool contiguous = t.rank > 0 && (t.shape[t.rank - 1] <= 1 || t.stride[t.rank - 1] == 1);
  const std::int64_t given = t.rank > 0 ? t.shape[t.rank - 1] : 0;
  strides = {};
  if ((shared || per_matrix) && contiguous && (given == bytes || (chunks.at_least && given > bytes))) {
    if (shared || outer <= 1) return true;
    // The library reads a zero as scales that all matrices share, which one dimension says.
    if (t.stride[0] > 0 || bytes == 0) return strides.outer = t.stride[0], true;
  }
  return invalid(
      name_of(argument),
      std::string(chunks.at_least ? "at least " : "") + std::to_string(bytes) + " contiguous bytes" +
          (!chunks.shared      ? " for each matrix or group"
           : chunks.per_matrix ? " in one dimension, or as many for each matrix"
                               : " in one dimension") +
          ": chunks of 128 rows x 4 scales, which quantize_mx() and quantize_nv() make, and swizzle_scales() "
          "of scales in rows, (rows, ceil(K/" +
          std::to_string(vector) + "))",
      t.shape_words());
}

namespace {

/// Reads the chunks of both operands. A batch has them for each matrix or for all; groups of rows for each group, of A
/// one after another in blocks of their own unless they are masked; groups of K have those of the whole K.
bool read_all_chunks(const Work& work, const ScaleExtents& e, Scales& scales) {
  const auto blocks_of = [](std::int64_t rows) { return (rows + 127) / 128; };
  Chunks a{blocks_of(e.m)}, b{blocks_of(e.n)};
  if (e.grouped_b) {
    a = e.masked > 0 ? Chunks{blocks_of(e.masked), false, true, false}
                     : Chunks{(e.m + 127 * e.outer) / 128, true, false, true};
    b.per_matrix = true, b.shared = false;
  } else {
    a.per_matrix = b.per_matrix = e.has_outer && e.block_outer;
  }
  return read_chunks(Argument::scale_a, scales.recipe, work.scale_a, a, e.k, e.outer, scales.a) &&
         read_chunks(Argument::scale_b, scales.recipe, work.scale_b, b, e.k, e.outer, scales.b);
}

bool fits_recipe(const Recipe& recipe, const ScaleExtents& e, const Tensor& a, const Tensor& b, bool named,
                 Scales& scales) {
  Extents of_a{1, 1}, of_b{1, 1};
  Outer outer_a{e.outer, e.has_outer, false, 0}, outer_b = outer_a;
  if (recipe.scale != WW_SCALE_TENSOR) {
    const std::int64_t columns = recipe.scale == WW_SCALE_ROW_COLUMN ? 1 : blocks(e.k);
    const bool block = recipe.scale == WW_SCALE_BLOCK;
    of_a = {e.m, columns};
    of_b = {block ? blocks(e.n) : e.n, columns};
    const bool per_group = e.has_outer && (columns == 1 && recipe.scale == WW_SCALE_ROW_COLUMN ? true : e.block_outer);
    outer_a.allowed = per_group && e.outer_a, outer_b.allowed = per_group;
    outer_b.required = e.grouped_b && recipe.scale != WW_SCALE_ROW_COLUMN;
    if (e.masked > 0) outer_a.allowed = true, outer_a.masked = e.masked;
    // Vectors are scales of rows and columns; blocks have both extents. One block of K means the same either way.
    if (!named && recipe.scale != WW_SCALE_ROW_COLUMN && (a.rank < 2 || b.rank < 2)) return false;
    if (!named && recipe.scale == WW_SCALE_BLOCK_1D && columns == 1) return false;
  }
  scales.recipe = recipe.scale;
  if (!fits(a, of_a, outer_a, scales.a) || !fits(b, of_b, outer_b, scales.b)) return false;
  if (recipe.scale == WW_SCALE_TENSOR) scales.a.row = scales.a.column = scales.b.row = scales.b.column = 0;
  if (recipe.scale == WW_SCALE_ROW_COLUMN) scales.a.column = scales.b.column = 0;
  return true;
}

/// The storage of one operand's scales: the type of the tensor, or what the caller or the recipe says about its bytes.
bool scale_type_of(const Work& work, const Tensor& tensor, Argument argument, const Recipe* recipe,
                   ww_scale_type& type) {
  PyObject* const named = work.arguments[Argument::scale_type];
  Type wanted = tensor.type;
  if (recipe != nullptr && is_chunked(recipe->scale)) wanted = recipe->scale == WW_SCALE_MX ? Type::e8m0 : Type::e4m3;
  if (named != nullptr && !read_type(named, "scale_type", wanted)) return false;
  const bool bits = tensor.type == Type::u8 && bytes_of(wanted) == 1;
  if (tensor.type != wanted && !bits) return invalid(name_of(argument), name_of(wanted), name_of(tensor.type));
  switch (wanted) {
    case Type::f32: return type = WW_SCALES_F32, true;
    case Type::e8m0: return type = WW_SCALES_E8M0, true;
    case Type::e4m3: return type = WW_SCALES_E4M3, true;
    default:
      return invalid(name_of(argument), "float32 scales, e8m0 of mx, e4m3 of nv, or bytes with scale= or scale_type=",
                     name_of(tensor.type));
  }
}

bool refuse_shapes(const Work& work, const Recipe* named) {
  std::string expected = named != nullptr ? named->shapes : "scales of a recipe:";
  if (named == nullptr)
    for (const Recipe& recipe : kRecipes)
      expected += std::string(recipe.scale == WW_SCALE_TENSOR ? " " : "; ") + recipe.name + " " + recipe.shapes;
  return invalid("scale_a, scale_b", expected,
                 work.scale_a.shape_words() + " and " + work.scale_b.shape_words() +
                     " (strides of 0 and tensors per batch or group count where the recipe has them)");
}

}  // namespace

bool read_global_scale(Work& work, const float*& factor) {
  factor = nullptr;
  if (work.arguments[Argument::global_scale] == nullptr) return true;
  Tensor t;
  if (!read_operand(work, Argument::global_scale, t) || !check_type(Argument::global_scale, t, Type::f32)) return false;
  if (t.elements() != 1) return invalid("global_scale", "one element", t.shape_words());
  factor = reinterpret_cast<const float*>(t.data);
  return work.keep(t), true;
}

bool read_scales(Work& work, const ScaleExtents& extents, Scales& scales) {
  const Arguments& given = work.arguments;
  const Recipe* named = nullptr;
  bool none = false;
  if (given[Argument::scale] != nullptr) {
    Ref text;
    const char* name = nullptr;
    if (!intern_text(Argument::scale, given[Argument::scale], text, name)) return false;
    for (const Recipe& recipe : kRecipes)
      if (std::strcmp(recipe.name, name) == 0) named = &recipe;
    none = std::strcmp(name, "none") == 0;
    if (named == nullptr && !none)
      return invalid("scale", "none, tensor, row-column, block, block-1d, mx or nv", repr(text.get()));
  }
  PyObject* const a = given[Argument::scale_a];
  PyObject* const b = given[Argument::scale_b];
  if (a == nullptr && b == nullptr && named == nullptr) return true;
  if (none) return invalid(a != nullptr ? "scale_a" : "scale_b", "no scales with scale=\"none\"", "a tensor");
  if (a == nullptr || b == nullptr)
    return invalid(a == nullptr ? "scale_a" : "scale_b", "scales for both operands", "none");
  if (!read_operand(work, Argument::scale_a, work.scale_a) || !read_operand(work, Argument::scale_b, work.scale_b))
    return false;
  ww_scale_type type_b{};
  if (!scale_type_of(work, work.scale_a, Argument::scale_a, named, scales.type) ||
      !scale_type_of(work, work.scale_b, Argument::scale_b, named, type_b))
    return false;
  if (type_b != scales.type)
    return invalid("scale_b", std::string("the type of scale_a, ") + name_of(work.scale_a.type),
                   name_of(work.scale_b.type));
  scales.recipe = named != nullptr                ? named->scale
                  : scales.type == WW_SCALES_E8M0 ? WW_SCALE_MX
                  : scales.type == WW_SCALES_E4M3 ? WW_SCALE_NV
                                                  : WW_SCALE_NONE;
  if (is_chunked(scales.recipe)) return read_all_chunks(work, extents, scales);
  for (const Recipe& recipe : kRecipes)
    if ((named == nullptr ? !is_chunked(recipe.scale) : named == &recipe) &&
        fits_recipe(recipe, extents, work.scale_a, work.scale_b, named != nullptr, scales))
      return true;
  return refuse_shapes(work, named);
}

}  // namespace wwpy
