// What the log costs beside the least that makes bytes durable: a write and an fdatasync on a file that was
// written in advance. And other ways of writing, the flusher, sums, and how long a member takes to start.
//
//   storage_bench [--quick] [DIRECTORY]      in the current directory, unless told
//
// The contenders take turns, one operation each, so that whatever else the machine does meets all of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "core/ensure.hpp"
#include "storage/flusher.hpp"
#include "storage/snapshots.hpp"

namespace conclave::bench {
namespace {

using namespace conclave::storage;
using Clock = std::chrono::steady_clock;

constexpr std::size_t file_bytes = 16 << 20;

double micros(Clock::time_point since) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}
double cpu_micros() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct Times {
  std::vector<double> micros = {};
  double cpu = 0;
  double at(double share) {
    std::ranges::sort(micros);
    return micros.empty() ? 0
                          : micros[static_cast<std::size_t>(share * static_cast<double>(micros.size() - 1))];
  }
  double cpu_each() const { return cpu / static_cast<double>(micros.size()); }
};

// --- ways to make one write durable ---

struct Bytes4k {
  std::byte* data;
  explicit Bytes4k(std::size_t size) : data(static_cast<std::byte*>(std::aligned_alloc(4096, size))) {
    std::fill_n(data, size, std::byte{7});
  }
  ~Bytes4k() { std::free(data); }
  Bytes4k(const Bytes4k&) = delete;
  Bytes4k& operator=(const Bytes4k&) = delete;
};

enum class Blank { zeros, allocated, empty };

class RawFile {
 public:
  RawFile(const std::string& path, Blank blank, int flags) : path_(path) {
    auto file = File::open(path, O_RDWR | O_CREAT | O_TRUNC);
    ensure(file.has_value(), "a file can be made here");
    if (blank == Blank::zeros) ensure(file->write_zeros(0, file_bytes).has_value(), "there is space");
    if (blank == Blank::allocated)
      ensure(::posix_fallocate(file->descriptor(), 0, file_bytes) == 0, "there is space");
    ensure(::fsync(file->descriptor()) == 0, "the disk works");
    descriptor_ = ::open(path.c_str(), O_RDWR | flags);
    ensure(descriptor_ >= 0, "the file opens");
  }
  ~RawFile() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // The place for the next `size` bytes; from the beginning again when the file is full.
  off_t next(std::size_t size, bool grows) {
    if (!grows && offset_ + size + 4096 > file_bytes) offset_ = 0;
    return static_cast<off_t>(std::exchange(offset_, offset_ + size));
  }
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
  std::size_t offset_ = 0;
};

struct Contender {
  std::string name;
  std::function<void()> write;
  Times times = {};
};

void require_written(ssize_t put, std::size_t size) {
  ensure(put == static_cast<ssize_t>(size), "the disk takes what it is given");
}

void write_and_sync(RawFile& file, const std::byte* bytes, std::size_t size, bool grows) {
  require_written(::pwrite(file.descriptor(), bytes, size, file.next(size, grows)), size);
  ensure(::fdatasync(file.descriptor()) == 0, "the disk works");
}

void write_through(RawFile& file, std::byte* bytes, std::size_t size) {
  const iovec piece = {bytes, size};
  require_written(::pwritev2(file.descriptor(), &piece, 1, file.next(size, false), RWF_DSYNC), size);
}

// Whole sectors around the bytes, as a log without the kernel's memory must write them.
void write_direct(RawFile& file, const std::byte* bytes, std::size_t size) {
  const auto at = static_cast<std::size_t>(file.next(size, false));
  const std::size_t from = at / 512 * 512;
  const std::size_t to = round_up(at + size, 512);
  require_written(::pwrite(file.descriptor(), bytes, to - from, static_cast<off_t>(from)), to - from);
}

void take_turns(std::vector<Contender>& contenders, int turns) {
  for (int turn = 0; turn < turns; ++turn)
    for (Contender& contender : contenders) {
      const double cpu = cpu_micros();
      const auto begin = Clock::now();
      contender.write();
      contender.times.micros.push_back(micros(begin));
      contender.times.cpu += cpu_micros() - cpu;
    }
}

void show(std::vector<Contender>& contenders) {
  Times& bare = contenders.front().times;
  const double half = bare.at(0.5);
  for (Contender& contender : contenders)
    fmt::print("  {:34} p10 {:7.0f}  p50 {:7.0f}  p99 {:7.0f} us   cpu {:5.1f} us   p50 {:4.2f} of bare\n",
               contender.name, contender.times.at(0.1), contender.times.at(0.5), contender.times.at(0.99),
               contender.times.cpu_each(), contender.times.at(0.5) / half);
}

struct OpenLog {
  std::unique_ptr<Directory> directory;
  std::unique_ptr<SegmentedLog> log;
};

OpenLog open_log(const std::string& path) {
  auto directory = Directory::open(path, {.reserve_bytes = 0});
  ensure(directory.has_value(), "the directory opens");
  auto log = SegmentedLog::open(**directory, {}, [](const Replayed&) {});
  ensure(log.has_value(), "the log opens");
  return {std::move(*directory), std::move(*log)};
}

void compare_ways(const std::string& folder, std::size_t size, int turns) {
  fmt::print("one write of {} bytes at a time, {} turns\n", size, turns);
  const Bytes4k bytes(size + 8192);
  RawFile bare(folder + "/bare", Blank::zeros, 0);
  RawFile through(folder + "/through", Blank::zeros, 0);
  RawFile direct(folder + "/direct", Blank::zeros, O_DIRECT | O_DSYNC);
  RawFile allocated(folder + "/allocated", Blank::allocated, 0);
  RawFile growing(folder + "/growing", Blank::empty, 0);
  OpenLog ours = open_log(folder + "/log");
  std::uint64_t tag = 0;
  std::vector<Contender> contenders;
  contenders.push_back(
      {"written in advance, fdatasync", [&] { write_and_sync(bare, bytes.data, size, false); }});
  contenders.push_back({"conclave's log", [&] {
                          ours.log->append({ByteView(bytes.data, size)}, ++tag);
                          ensure(ours.log->sync().has_value(), "the log works");
                          ours.log->release(tag);
                        }});
  contenders.push_back({"written in advance, RWF_DSYNC", [&] { write_through(through, bytes.data, size); }});
  contenders.push_back(
      {"written in advance, O_DIRECT O_DSYNC", [&] { write_direct(direct, bytes.data, size); }});
  contenders.push_back(
      {"only allocated, fdatasync", [&] { write_and_sync(allocated, bytes.data, size, false); }});
  contenders.push_back({"growing, fdatasync", [&] { write_and_sync(growing, bytes.data, size, true); }});
  take_turns(contenders, turns);
  show(contenders);
}

// --- batches, inline and with the flusher ---

constexpr std::size_t record_bytes = 300;

double inline_rate(SegmentedLog& log, int batch, int turns) {
  const std::vector<std::byte> record(record_bytes, std::byte{7});
  const auto begin = Clock::now();
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < batch; ++i) log.append({record}, 1);
    ensure(log.sync().has_value(), "the log works");
    log.release(1);
  }
  return batch * turns / micros(begin) * 1e6;
}

