#include "cli/snapshot_download.hpp"

#include <fcntl.h>
#include <proto/rpc.pb.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/one_call.hpp"
#include "cli/terminal.hpp"

namespace conclave::cli {
namespace {

namespace fs = std::filesystem;
namespace pb = etcdserverpb;
using Error = std::unexpected<std::string>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds connect_patience{3};
constexpr std::chrono::seconds patience{30};  // for the next piece
constexpr std::chrono::milliseconds progress_every{200};

// A file beside the one that it will be.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)), beside_(path_ + ".part") {}
  ~Draft() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (is_there_) ::unlink(beside_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& beside() const { return beside_; }

  std::expected<void, std::string> open() {
    std::error_code none;
    if (fs::is_directory(path_, none)) return Error(fmt::format("{}: it is a directory", path_));
    descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor_ < 0) return trouble(beside_);
    is_there_ = true;
    return {};
  }
  std::expected<void, std::string> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return trouble(beside_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
  std::expected<void, std::string> sync() {
    if (::fsync(descriptor_) != 0) return trouble(beside_);
    return {};
  }
  std::expected<void, std::string> finish() {
    if (::rename(beside_.c_str(), path_.c_str()) != 0) return trouble(path_);
    is_there_ = false;
    const fs::path above = fs::absolute(path_).parent_path();
    const int folder = ::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = folder >= 0 && ::fsync(folder) == 0;
    auto done = synced ? std::expected<void, std::string>() : trouble(above.string());
    if (folder >= 0) ::close(folder);
    return done;
  }

 private:
  static std::expected<void, std::string> trouble(const std::string& path) {
    return Error(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  const std::string path_;
  const std::string beside_;
  int descriptor_ = -1;
  bool is_there_ = false;
};

class Progress {
 public:
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  void see(std::uint64_t bytes, std::uint64_t all) {
    const auto now = Clock::now();
    if (!on_terminal(stderr) || now - last_ < progress_every) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{} of {} MiB", bytes >> 20, all >> 20);
    std::fflush(stderr);
  }

 private:
  Clock::time_point last_ = Clock::now();
  bool shown_ = false;
};

class Download {
 public:
  Download(rpc::Channel& channel, boost::asio::io_context& loop, Draft& draft)
      : channel_(channel), draft_(draft), timer_(loop) {}

  void begin() {
    stream_ = rpc::open_stream<pb::SnapshotResponse>(
        channel_, "/etcdserverpb.Maintenance/Snapshot", {},
        {.message = [this](const pb::SnapshotResponse& part) { take(part); },
         .closed = [this](const rpc::Answer& answer) { end(answer.status); }});
    stream_.send(pb::SnapshotRequest());
    stream_.half_close();
    wait();
  }
  // Empty: nothing.
  const std::string& trouble() const { return trouble_; }

 private:
  void wait() {
    timer_.expires_after(patience);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) give_up(fmt::format("nothing came for {} seconds", patience.count()));
    });
  }
  void take(const pb::SnapshotResponse& part) {
    if (!trouble_.empty()) return;
    if (auto done = draft_.write(part.blob()); !done) return give_up(done.error());
    bytes_ += part.blob().size();
    progress_.see(bytes_, bytes_ + part.remaining_bytes());
    wait();
  }
  void give_up(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
    stream_.cancel();
  }
  void end(const rpc::Status& status) {
    if (trouble_.empty() && !status.ok()) trouble_ = in_words(status);
    timer_.cancel();
    channel_.close();
  }

  rpc::Channel& channel_;
  Draft& draft_;
  boost::asio::steady_timer timer_;
  rpc::ClientStream stream_;
  Progress progress_;
  std::uint64_t bytes_ = 0;
  std::string trouble_;
};

}  // namespace

std::expected<etcd::BackupFile, std::string> download_snapshot(const ServerFlags& servers,
                                                               const std::string& endpoint,
                                                               const std::string& path) {
  boost::asio::io_context loop(1);
  const auto channel = open_channel(loop, servers, endpoint, connect_patience);
  if (!channel) return Error(fmt::format("{}: {}", endpoint, channel.error()));
  Draft draft(path);
  if (auto done = draft.open(); !done) return Error(done.error());
  {
    Download download(**channel, loop, draft);
    download.begin();
    loop.run();
    if (!download.trouble().empty()) return Error(fmt::format("{}: {}", endpoint, download.trouble()));
  }
  if (auto done = draft.sync(); !done) return Error(done.error());
  auto file = etcd::look_at_backup(draft.beside());
  if (!file) return Error(fmt::format("{}: what it sent is not whole: {}", endpoint, file.error()));
  if (auto done = draft.finish(); !done) return Error(done.error());
  return file;
}

}  // namespace conclave::cli
