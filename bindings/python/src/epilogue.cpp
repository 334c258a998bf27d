// SPDX-License-Identifier: Apache-2.0
// Operands of an epilogue: checked against what its text names, and bound to their addresses and strides.
#include "epilogue_text.hpp"
#include "errors.hpp"
#include "operands.hpp"

namespace wwpy {
namespace {

Argument argument_of(int operand) { return static_cast<Argument>(kFirstOperand + operand); }
int slot_of(Argument argument, Argument first) { return static_cast<int>(argument) - static_cast<int>(first); }
bool is_number(PyObject* object) { return PyFloat_Check(object) || PyLong_Check(object); }

/// Reads every operand that is a tensor, and its type.
bool read_tensors(Work& work, Type (&types)[kOperandCount]) {
  for (int i = 0; i < kOperandCount; ++i) {
    types[i] = Type::other;
    PyObject* const object = work.arguments[argument_of(i)];
    if (object == nullptr) continue;
    if (argument_of(i) <= Argument::scalar3 && is_number(object)) continue;
    Tensor& tensor = work.epilogue->tensor[i];
    if (!read_operand(work, argument_of(i), tensor)) return false;
    if (!is_element(tensor.type)) return invalid(name_of(argument_of(i)), "bf16, f16 or f32", name_of(tensor.type));
    types[i] = tensor.type;
    if (argument_of(i) >= Argument::out0 && !check_writable(argument_of(i), tensor)) return false;
  }
  return true;
}

/// Binds the operands of one epilogue.
class Binder {
 public:
  Binder(Work& work, const EpilogueExtents& extents)
      : work_(work), text_(work.epilogue->text), extents_(extents), to_(work.epilogue->operands) {}

  bool run(bool& columns_stored) {
    std::memset(&to_, 0, sizeof to_);
    to_.struct_size = sizeof to_;
    for (int i = 0; i < kOperandCount; ++i)
      if (!bind(i)) return false;
    columns_stored = columns_stored_ == 1;
    return bind_out_scales() && bind_amax();
  }

 private:
  bool bind(int i) {
    const Argument argument = argument_of(i);
    const bool given = work_.arguments[argument] != nullptr;
    const Role role = text_.role[i];
    if (!given && role == Role::none) return true;
    if (role == Role::none)
      return invalid(name_of(argument), "an operand that the epilogue names", std::string("\"") + text_.bytes + "\"");
    if (role == Role::scalar) return !given || scalar(argument);
    if (!given) return invalid(name_of(argument), "the tensor that the epilogue names", "none");
    Tensor& tensor = work_.epilogue->tensor[i];
    if (!check_type(argument, tensor, text_.type[i])) return false;
    if (role != Role::row_vector && role != Role::column_reduction && !flatten(argument, tensor)) return false;
    switch (role) {
      case Role::matrix:
      case Role::store: return matrix(argument, tensor);
      case Role::row_vector: {
        const int slot = slot_of(argument, Argument::bias);
        to_.row_vector[slot] = tensor.data;
        return vector(argument, tensor, extents_.columns, "(N)", extents_.outer > 0, to_.batch_row_vector[slot]);
      }
      case Role::column_vector: {
        const int slot = slot_of(argument, Argument::col0);
        to_.column_vector[slot] = reinterpret_cast<const float*>(tensor.data);
        return vector(argument, tensor, extents_.rows, "(M)", extents_.outer_matrices, to_.batch_column_vector[slot]);
      }
      default: {
        const bool of_rows = role == Role::row_reduction;
        const int slot = slot_of(argument, Argument::out0);
        to_.out[slot] = tensor.data;
        if (!vector(argument, tensor, of_rows ? extents_.rows : extents_.columns, of_rows ? "(M)" : "(N)",
                    extents_.outer_matrices, to_.batch_out[slot]))
          return false;
        return extents_.outer <= 1 || !extents_.outer_matrices || to_.batch_out[slot] != 0 ||
               invalid(name_of(argument), "an output for each matrix of the batch", tensor.shape_words());
      }
    }
  }

  /// Joins the groups and rows of a tensor (groups, masked, ...), which must be evenly spaced.
  bool flatten(Argument argument, Tensor& t) const {
    if (extents_.masked == 0 || t.rank < 2 || t.shape[0] != extents_.outer || t.shape[1] != extents_.masked)
      return true;
    if (t.shape[0] > 1 && t.shape[1] > 1 && t.stride[0] != t.shape[1] * t.stride[1])
      return invalid(name_of(argument), "groups that follow one another", "stride " + std::to_string(t.stride[0]));
    if (t.shape[1] > 1 || t.shape[0] <= 1) t.stride[0] = t.stride[1];
    t.shape[0] *= t.shape[1];
    for (int i = 1; i + 1 < t.rank; ++i) t.shape[i] = t.shape[i + 1], t.stride[i] = t.stride[i + 1];
    --t.rank;
    return true;
  }