double bare_rate(RawFile& file, int batch, int turns) {
  const std::vector<std::byte> bytes(record_bytes * static_cast<std::size_t>(batch), std::byte{7});
  const auto begin = Clock::now();
  for (int turn = 0; turn < turns; ++turn) write_and_sync(file, bytes.data(), bytes.size(), false);
  return batch * turns / micros(begin) * 1e6;
}

// `depth` records are under way at any time: one more is submitted for each that became durable.
struct FlusherRun {
  double rate = 0;
  double micros_each = 0;
  double syncs = 0;
};

FlusherRun flusher_run(const std::string& folder, std::chrono::microseconds spin, std::uint64_t depth,
                       int records) {
  OpenLog ours = open_log(folder);
  ours.log->settle();
  const std::vector<std::byte> record(record_bytes, std::byte{7});
  std::counting_semaphore<> slots(static_cast<std::ptrdiff_t>(depth));
  std::uint64_t known = 0;
  Flusher flusher(std::move(ours.log), {.spin = spin},
                  {.durable =
                       [&](std::uint64_t upto) {
                         slots.release(static_cast<std::ptrdiff_t>(upto - known));
                         known = upto;
                       },
                   .failed = [](const Failure&) { ensure(false, "the disk works"); }});
  const auto begin = Clock::now();
  for (int i = 0; i < records; ++i) {
    slots.acquire();
    flusher.append({record}, 1);
    flusher.submit();
  }
  for (std::uint64_t i = 0; i < depth; ++i) slots.acquire();
  const double took = micros(begin);
  return {.rate = records / took * 1e6,
          .micros_each = took * static_cast<double>(depth) / records,
          .syncs = static_cast<double>(flusher.latencies().count()) / took * 1e6};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare_batches(const std::string& folder, int turns) {
  fmt::print("records of {} bytes, so many in a batch: records a second, median of five\n", record_bytes);
  for (const int batch : {1, 4, 16, 64, 256}) {
    RawFile file(folder + "/bare", Blank::zeros, 0);
    OpenLog ours = open_log(folder + "/batches");
    std::vector<double> bare;
    std::vector<double> log;
    for (int round = 0; round < 5; ++round) {
      bare.push_back(bare_rate(file, batch, turns));
      log.push_back(inline_rate(*ours.log, batch, turns));
    }
    fmt::print("  {:4}   bare {:9.0f}   log {:9.0f}   ratio {:4.2f}\n", batch, median(bare), median(log),
               median(log) / median(bare));
  }
  fmt::print("the flusher, so many records under way: records a second, microseconds each\n");
  for (const std::uint64_t depth : {1, 16, 64, 256})
    for (const int spin : {0, 50}) {
      const FlusherRun run = flusher_run(folder + "/flusher", std::chrono::microseconds(spin), depth,
                                         turns * static_cast<int>(std::min<std::uint64_t>(depth, 64)));
      fmt::print("  {:4}   spin {:3} us   {:9.0f} records/s   {:7.0f} us   {:6.0f} syncs/s\n", depth, spin,
                 run.rate, run.micros_each, run.syncs);
    }
}

// --- sums ---

void compare_sums() {
  const std::vector<std::byte> bytes(64 * 1024, std::byte{7});
  std::uint32_t seen = 0;
  const auto rate = [&](std::size_t size, const auto& sum) {
    const std::size_t times = (64 << 20) / size;
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < times; ++i) seen ^= sum(ByteView(bytes).first(size - i % 8));
    return static_cast<double>(times * size) / micros(begin) / 1e3;
  };
  const auto boost_sum = [](ByteView view) {
    boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> sum;
    sum.process_bytes(view.data(), view.size());
    return static_cast<std::uint32_t>(sum.checksum());
  };
  fmt::print("CRC-32C, gigabytes a second\n");
  for (const std::size_t size : {std::size_t{300}, std::size_t{65536}})
    fmt::print("  {:6} bytes   instruction {:5.2f}   table {:5.2f}   Boost.CRC {:5.2f}\n", size,
               rate(size, [](ByteView view) { return crc32c(view); }),
               rate(size, [](ByteView view) { return crc32c_by_table(view); }), rate(size, boost_sum));
  if (seen == 1) fmt::print(" \n");  // so that the sums are worked out
}

