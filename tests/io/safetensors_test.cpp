#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/scratch_folder.h"
#include "tilewright/error.h"

namespace tilewright::io {
namespace {

using testing::ScratchFolder;

std::string with_header(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + std::string(data_bytes, '\1');
}

TEST(Safetensors, KeepsNamesShapesValuesAndMetadata) {
  const ScratchFolder folder;
  std::vector<float> wide(6);
  std::iota(wide.begin(), wide.end(), 1.0F);
  std::vector<std::int8_t> narrow{-1, 2, -3};
  const TensorView transposed{wide.data(), DType::kF32, {3, 2}, {1, 3}, {}};
  const std::vector<NamedTensor> tensors{{"narrow", contiguous(narrow.data(), DType::kI8, {3})},
                                         {"wide", transposed},
                                         {"none", contiguous(nullptr, DType::kF64, {0, 4})}};
  const std::string path = folder.file("a.safetensors");
  write_safetensors(path, tensors, {{"made by", "a \"test\""}});

  const TensorFile file = read_tensor_file(path);
  EXPECT_EQ(file.metadata().at("made by"), "a \"test\"");
  const TensorView read = file.get("wide");
  EXPECT_EQ(read.shape, (Dims{3, 2}));
  const auto* values = static_cast<const float*>(read.data);
  EXPECT_EQ(std::vector<float>(values, values + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(static_cast<const std::int8_t*>(file.get("narrow").data)[2], -3);
  EXPECT_EQ(element_count(file.get("none").shape), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.data) % sizeof(float), 0U);
}

TEST(Safetensors, AlignsWhatTheFileDoesNot) {
  const ScratchFolder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})";
  const TensorFile file = read_tensor_file(folder.write("a.safetensors", with_header(header, 9)));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.get("b").data) % sizeof(double), 0U);
}

TEST(Safetensors, ReportsAnUnknownDTypeOnlyWhereItIsAskedFor) {
  const ScratchFolder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[1,2]}})";
  const TensorFile file = read_tensor_file(folder.write("a.safetensors", with_header(header, 2)));
  EXPECT_EQ(*static_cast<const std::uint8_t*>(file.get("a").data), 1);
  EXPECT_THROW(file.get("b"), Error);
  EXPECT_THROW(file.get("c"), Error);
}

TEST(Safetensors, EveryTruncationIsAnErrorAndNeverACrash) {
  const ScratchFolder folder;
  std::vector<float> values(4, 1.0F);
  const std::vector<NamedTensor> tensors{{"x", contiguous(values.data(), DType::kF32, {4})}};
  const std::string path = folder.file("whole.safetensors");
  write_safetensors(path, tensors);
  const std::string whole = ScratchFolder::read(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = folder.write("cut.safetensors", whole.substr(0, length));
    EXPECT_THROW(read_tensor_file(cut), Error) << length;
  }
}

TEST(Safetensors, DamagedHeadersAreErrors) {
  const ScratchFolder folder;
  const std::vector<std::string> headers{
      "[]",
      "{",
      R"({"a":1})",
      R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
      R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
      std::string(100000, '['),
  };
  for (const std::string& header : headers) {
    const std::string path = folder.write("bad.safetensors", with_header(header, 4));
    EXPECT_THROW(read_tensor_file(path), Error) << header.substr(0, 100);
  }
}

TEST(Safetensors, AnUnwritablePlaceLeavesNoFile) {
  const ScratchFolder folder;
  const std::string path = folder.file("missing/out.safetensors");
  try {
    write_safetensors(path, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace tilewright::io
