// A balanced search tree (AVL) of nodes that somebody else owns, whose nodes may sum up what is below them.
//
// A node has `TreeLinks<Node> links`, `std::uint8_t height`, and `bool refresh()`, which works its sums out
// from its own value and those of links.left and links.right, and says whether they are others now. The tree
// calls it for whoever is above a change. Order is the user's: searches and inserts are told by a predicate
// which way to go.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

namespace conclave::kv {

template <class Node>
struct TreeLinks {
  Node* parent = nullptr;
  Node* left = nullptr;
  Node* right = nullptr;
};

template <class Node>
class Tree {
 public:
  Node* root() const { return root_; }

  // `precedes(other)`: the new node stands before the other.
  template <class Precedes>
  void insert(Node& node, Precedes precedes) {
    Node* above = nullptr;
    Node** place = &root_;
    while (*place) {
      above = *place;
      place = precedes(*above) ? &above->links.left : &above->links.right;
    }
    *place = &node;
    node.links = {.parent = above};
    node.height = 1;
    node.refresh();
    // Above the first node that notices nothing, nobody will.
    for (Node* at = above; at && update(*at); at = at->links.parent) at = balance(at);
  }

  void erase(Node& node) {
    Node* changed = nullptr;
    if (node.links.left && node.links.right) {
      Node* heir = leftmost(node.links.right);
      changed = heir->links.parent == &node ? heir : heir->links.parent;
      put_in_place_of(*heir, heir->links.right);
      heir->links.left = node.links.left;
      heir->links.right = node.links.right;
      heir->height = node.height;
      heir->links.left->links.parent = heir;
      if (heir->links.right) heir->links.right->links.parent = heir;
      put_in_place_of(node, heir);
    } else {
      changed = node.links.parent;
      put_in_place_of(node, node.links.left ? node.links.left : node.links.right);
    }
    node.links = {};
    node.height = 1;
    for (Node* at = changed; at; at = at->links.parent) {
      update(*at);
      at = balance(at);
    }
  }

  Node* first() const { return root_ ? leftmost(root_) : nullptr; }

  static Node* next(Node& node) {
    if (node.links.right) return leftmost(node.links.right);
    Node* below = &node;
    Node* at = node.links.parent;
    for (; at && at->links.right == below; at = at->links.parent) below = at;
    return at;
  }

 private:
  static Node* leftmost(Node* at) {
    while (at->links.left) at = at->links.left;
    return at;
  }
  static int height(const Node* node) { return node ? node->height : 0; }
  static bool update(Node& node) {
    const std::uint8_t before = node.height;
    node.height = static_cast<std::uint8_t>(1 + std::max(height(node.links.left), height(node.links.right)));
    const bool other_sums = node.refresh();
    return other_sums || node.height != before;
  }

  void put_in_place_of(Node& old, Node* substitute) {
    Node* above = old.links.parent;
    if (!above) {
      root_ = substitute;
    } else if (above->links.left == &old) {
      above->links.left = substitute;
    } else {
      above->links.right = substitute;
    }
    if (substitute) substitute->links.parent = above;
  }

  // Lifts a child above its parent, and returns it.
  Node* lift(Node& node, Node* TreeLinks<Node>::*from, Node* TreeLinks<Node>::*to) {
    Node* child = node.links.*from;
    put_in_place_of(node, child);
    node.links.*from = child->links.*to;
    if (node.links.*from) (node.links.*from)->links.parent = &node;
    child->links.*to = &node;
    node.links.parent = child;
    update(node);
    update(*child);
    return child;
  }

  Node* balance(Node* at) {
    constexpr auto left = &TreeLinks<Node>::left;
    constexpr auto right = &TreeLinks<Node>::right;
    const int lean = height(at->links.left) - height(at->links.right);
    if (lean > 1) {
      Node& child = *at->links.left;
      if (height(child.links.left) < height(child.links.right)) lift(child, right, left);
      return lift(*at, left, right);
    }
    if (lean < -1) {
      Node& child = *at->links.right;
      if (height(child.links.right) < height(child.links.left)) lift(child, left, right);
      return lift(*at, right, left);
    }
    return at;
  }

  Node* root_ = nullptr;
};

}  // namespace conclave::kv