// --- starting ---

void time_starts(const std::string& folder) {
  const auto begin = Clock::now();
  OpenLog ours = open_log(folder + "/start");
  fmt::print("a new member's log opens in {:.1f} ms\n", micros(begin) / 1e3);
  const std::vector<std::byte> record(record_bytes, std::byte{7});
  ours.log->settle();
  for (int segment = 0; segment < 4; ++segment) {
    for (int batch = 0; batch < 16; ++batch) {
      for (int i = 0; i < 3000; ++i) ours.log->append({record}, 1);
      ensure(ours.log->sync().has_value(), "the log works");
    }
    ours.log->settle();
  }
  const LogStatus status = ours.log->status();
  ours = {};
  const auto again = Clock::now();
  ours = open_log(folder + "/start");
  fmt::print("one with {:.0f} MB in {} segments, {} records, in {:.0f} ms\n",
             static_cast<double>(status.bytes) / 1e6, status.segments, ours.log->replayed(),
             micros(again) / 1e3);
}

// What the log's own writes suffer while others write much beside it.
void time_disturbed(const std::string& folder, int turns) {
  OpenLog ours = open_log(folder + "/disturbed");
  ours.log->settle();
  const std::vector<std::byte> record(record_bytes, std::byte{7});
  const auto run = [&](const std::function<bool()>& more) {
    Times times;
    while (more()) {
      const auto begin = Clock::now();
      ours.log->append({record}, 1);
      ensure(ours.log->sync().has_value(), "the log works");
      times.micros.push_back(micros(begin));
    }
    return times;
  };
  int left = turns;
  Times alone = run([&] { return --left > 0; });
  std::atomic<bool> writing = true;
  std::jthread snapshot([&] {
    auto snapshots = Snapshots::open(*ours.directory);
    auto writer = snapshots->begin({.tag = 1});
    const std::vector<std::byte> bytes(1 << 20, std::byte{7});
    for (int i = 0; i < 256; ++i) ensure(writer->append(bytes).has_value(), "there is space");
    ensure(writer->finish().has_value(), "the disk works");
    writing = false;
  });
  const auto begin = Clock::now();
  Times beside = run([&] { return writing.load(); });
  fmt::print(
      "a sync of 300 bytes: alone p50 {:.0f} p99 {:.0f} us; beside a snapshot of 256 MiB ({:.1f} s) p50 "
      "{:.0f} p99 "
      "{:.0f} us\n",
      alone.at(0.5), alone.at(0.99), micros(begin) / 1e6, beside.at(0.5), beside.at(0.99));
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  std::string folder = "storage_bench.tmp";
  int turns = 1000;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick") {
      turns = 200;
    } else {
      folder = std::string(argv[i]) + "/storage_bench.tmp";
    }
  }
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  compare_sums();
  time_starts(folder);
  for (const std::size_t size : {300, 4096, 65536}) compare_ways(folder, size, turns);
  compare_batches(folder, turns / 2);
  time_disturbed(folder, turns);
  std::filesystem::remove_all(folder);
}
