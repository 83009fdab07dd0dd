#include "live/part_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "protocols/mutex/ricart_agrawala.hpp"
#include "trace/merge.hpp"

namespace conclave::live {
namespace {

using P = mutex::RicartAgrawala;

class PartFiles : public testing::Test {
 protected:
  PartFiles() : path_(testing::TempDir() + "part-" + std::to_string(::getpid()) + ".jsonl") {}
  ~PartFiles() override { std::filesystem::remove(path_); }

  static trace::Header header(std::uint32_t nodes = 2) {
    return {.protocol = "ricart-agrawala", .world = "live", .nodes = NodeSet::range({1}, nodes)};
  }
  // A process begins, asks, and is killed.
  void run(bool comes_back) {
    PartFile part(path_);
    auto page = part.open(header(), {1}, comes_back);
    ASSERT_TRUE(page) << page.error();
    Scribe<P> scribe(std::move(*page), {1});
    P node;
    Effects<P> out;
    const auto begin = [&] { node = P::start({1}, header().nodes, {}, out); };
    comes_back ? scribe.recover(node, out, false, begin) : scribe.start(node, out, begin);
    scribe.command(node, out, mutex::Acquire{}, [&] { node.on_command(out, mutex::Acquire{}); });
  }
  std::vector<trace::Part> parts() {
    std::ifstream file(path_, std::ios::binary);
    return trace::read_parts(file, path_).value();
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  std::string path_;
};

TEST_F(PartFiles, GoOnWhereAProcessStoppedThatComesBack) {
  run(false);
  run(true);
  const auto all = parts();
  ASSERT_EQ(all.size(), 1u);
  const auto& steps = all[0].steps;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[2].kind, trace::Kind::crash);
  EXPECT_EQ(steps[2].at, steps[1].at);
  EXPECT_EQ(steps[3].kind, trace::Kind::recover);
  EXPECT_EQ(steps[4].vector[{1}], 5u);
  EXPECT_NE(steps[4].sends[0].id, steps[1].sends[0].id);
  EXPECT_TRUE(trace::merge(all)) << "its clocks follow from one another";
}

TEST_F(PartFiles, LoseALineThatWasTorn) {
  run(false);
  append("{\"step\":3,\"t\":1,\"no");
  run(true);
  EXPECT_EQ(parts()[0].steps.size(), 5u);
}

TEST_F(PartFiles, BeginAnewWithAProcessThatDoes) {
  run(false);
  run(false);
  EXPECT_EQ(parts()[0].steps.size(), 2u);
  std::filesystem::remove(path_);
  run(true);  // it was not traced before
  EXPECT_EQ(parts()[0].steps.size(), 2u);
}

TEST_F(PartFiles, AreNotContinuedByStrangers) {
  run(false);
  for (const auto& [nodes, self] : {std::pair{2u, 2u}, std::pair{3u, 1u}}) {
    const auto page = PartFile(path_).open(header(nodes), {self}, true);
    ASSERT_FALSE(page);
    EXPECT_NE(page.error().find(":1: this is not what this process wrote of this run"), std::string::npos);
  }
  append("a line\n");
  EXPECT_FALSE(PartFile(path_).open(header(), {1}, true));
  EXPECT_FALSE(PartFile("/nowhere/part").open(header(), {1}, false));
}

}  // namespace
}  // namespace conclave::live
