// PrefixTree: which texts have their keys and values in pages, in memory or on disk. A text is a
// list of prefix cells, one for each token or row of a medium; where this file counts tokens, rows
// count as such. A radix tree over cells whose edges are one page (kPageTokens cells) long. Texts
// that diverge inside a page become siblings, so no edge is ever split and every page has one node.
// docs/pages.md describes the states of a page, its holders, and how the value of keeping it is
// computed.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/cell_block.h"
#include "cache/leaf_order.h"
#include "cache/page_pool.h"
#include "cache/prefix_cell.h"

namespace ruv {

// Used by one thread. The invariant that makes eviction exact: a holder of a page of the tree also
// holds all pages before it, because match() returns them from the first on and insert() exchanges
// those that differ. Hence all pages that only the tree holds can be evicted, and
// PagePool::n_evictable is the number that evict() can free.
class PrefixTree {
 public:
  struct Limits {
    int64_t max_pages = 0;             // in memory, held or not; 0: all of the pool
    int64_t max_pages_per_tenant = 0;  // a tenant above it is evicted first; 0: no quota
  };
  // The pool must outlive the tree, and only the tree may call its cache and uncache.
  PrefixTree(PagePool& pool, const Limits& limits);
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;
  ~PrefixTree();  // releases all pages

  // Where the tokens of a page are: in memory, on disk, or both. Not both -1.
  struct Entry {
    PageId page = -1;
    int64_t record = -1;  // of the disk tier
  };
  // Why a text was not found to its end.
  enum class Miss : uint8_t {
    none,
    unknown,   // no cached text continues like this
    diverged,  // the cached text continues differently
    evicted,   // the next page was cached and was evicted (old evictions count as unknown)
  };
  struct Match {
    int64_t n_tokens = 0;        // the longest known prefix; may end inside a page
    std::vector<Entry> entries;  // one for each begun page. In memory are the first ones, if any
    Miss miss = Miss::none;
  };

  // Finds the longest known prefix of `text`. Different scopes share nothing; the part of `scope`
  // before the first '\0' is the tenant. The result is valid until the tree changes: share() the
  // pages first. If the match ends within a page, only the first n_tokens % kPageTokens slots of
  // that page belong to this text: copy it. O(n cells); allocates only what `out` lacks.
  void match(std::string_view scope, std::span<const PrefixCell> text, Match& out) const;

  // Records that this text is used now, which raises the value of its cached pages.
  void touch(std::string_view scope, std::span<const PrefixCell> text);

  // Caches `text`, whose keys and values are in `pages`: computed or restored from disk, held by
  // the caller, one for each begun page. Where the tree already has an equal page, pages[i] becomes
  // that one and the caller's hold moves to it (PagePool::exchange); equal beginnings have equal
  // bytes. A last page that is not full is cached only with keep_partial; its owner may continue to
  // write after the tokens. Pages beyond max_pages are not cached. On std::bad_alloc the tree is
  // consistent and has what it had and possibly the first of the new pages, and `pages` are all
  // still held.
  void insert(std::string_view scope, std::span<const PrefixCell> text, std::span<PageId> pages,
              bool keep_partial);

  // Evicts n pages that only the tree holds, the least valuable first, or all of them when there
  // are fewer; returns how many. What is on disk stays known. Allocates nothing.
  int64_t evict(int64_t n);

  // A whole page in memory that is not on disk although all pages before it are.
  struct Unwritten {
    PageId page = -1;
    int64_t parent_record = -1;  // of the page before it; -1: it is a first page, or `parent` is
    int64_t parent = -1;         // index, in the same batch, of the page before it; -1: not there
    std::string scope;
    PageCells cells = {};
  };
  struct WriteBatch {
    std::vector<Unwritten> pages;  // parents before children
    // All of them and the pages before them, for share(): a caller that reads the bytes after the
    // tree has changed must hold these until then, and release() them. A page may occur more than
    // once.
    std::vector<PageId> held;
  };
  // Up to n pages to be written next. Returns the same ones until add_record reports them.
  void next_unwritten(int64_t n, WriteBatch& out) const;
  bool has_unwritten() const { return first_unwritten_ >= 0; }

  // Reports that `cells`, after the page of record `parent` (-1: at the start of `scope`), are on
  // disk as `record`: loaded at start or just written, even if the page was evicted in between.
  // False, with nothing changed, when `parent` is not known, or when the record or these cells are
  // on disk already; then the record is useless. Requires: kPageTokens cells, record >= 0. On
  // std::bad_alloc the record stays unknown.
  bool add_record(std::string_view scope, int64_t parent, std::span<const PrefixCell> cells,
                  int64_t record);
  // Reports that a record is gone or unreadable. It and all records after it, which can no longer
  // be reached (the store drops them too), are forgotten. Pages in memory stay and wait to be
  // written again. Does nothing for unknown records and on std::bad_alloc.
  void forget_record(int64_t record);

