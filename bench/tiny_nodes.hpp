// The two algorithms as the references run them: by hand, on the least state that still does the work.
// They are templates over `post(from, to, letter)`, so that the event loop is all in which contenders differ.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace conclave::bench {

struct TinyRing {
  struct Node {
    std::uint32_t successor;
    bool wanting;
  };
  std::vector<Node> nodes;

  explicit TinyRing(std::uint32_t size) : nodes(size) {}

  template <class Post>
  void start(Post&& post) {
    const auto size = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t i = 0; i < size; ++i) nodes[i] = {i + 1 == size ? 0 : i + 1, false};
    post(nodes[0].successor);
  }

  template <class Post>
  void on_token(std::uint32_t self, Post&& post) {
    if (!nodes[self].wanting) post(nodes[self].successor);
  }
};

struct Letter {
  enum class Kind : std::uint32_t { request, reply };
  Kind kind;
  std::uint32_t clock;
};

struct TinyBurst {
  struct Node {
    std::uint32_t clock = 0;
    std::uint32_t asked = 0;  // the stamp of our request; 0 if we have none
    std::uint32_t missing = 0;
    std::vector<std::uint32_t> deferred;
  };
  std::vector<Node> nodes;
  std::uint32_t entries = 0;

  explicit TinyBurst(std::uint32_t size) : nodes(size) {}

  template <class Post>
  void start(Post&& post) {
    const auto size = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t i = 0; i < size; ++i) {
      Node& node = nodes[i];
      node.asked = ++node.clock;
      node.missing = size - 1;
      for (std::uint32_t peer = 0; peer < size; ++peer) {
        if (peer != i) post(i, peer, Letter{Letter::Kind::request, node.asked});
      }
    }
  }

  template <class Post>
  void on_letter(std::uint32_t self, std::uint32_t from, Letter letter, Post&& post) {
    Node& node = nodes[self];
    node.clock = std::max(node.clock, letter.clock) + 1;
    if (letter.kind == Letter::Kind::reply) {
      if (--node.missing == 0) enter_and_leave(self, post);
    } else if (goes_first(self, from, letter.clock)) {
      node.deferred.push_back(from);
    } else {
      post(self, from, Letter{Letter::Kind::reply, node.clock});
    }
  }

 private:
  bool goes_first(std::uint32_t self, std::uint32_t other, std::uint32_t their_stamp) const {
    const std::uint32_t ours = nodes[self].asked;
    return ours != 0 && (ours < their_stamp || (ours == their_stamp && self < other));
  }

  template <class Post>
  void enter_and_leave(std::uint32_t self, Post&& post) {
    Node& node = nodes[self];
    ++entries;
    node.asked = 0;
    for (const std::uint32_t peer : node.deferred) post(self, peer, Letter{Letter::Kind::reply, node.clock});
    node.deferred.clear();
  }
};

}  // namespace conclave::bench
