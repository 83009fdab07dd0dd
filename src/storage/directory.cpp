#include "storage/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "core/ensure.hpp"
#include "storage/crc32c.hpp"
#include "storage/uninterrupted.hpp"

namespace conclave::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* version_file = "VERSION";
constexpr const char* version_draft = "VERSION.new";
constexpr const char* lock_file = "LOCK";
constexpr const char* reserve_file = "RESERVE";

std::unexpected<Failure> refuse(FailureKind kind, std::string text) {
  return std::unexpected(Failure{.kind = kind, .text = std::move(text)});
}

Result<std::string> read_small(const std::string& path) {
  auto file = File::open(path, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  std::string text(4096, '\0');
  const auto got = file->read_at(0, std::as_writable_bytes(std::span(text)));
  if (!got) return std::unexpected(got.error());
  text.resize(*got);
  return text;
}

std::uint32_t sum_of(const std::string& text) { return crc32c(std::as_bytes(std::span(text))); }

Result<std::uint64_t> draw_id(const std::string& path) {
  std::uint64_t id = 0;
  if (uninterrupted([&] { return ::getrandom(&id, sizeof id, 0); }) != sizeof id)
    return std::unexpected(system_failure("draw a random number for", path, errno));
  return id;
}

// The first line is for every version to come; the rest is this version's.
std::string first_line(unsigned version) { return fmt::format("conclave data, format {}\n", version); }

std::string version_text(std::uint64_t id, const std::string& stamp) {
  const std::string body =
      first_line(format_version) + fmt::format("directory {:016x}\nstamp {}\n", id, stamp);
  return body + fmt::format("crc32c {:08x}\n", sum_of(body));
}

bool is_stamp(const std::string& text) {
  return text.size() <= most_stamp_bytes && text.find('\n') == std::string::npos;
}

// A directory that was begun and never finished holds nothing but these.
bool is_ours_unfinished(const std::string& name) {
  return name == lock_file || name == version_draft || name == "lost+found";
}

// With the folders above it that are missing. Each is durable in the one that holds it.
Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  const fs::path above = fs::absolute(path).lexically_normal().parent_path();
  if (auto done = make_folder(above); !done) return done;
  fs::create_directory(path, error);
  if (error) return std::unexpected(system_failure("make the directory", path.string(), error.value()));
  return sync_directory(above.string());
}

