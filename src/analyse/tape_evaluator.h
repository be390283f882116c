#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "analyse/mask_tape.h"
#include "tilewright/mask_map.h"

namespace tilewright::analyse {

/// Evaluates a mask over rectangles of pairs: fix the head, then the query rows, then ask for key
/// ranges. Lives on the stack and allocates only for tapes longer than most. Ranges must not be
/// empty.
class TapeEvaluator {
 public:
  explicit TapeEvaluator(const MaskTape& tape);

  void set_head(std::int64_t b, std::int64_t h);
  void set_rows(IntRange q);
  /// Row numbers of flat_tape, read by the next set_rows.
  void set_row_numbers(std::span<const std::int64_t> numbers) { row_numbers_ = numbers; }
  TruthRange over_keys(IntRange kv);

  /// What an instruction's slot or a constant holds after over_keys.
  const Interval& value(MaskTape::Operand operand) const {
    return operand >= 0 ? slots_[operand]
                        : tape_.constants[static_cast<std::size_t>(-1 - std::ptrdiff_t{operand})];
  }

 private:
  static constexpr std::size_t kInlineSlots = 128;

  /// Whether one of the instructions may meet a live bad subscript or divisor.
  bool run(std::size_t begin, std::size_t end);
  Interval row(const MaskTape::Instruction& instruction);
  Interval load(const MaskTape::Instruction& instruction);

  const MaskTape& tape_;
  std::array<Interval, kInlineSlots> inline_slots_;
  std::unique_ptr<Interval[]> more_slots_;
  Interval* slots_;
  std::int64_t b_ = 0;
  std::int64_t h_ = 0;
  std::span<const std::int64_t> row_numbers_;
  IntRange q_{0, 0};
  IntRange kv_{0, 0};
  bool may_fault_ = false;  ///< of the section that runs
  bool head_may_fault_ = false;
  bool rows_may_fault_ = false;
};

}  // namespace tilewright::analyse
