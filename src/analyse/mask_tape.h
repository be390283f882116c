#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyse/interval.h"
#include "analyse/table_bounds.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// One node or several of a program, most often its mask_mod, flattened for interval evaluation:
/// constants folded, the rest in three sections by what they depend on (b and h; q too; kv too), so
/// that walking along a row repeats only the last one.
struct MaskTape {
  /// Operands >= 0 are slots, < 0 are constants (~index).
  using Operand = std::int32_t;
  /// Constant 0 stands for operands that a row has not got.
  static constexpr Operand kNone = -1;

  struct Load {
    const TableBounds* bounds = nullptr;
    const TensorView* view = nullptr;
    std::vector<Operand> indices;
    Operand guard = 0;
  };

  struct Instruction {
    ir::Op op = ir::Op::kLiteral;
    ir::Type type = ir::Type::kBool;
    ir::NodeId node = ir::kNoNode;
    Operand a = kNone;
    Operand b = kNone;
    Operand c = kNone;
    std::int32_t load = -1;  ///< kLoad: index in `loads`; kNumber: which number of the row
  };

  Arithmetic arithmetic = Arithmetic::kMaskF32;
  std::vector<Instruction> instructions;  ///< instruction i writes slot i
  std::size_t row_begin = 0;              ///< first instruction that depends on q
  std::size_t key_begin = 0;              ///< first instruction that depends on kv
  std::vector<Interval> constants;
  std::vector<Load> loads;
  std::vector<Operand> results;

  std::vector<std::unique_ptr<TableBounds>> tables;
  std::size_t bytes() const noexcept;
};

/// Flattens the mask of a program that has one and reads its tables. Bindings must outlive the
/// tape.
MaskTape mask_tape(const ir::Program& program, const ir::Bindings& bindings);

/// Flattens other nodes of a program, in the arithmetic of its mask. Number slots from
/// `first_row_number` on are values of the row, set by TapeEvaluator::set_row_numbers.
MaskTape flat_tape(const ir::Program& program, const ir::Bindings& bindings,
                   std::span<const ir::NodeId> results, std::size_t first_row_number);

}  // namespace tilewright::analyse