Result<bool> has_version(const std::string& path) {
  std::error_code error;
  bool found = false;
  for (const auto& entry : fs::directory_iterator(path, error))
    found |= entry.path().filename() == version_file;
  if (error) return std::unexpected(system_failure("list", path, error.value()));
  if (found) return true;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (is_ours_unfinished(name)) continue;
    return refuse(
        FailureKind::wrong_version,
        fmt::format("{} is not a data directory: it has no {} but holds {}; choose an empty or a new "
                    "directory",
                    path, version_file, name));
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Directory>> Directory::open(const std::string& path, DirectoryOptions options) {
  ensure(is_stamp(options.stamp), "a stamp is one short line");
  if (auto done = make_folder(path); !done) return std::unexpected(done.error());
  auto finished = has_version(path);
  if (!finished) return std::unexpected(finished.error());

  std::unique_ptr<Directory> directory(new Directory(path));
  if (auto done = directory->lock(); !done) return std::unexpected(done.error());
  auto listing = File::open(path, O_RDONLY | O_DIRECTORY);
  if (!listing) return std::unexpected(listing.error());
  directory->listing_ = std::move(*listing);
  directory->most_spares_ = options.spare_descriptors;
  for (std::size_t i = 0; i < options.spare_descriptors; ++i) directory->renew_spare();
  finished = has_version(path);  // whoever had the lock may have finished it
  if (!finished) return std::unexpected(finished.error());
  auto done = *finished ? directory->read_version(options.stamp) : directory->make(options.stamp);
  if (!done) return std::unexpected(done.error());
  directory->reserve_bytes_ = options.reserve_bytes;
  if (done = directory->take_reserve(); !done) return std::unexpected(done.error());
  return directory;
}

Result<void> Directory::lock() {
  auto opened = File::open(file(lock_file), O_RDWR | O_CREAT);
  if (!opened) return std::unexpected(opened.error());
  lock_ = std::move(*opened);
  if (uninterrupted([&] { return ::flock(lock_.descriptor(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return std::unexpected(system_failure("lock", lock_.path(), errno));
    std::string holder = read_small(lock_.path()).value_or("");
    holder.erase(std::find_if_not(holder.begin(), holder.end(), [](char c) { return c >= '0' && c <= '9'; }),
                 holder.end());
    return refuse(FailureKind::in_use,
                  fmt::format("{} is in use by {}; stop it, or choose another directory", path_,
                              holder.empty() ? "another process" : "process " + holder));
  }
  const std::string self = fmt::format("{}\n", ::getpid());
  // The name of the holder is a courtesy: a full disk is no reason to refuse.
  auto done = lock_.resize(0);
  if (done) done = lock_.write_at(0, std::as_bytes(std::span(self)));
  if (!done && !done.error().passes()) return done;
  return {};
}

Result<File> Directory::open_file(const std::string& name, int flags) const {
  auto opened = File::open(file(name), flags);
  if (opened || opened.error().kind != FailureKind::no_descriptor) {
    if (opened) renew_spare();
    return opened;
  }
  return open_in_need(file(name), flags);
}

// Between giving one up and opening, another thread may take it: so there are several.
Result<File> Directory::open_in_need(const std::string& path, int flags) const {
  const std::scoped_lock lock(spares_mutex_);
  while (true) {
    auto opened = File::open(path, flags);
    if (opened || opened.error().kind != FailureKind::no_descriptor || spares_.empty()) return opened;
    spares_.pop_back();
  }
}

void Directory::close_file(File file) const {
  const std::scoped_lock lock(spares_mutex_);
  if (file.descriptor() < 0 || spares_.size() >= most_spares_) return;
  if (::dup3(listing_.descriptor(), file.descriptor(), O_CLOEXEC) >= 0) spares_.push_back(std::move(file));
}

void Directory::renew_spare() const {
  const std::scoped_lock lock(spares_mutex_);
  if (spares_.size() >= most_spares_) return;
  if (auto spare = File::open(path_, O_RDONLY | O_DIRECTORY)) spares_.push_back(std::move(*spare));
}

std::size_t Directory::spare_descriptors() const {
  const std::scoped_lock lock(spares_mutex_);
  return spares_.size();
}

Result<void> Directory::make(const std::string& stamp) {
  const auto id = draw_id(path_);
  if (!id) return std::unexpected(id.error());
  id_ = *id;
  is_new_ = true;
  return write_version(stamp);
}

Result<void> Directory::restamp(const std::string& stamp) {
  ensure(is_stamp(stamp), "a stamp is one short line");
  return write_version(stamp);
}

Result<void> Directory::write_version(const std::string& stamp) {
  auto draft = open_file(version_draft, O_WRONLY | O_CREAT | O_TRUNC);
  if (!draft) return std::unexpected(draft.error());
  const std::string text = version_text(id_, stamp);
  if (auto done = draft->write_at(0, std::as_bytes(std::span(text))); !done) return done;
  if (auto done = draft->sync(); !done) return done;
  if (auto done = rename(version_draft, version_file); !done) return done;
  stamp_ = stamp;
  return {};
}

Result<void> Directory::read_version(const std::string& stamp) {
  const std::string path = file(version_file);
  const auto text = read_small(path);
  if (!text) return std::unexpected(text.error());
  unsigned version = 0;
  if (std::sscanf(text->c_str(), "conclave data, format %u\n", &version) == 1 && version != format_version)
    return refuse(
        FailureKind::wrong_version,
        fmt::format("{}: format {}, but this program reads format {}; start the program that wrote it", path,
                    version, format_version));
  unsigned long long id = 0;
  const std::size_t begin = text->find("\nstamp ");
  const std::size_t end = begin == std::string::npos ? begin : text->find('\n', begin + 1);
  if (end != std::string::npos && text->starts_with(first_line(format_version)) &&
      std::sscanf(text->c_str() + first_line(format_version).size(), "directory %16llx\n", &id) == 1)
    stamp_ = text->substr(begin + 7, end - begin - 7);
  id_ = id;
  if (*text != version_text(id_, stamp_) || !is_stamp(stamp_))
    return refuse(
        FailureKind::damaged,
        fmt::format("{} is damaged; restore it from a backup, or remove {} and let the member join anew",
                    path, path_));
  if (!stamp.empty() && stamp != stamp_)
    return refuse(
        FailureKind::wrong_stamp,
        fmt::format("{} belongs to \"{}\", not to \"{}\"; choose another directory", path_, stamp_, stamp));
  return {};
}

Result<std::vector<std::string>> Directory::names_with(const std::string& prefix) const {
  auto opened = open_file(".", O_RDONLY | O_DIRECTORY);
  if (!opened) return std::unexpected(opened.error());
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(opened->descriptor()), ::closedir);
  if (!listing) return std::unexpected(system_failure("list", path_, errno));
  (void)opened->release();
  std::vector<std::string> names;
  const auto next = [&] {
    errno = 0;
    return ::readdir(listing.get());
  };
  while (const dirent* entry = next())
    if (std::string name = entry->d_name; name.starts_with(prefix)) names.push_back(std::move(name));
  if (errno != 0) return std::unexpected(system_failure("list", path_, errno));
  std::ranges::sort(names);
  return names;
}

Result<std::uint64_t> Directory::size_of(const std::string& name) const {
  struct stat about = {};
  if (uninterrupted([&] { return ::stat(file(name).c_str(), &about); }) != 0)
    return std::unexpected(system_failure("look at", file(name), errno));
  return static_cast<std::uint64_t>(about.st_size);
}

Result<void> Directory::rename(const std::string& from, const std::string& to) const {
  if (uninterrupted([&] { return ::rename(file(from).c_str(), file(to).c_str()); }) != 0)
    return std::unexpected(system_failure("rename to " + to, file(from), errno));
  return sync_directory(listing_);
}

Result<void> Directory::remove(const std::string& name) const {
  if (uninterrupted([&] { return ::unlink(file(name).c_str()); }) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(system_failure("remove", file(name), errno));
  }
  return sync_directory(listing_);
}

Result<void> Directory::release_reserve() {
  has_reserve_ = false;
  return remove(reserve_file);
}

Result<void> Directory::take_reserve() {
  if (reserve_bytes_ == 0) return release_reserve();
  auto reserve = open_file(reserve_file, O_WRONLY | O_CREAT);
  if (!reserve) return std::unexpected(reserve.error());
  // Blocks that belong to the file, whatever they hold: nobody reads it.
  int error = EINTR;
  while (error == EINTR)
    error = ::posix_fallocate(reserve->descriptor(), 0, static_cast<off_t>(reserve_bytes_));
  if (error != 0) {
    ::unlink(reserve->path().c_str());
    Failure failure = system_failure("keep space back in", reserve->path(), error);
    failure.text += fmt::format(" ({} bytes are needed)", reserve_bytes_);
    return std::unexpected(std::move(failure));
  }
  has_reserve_ = true;
  return {};
}

Result<std::uint64_t> Directory::free_bytes() const {
  struct statvfs about = {};
  if (uninterrupted([&] { return ::statvfs(path_.c_str(), &about); }) != 0)
    return std::unexpected(system_failure("look at", path_, errno));
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

}  // namespace conclave::storage