  struct Stats {
    int64_t evicted_pages = 0;
    int64_t memory_pages = 0;
    int64_t memory_tokens = 0;
    int64_t disk_pages = 0;    // records, whether in memory too or not
    int64_t known_tokens = 0;  // in memory or on disk
    int64_t scopes = 0;
    int64_t index_bytes = 0;  // memory of the tree itself, about; without that of rows of media
  };
  Stats stats() const;
  int64_t tenant_pages(std::string_view tenant) const;  // in memory

  // Checks all data structures against each other and against the pool. For tests and simulation;
  // O(everything).
  bool consistent() const;

 private:
  using NodeId = int32_t;
  using Block = std::span<const PrefixCell>;  // the cells of one page, or fewer

  struct Tenant {
    int64_t id = 0;
    int64_t n_pages = 0;
    int64_t n_scopes = 0;
  };
  struct Scope {
    Tenant* tenant = nullptr;
    NodeId root = -1;
    std::string_view name;  // its key in scopes_
    std::string_view tenant_name() const { return name.substr(0, name.find('\0')); }
  };
  // A begun page of a text, or (without cells) the root of a scope. Children are sorted by their
  // cells, and none is a prefix of another.
  struct Node {
    [[no_unique_address]] CellBlock block;  // the next two fit into its padding
    uint8_t n_hits = 0;
    bool unwritten = false;  // in the list
    std::vector<NodeId> children;
    Scope* scope = nullptr;  // nullptr: not in use, parent is the next such
    int64_t record = -1;
    int64_t value = 0;  // LeafOrder's, when nothing in memory is below
    int64_t used = 0;
    uint64_t path_hash = 0;  // of the scope and all cells up to here
    NodeId parent = -1;
    NodeId next_unwritten = -1;
    NodeId previous_unwritten = -1;
    PageId page = -1;
    int32_t n_pages_before = 0;
    int32_t n_children_in_memory = 0;

    int64_t n_tokens() const { return block.size(); }
    bool is_leaf() const { return page >= 0 && n_children_in_memory == 0; }
    bool is_root() const { return scope != nullptr && n_tokens() == 0; }
  };
  // The child that shares the most tokens with a block; -1: no child shares any.
  struct Nearest {
    NodeId child = -1;
    int64_t n_common = 0;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;
  // Keeps a scope's root while insert works below it, and removes it afterwards if nothing was
  // cached.
  class KeptRoot {
   public:
    KeptRoot(PrefixTree& tree, NodeId root) : tree_(tree), root_(root) { tree.kept_root_ = root; }
    KeptRoot(const KeptRoot&) = delete;
    KeptRoot& operator=(const KeptRoot&) = delete;
    ~KeptRoot() {
      tree_.kept_root_ = -1;
      tree_.remove_scope_if_empty(root_);
    }

   private:
    PrefixTree& tree_;
    NodeId root_;
  };

  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  TreeLeaf leaf_of(NodeId id) const;

  std::vector<NodeId>::const_iterator place_of(const Node& parent, Block block) const;
  Nearest nearest(const Node& parent, Block block) const;
  // Calls visit(child, tokens found in it) along the longest known prefix.
  template <class Visit>
  Miss walk(std::string_view scope, std::span<const PrefixCell> text, const Visit& visit) const;
  Miss reason(const Node& parent, Block block, const Nearest& found) const;

  NodeId root_of(std::string_view scope);
  Tenant& tenant_of(std::string_view name);
  NodeId keep(NodeId parent, Block block, PageId& page);
  bool keep_in(NodeId id, PageId& page);
  bool is_worth_more(NodeId id, Block block, PageId page) const;
  void grow(NodeId id, Block block, PageId page);
  bool make_room();
  NodeId new_node(NodeId parent, Block block);
  void remove_node(NodeId id) noexcept;
  void remove_scope_if_empty(NodeId root) noexcept;
  void attach_page(NodeId id, PageId page);
  void drop_page(NodeId id) noexcept;
  int64_t evict_leaves(int64_t n, int64_t tenant) noexcept;
  void refresh(NodeId id, bool hit) noexcept;
  void set_record(NodeId id, int64_t record) noexcept;
  void update_unwritten(NodeId id) noexcept;

  bool consistent(NodeId id) const;
  bool consistent_lists() const;

  PagePool& pool_;
  Limits limits_;
  std::vector<Node> nodes_;
  NodeId first_free_ = -1;
  NodeId first_unwritten_ = -1;
  NodeId last_unwritten_ = -1;
  NodeId kept_root_ = -1;  // kept while insert works on it, even if empty
  ByText<Scope> scopes_;
  ByText<Tenant> tenants_;
  std::unordered_map<int64_t, NodeId> records_;
  LeafOrder leaves_;
  int64_t clock_ = 0;  // GreedyDual's: the value of the page evicted last
  int64_t now_ = 0;    // counts uses
  int64_t n_tenants_ever_ = 0;
  int64_t n_nodes_ = 0;  // in use, roots too
  int64_t n_memory_tokens_ = 0;
  int64_t n_evicted_ = 0;
  std::vector<uint64_t> evicted_;  // path hashes, indexed by their low bits
};

}  // namespace ruv
