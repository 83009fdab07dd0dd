#include "cli/serve_plan.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace conclave::cli {
namespace {

class PlanFile : public ::testing::Test {
 protected:
  std::expected<ServePlan, std::string> read(const std::string& text, ServePlan plan = {}) {
    std::ofstream(path_) << text;
    if (auto done = read_plan(path_, plan); !done) return std::unexpected(done.error());
    return plan;
  }
  ~PlanFile() override { std::filesystem::remove(path_); }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("plan" + std::to_string(::getpid()) + ".toml")).string();
};

TEST_F(PlanFile, SaysWhatFlagsSay) {
  const auto plan = read(
      "engine = \"maekawa\"\nid = 2\ndown-after = 0.5\nclient-tls = true\n"
      "[members]\n1 = \"a:1\"\n2 = \"b:2\"\n[set]\nT_t = 50\n");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->engine, "maekawa");
  EXPECT_EQ(plan->id, 2u);
  EXPECT_EQ(plan->members, "1=a:1,2=b:2");
  EXPECT_EQ(plan->set, std::vector<std::string>{"T_t=50"});
  EXPECT_EQ(plan->down_after, 0.5);
  EXPECT_TRUE(plan->client_tls);
  const auto open = read(
      "client-ca = \"ca.pem\"\nclient-host = \"a,b\"\nclient-memory = \"1G\"\n"
      "insecure-clients = true\ninsecure-members = true\n");
  ASSERT_TRUE(open) << open.error();
  EXPECT_EQ(open->client_ca, "ca.pem");
  EXPECT_EQ(open->client_hosts, "a,b");
  EXPECT_EQ(open->client_memory, "1G");
  EXPECT_TRUE(open->insecure_clients && open->insecure_members);
  const auto history = read(
      "auto-compaction-mode = \"revision\"\nauto-compaction-retention = 1000\n"
      "quota-backend-bytes = \"4G\"\n");
  ASSERT_TRUE(history) << history.error();
  EXPECT_EQ(history->compaction_mode, "revision");
  EXPECT_EQ(history->retention, "1000");
  EXPECT_EQ(history->quota, "4G");
  EXPECT_EQ(read("auto-compaction-retention = \"5m\"\n").value().retention, "5m");
  EXPECT_EQ(read("skip-entry = [26, 31]\n").value().skip_entries, (std::vector<std::uint64_t>{26, 31}));
}

TEST_F(PlanFile, CountsLessThanFlags) {
  const auto plan = read("engine = \"maekawa\"\nid = 2\n[members]\n1 = \"a:1\"\n",
                         {.engine = "lamport", .id = 3, .members = "3=c:3"});
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->engine, "lamport");
  EXPECT_EQ(plan->id, 3u);
  EXPECT_EQ(plan->members, "3=c:3");
}

TEST_F(PlanFile, ErrorsNameTheLine) {
  EXPECT_EQ(read("auto-compaction-retention = 0.5\n").error(),
            path_ + ":1: 'auto-compaction-retention' is not a whole number, or a text in quotes");
  EXPECT_EQ(read("engine = \"x\"\nid = \"two\"\n").error(), path_ + ":2: 'id' is not a number from 1");
  EXPECT_TRUE(read("\nengin = \"x\"\n").error().starts_with(path_ + ":2: 'engin' is not known"));
  EXPECT_EQ(read("down-after = -1\n").error(), path_ + ":1: 'down-after' is not a number of seconds above 0");
  EXPECT_TRUE(read("engine = \n").error().starts_with(path_ + ":1: "));
  EXPECT_EQ(read("members = 3\n").error(), path_ + ":1: 'members' is not a table");
  EXPECT_EQ(read("skip-entry = 26\n").error(), path_ + ":1: 'skip-entry' is not a list of numbers from 1");
}

TEST_F(PlanFile, AMissingFileIsAnError) {
  ServePlan plan;
  EXPECT_FALSE(read_plan("/no/such/file.toml", plan));
}

}  // namespace
}  // namespace conclave::cli
