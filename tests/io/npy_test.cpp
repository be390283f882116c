#include "io/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/npy_header.h"
#include "support/scratch_folder.h"
#include "tilewright/error.h"

namespace tilewright::io {
namespace {

using testing::ScratchFolder;

std::string npy(char version, const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += std::string(version == 1 ? 1 : 3, '\0');
  return bytes + header + data;
}

TEST(Npy, KeepsShapeAndValues) {
  const ScratchFolder folder;
  for (const Dims& shape : {Dims{}, Dims{4}, Dims{2, 2}, Dims{0, 3}}) {
    std::vector<std::int32_t> values{7, -8, 9, 10};
    const std::string path = folder.file("a.npy");
    write_npy(path, contiguous(values.data(), DType::kI32, shape));
    const TensorView read = read_tensor_file(path).get("");
    EXPECT_EQ(read.shape, shape);
    const std::string bytes = ScratchFolder::read(path);
    EXPECT_EQ((bytes.size() - 4 * static_cast<std::size_t>(element_count(shape))) % 64, 0U);
  }
  std::vector<std::int32_t> values{7, -8};
  write_npy(folder.file("b.npy"), contiguous(values.data(), DType::kI32, {2}));
  const TensorFile file = read_tensor_file(folder.file("b.npy"));
  EXPECT_EQ(static_cast<const std::int32_t*>(file.get("").data)[1], -8);
}

TEST(Npy, ReadsFortranOrderAndEveryVersion) {
  const ScratchFolder folder;
  const std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  for (const char version : {'\1', '\2', '\3'}) {
    const TensorFile file = read_tensor_file(folder.write("f.npy", npy(version, header, "abcdef")));
    const TensorView view = file.get("");
    EXPECT_EQ(view.shape, (Dims{2, 3}));
    EXPECT_EQ(view.strides, (Dims{1, 2}));
    EXPECT_EQ(static_cast<const char*>(view.data)[0], 'a');
  }
}

TEST(Npy, DamagedFilesAreErrors) {
  const ScratchFolder folder;
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::vector<std::string> files{
      "",
      "hello",
      "\x93NUMPY",
      npy('\4', good, "12345678"),
      npy('\1', good, "1234567"),
      npy('\1', "{'descr': '<f4', 'shape': (2,)}", "12345678"),
      npy('\1', "{'descr': '<f4', 'fortran_order': False, 'shape': (2", "12345678"),
      npy('\1', "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "12345678"),
      npy('\1', "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", "12345678"),
      npy('\1', "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "12345678"),
      npy('\1', "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "12345678"),
      npy('\1', "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "12345678"),
      npy('\1', "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", ""),
  };
  for (const std::string& bytes : files) {
    const std::string path = folder.write("bad.npy", bytes);
    EXPECT_THROW(read_tensor_file(path), Error) << bytes;
  }
  const std::string whole = npy('\1', good, "12345678");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(read_tensor_file(folder.write("cut.npy", whole.substr(0, length))), Error);
  }
}

TEST(Npy, HeaderTakesAnyOrderOfKeys) {
  const auto header = parse_npy_header("{\"shape\":(), 'fortran_order':False,'descr':'<f8'}");
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->descr, "<f8");
  EXPECT_TRUE(header->shape.empty());
}

TEST(Npy, RefusesBf16) {
  const ScratchFolder folder;
  EXPECT_THROW(write_npy(folder.file("a.npy"), contiguous(nullptr, DType::kBF16, {0})), Error);
}

}  // namespace
}  // namespace tilewright::io