  bool scalar(Argument argument) {
    PyObject* const object = work_.arguments[argument];
    const int slot = slot_of(argument, Argument::alpha);
    if (is_number(object)) {
      to_.scalar[slot] = static_cast<float>(PyFloat_AsDouble(object));
      to_.scalars_given |= 1u << slot;
      if (PyErr_Occurred() == nullptr) return true;
      PyErr_Clear();
      return invalid(name_of(argument), "a number within the range of FP64", repr(object));
    }
    Tensor& tensor = work_.epilogue->tensor[slot];
    if (!check_type(argument, tensor, Type::f32)) return false;
    to_.scalar_pointer[slot] = reinterpret_cast<const float*>(tensor.data);
    if (tensor.elements() == 1) return true;
    if (extents_.outer > 0 && tensor.rank == 1 && tensor.shape[0] == extents_.outer && tensor.stride[0] >= 0)
      return to_.batch_scalar[slot] = tensor.stride[0], true;
    return invalid(name_of(argument), "a number, or a tensor of one element", tensor.shape_words());
  }

  bool vector(Argument argument, const Tensor& tensor, std::int64_t extent, const char* meaning, bool outer,
              std::int64_t& step) {
    const int rank = tensor.rank;
    const bool shared = rank == 1 && tensor.shape[0] == extent;
    const bool each = outer && rank == 2 && tensor.shape[0] == extents_.outer && tensor.shape[1] == extent;
    if (!shared && !each)
      return invalid(name_of(argument),
                     std::string(meaning) + " = (" + std::to_string(extent) + ",)" +
                         (outer ? ", or one for each of " + std::to_string(extents_.outer) : ""),
                     tensor.shape_words());
    if (extent > 1 && tensor.stride[rank - 1] != 1)
      return invalid(name_of(argument), "contiguous elements", "stride " + std::to_string(tensor.stride[rank - 1]));
    step = each && extents_.outer > 1 ? tensor.stride[0] : 0;
    return true;
  }

  /// Reads the strides of a matrix; all matrices of a call are stored by rows or all by columns.
  bool strides(Argument argument, const Tensor& t, std::int64_t columns, std::int64_t& line, std::int64_t& step) {
    const bool outer = extents_.outer > 0 && extents_.outer_matrices;
    const std::int64_t rows = extents_.rows;
    const bool each = outer && t.rank == 3 && t.shape[0] == extents_.outer;
    const int first = t.rank - 2;
    if ((t.rank != 2 && !each) || t.shape[first] != rows || t.shape[first + 1] != columns)
      return invalid(name_of(argument),
                     std::string(outer ? "(" + std::to_string(extents_.outer) + ", " : "(") + std::to_string(rows) +
                         ", " + std::to_string(columns) + ")",
                     t.shape_words());
    Layout layout;
    if (!layout_of(argument, t, layout)) return false;
    line = layout.stride;
    step = each && extents_.outer > 1 ? t.stride[0] : 0;
    if (rows <= 1 || columns <= 1) return true;
    if (columns_stored_ >= 0 && columns_stored_ != static_cast<int>(layout.transposed))
      return invalid(name_of(argument), "the layout of the epilogue's other matrices, by rows or by columns",
                     "the other layout");
    columns_stored_ = layout.transposed;
    return true;
  }

  bool matrix(Argument argument, const Tensor& tensor) {
    if (argument == Argument::c)
      return to_.c = tensor.data, strides(argument, tensor, extents_.columns, to_.ldc, to_.batch_c);
    if (argument >= Argument::out0) {
      const int slot = slot_of(argument, Argument::out0);
      to_.out[slot] = tensor.data;
      if (!strides(argument, tensor, extents_.columns, to_.ld_out[slot], to_.batch_out[slot])) return false;
      return extents_.outer <= 1 || !extents_.outer_matrices || to_.batch_out[slot] != 0 ||
             invalid(name_of(argument), "an output for each matrix of the batch", tensor.shape_words());
    }
    const int slot = slot_of(argument, Argument::aux0);
    to_.auxiliary[slot] = tensor.data;
    return strides(argument, tensor, extents_.columns, to_.ld_auxiliary[slot], to_.batch_auxiliary[slot]);
  }

  /// Reads the chunks of D's scales: those of each matrix of a batch, or of groups as a grouped product has A's.
  bool bind_out_chunks() {
    const bool mx = text_.chunks == WW_SCALE_MX;
    Tensor t;
    if (!read_operand(work_, Argument::out_scales, t) || !check_writable(Argument::out_scales, t)) return false;
    if (t.type != Type::u8 && t.type != (mx ? Type::e8m0 : Type::e4m3))
      return invalid("out_scales", mx ? "e8m0 or bytes" : "e4m3 or bytes", name_of(t.type));
    const auto blocks_of = [](std::int64_t rows) { return (rows + 127) / 128; };
    const bool batched = extents_.outer > 0 && extents_.outer_matrices;
    Chunks chunks{blocks_of(extents_.rows), false, batched, extents_.outer <= 1};
    if (extents_.masked > 0) chunks = {blocks_of(extents_.masked), false, true, false};
    else if (extents_.grouped) chunks = {(extents_.rows + 127 * extents_.outer) / 128, true, false, true};
    ScaleStrides strides;
    const std::int64_t columns = text_.halved ? extents_.columns / 2 : extents_.columns;
    if (!read_chunks(Argument::out_scales, text_.chunks, t, chunks, columns, extents_.outer, strides)) return false;
    if (extents_.grouped && strides.outer != 0 && strides.outer != t.shape[1])
      return invalid("out_scales", "groups that follow one another", "stride " + std::to_string(strides.outer));
    to_.out_scale_chunks = t.data, to_.batch_out_scale_chunks = extents_.grouped ? 0 : strides.outer;
    return work_.keep(t), true;
  }

