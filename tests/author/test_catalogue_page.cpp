#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "author/catalogue_page.h"

namespace tilewright {
namespace {

TEST(CataloguePage, IsWhatTheEntriesSay) {
  const std::filesystem::path page =
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "docs" / "catalogue.md";
  const std::filesystem::path made = std::filesystem::path(TILEWRIGHT_BINARY_DIR) / "catalogue.md";
  const std::string expected = tests::catalogue_page();
  std::ofstream(made) << expected;
  std::stringstream written;
  written << std::ifstream(page).rdbuf();
  EXPECT_TRUE(written.str() == expected)
      << "docs/catalogue.md is older than the catalogue: cp " << made << " " << page;
}

}  // namespace
}  // namespace tilewright