  bool bind_out_scales() {
    PyObject* const object = work_.arguments[Argument::out_scales];
    const bool chunked = text_.chunks != WW_SCALE_NONE;
    if (!text_.quantises_blocks && !chunked)
      return object == nullptr ||
             invalid("out_scales", "no tensor without quantise_block, quantise_mx or quantise_nv in the epilogue",
                     "one");
    if (object == nullptr)
      return invalid("out_scales",
                     chunked ? "a tensor for the scales of D, bytes in chunks"
                             : "a float32 tensor for the scales of quantise_block",
                     "none");
    if (chunked) return bind_out_chunks();
    Tensor t;
    if (!read_operand(work_, Argument::out_scales, t) || !check_writable(Argument::out_scales, t) ||
        !check_type(Argument::out_scales, t, Type::f32) || !flatten(Argument::out_scales, t))
      return false;
    const std::int64_t columns = text_.halved ? extents_.columns / 2 : extents_.columns;
    const std::int64_t blocks = (columns + 127) / 128;
    const bool each = extents_.outer > 0 && extents_.outer_matrices && t.rank == 3 && t.shape[0] == extents_.outer;
    const int first = t.rank - 2;
    if ((t.rank != 2 && !each) || t.shape[first] != extents_.rows || t.shape[first + 1] != blocks)
      return invalid(
          "out_scales",
          "(M, ceil(columns of D / 128)) = (" + std::to_string(extents_.rows) + ", " + std::to_string(blocks) + ")",
          t.shape_words());
    to_.out_scales = reinterpret_cast<float*>(t.data);
    to_.out_scales_row = extents_.rows > 1 ? t.stride[first] : blocks;
    to_.out_scales_block = blocks > 1 ? t.stride[first + 1] : 1;
    to_.batch_out_scales = each && extents_.outer > 1 ? t.stride[0] : 0;
    if ((extents_.rows > 1 && to_.out_scales_row == 0) || (blocks > 1 && to_.out_scales_block == 0))
      return invalid("out_scales", "elements that do not overlap", "a stride of 0");
    return work_.keep(t), true;
  }

  bool bind_amax() {
    PyObject* const object = work_.arguments[Argument::amax];
    if (!text_.quantises)
      return object == nullptr || invalid("amax", "no tensor without quantise in the epilogue", "one");
    if (object == nullptr) return true;
    Tensor t;
    if (!read_operand(work_, Argument::amax, t) || !check_writable(Argument::amax, t) ||
        !check_type(Argument::amax, t, Type::f32))
      return false;
    const bool each = extents_.outer > 1 && extents_.outer_matrices;
    if (each ? t.rank != 1 || t.shape[0] != extents_.outer || t.stride[0] == 0 : t.elements() != 1)
      return invalid("amax", each ? "one element for each matrix of the batch" : "one element", t.shape_words());
    to_.amax = reinterpret_cast<float*>(t.data);
    to_.batch_amax = each ? t.stride[0] : 0;
    return work_.keep(t), true;
  }

  Work& work_;
  const EpilogueText& text_;
  const EpilogueExtents& extents_;
  ww_epilogue_operands& to_;
  int columns_stored_ = -1;
};

}  // namespace

bool read_epilogue_text(Work& work, bool& halved) {
  halved = false;
  const Arguments& given = work.arguments;
  PyObject* const object = given[Argument::epilogue];
  if (object == nullptr && !given.any(Argument::alpha, Argument::amax)) return true;
  const char* bytes = nullptr;
  if (object != nullptr) {
    if (!intern_text(Argument::epilogue, object, work.epilogue_given, bytes)) return false;
  } else {
    const bool beta = given[Argument::beta] != nullptr;
    if (beta && given[Argument::c] == nullptr) return invalid("c", "a matrix that beta scales", "none");
    work.epilogue_given = Ref::borrowed(implied_epilogue(
        given[Argument::alpha] != nullptr, beta, given[Argument::c] != nullptr, given[Argument::bias] != nullptr));
    if (!work.epilogue_given) return false;
  }
  work.epilogue = std::make_unique<EpilogueWork>();
  Type types[kOperandCount];
  if (!read_tensors(work, types)) return false;
  const EpilogueText* const text = analyse_epilogue(work.epilogue_given.get(), types);
  if (text == nullptr) return false;
  work.epilogue->text = *text;
  work.epilogue_words = Ref::borrowed(text->text);
  halved = text->halved;
  return true;
}

bool read_epilogue(Work& work, const EpilogueExtents& extents, bool& columns_stored) {
  columns_stored = false;
  return work.epilogue == nullptr || Binder(work, extents).run(columns_stored);
}

}  // namespace wwpy
