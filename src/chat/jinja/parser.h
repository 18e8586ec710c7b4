// TemplateParser: builds the tree from lexemes by recursive descent over Jinja's grammar. Every
// bracket and block counts towards a depth limit, so hostile nesting ends in an error instead of a
// stack overflow.
//
// Besides the tree it computes what Jinja's compiler computes: for each scope the names that are
// set before they are read (Frame), and whether a macro uses caller, varargs or kwargs. A filter or
// test that does not exist is an error only if it would certainly be evaluated, since templates
// test for features with conditions. Used once; not thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "chat/jinja/nodes.h"

namespace ruv::jinja {

class TemplateParser {
 public:
  explicit TemplateParser(std::vector<Lexeme> lexemes) : lexemes_(std::move(lexemes)) {}
  Result<TemplateProgram> parse();

 private:
  // Lexemes.
  const Lexeme& current() const { return lexemes_[at_]; }
  const Lexeme& following() const { return lexemes_[std::min(at_ + 1, lexemes_.size() - 1)]; }
  void advance() {
    if (at_ + 1 < lexemes_.size()) ++at_;
  }
  bool skip_name(std::string_view name);
  bool skip_sign(std::string_view sign);
  Status expect_sign(std::string_view sign);
  Result<std::string> expect_name();
  Status expect_block_end();
  tl::unexpected<Status> error(std::string_view what, Code code = Code::corrupt) const;
  tl::unexpected<Status> unexpected_here() const;
  NameId id_of(std::string_view name);

  // The names a scope touches, in the order in which Jinja's compiler sees them.
  struct Frame {
    size_t parent = 0;  // index in frames_; the root is its own
    std::unordered_set<NameId> touched;
    std::vector<NameId> set_first;  // set before any read, and not under an if
    ScopeBody* body = nullptr;      // receives `unset`
    int branches = 0;               // ifs around the current place
  };
  // caller, varargs, kwargs and self have a special meaning in a macro or template that reads them
  // before assigning them.
  enum class FirstUse : uint8_t { none, read, write };
  using SpecialNames = std::array<FirstUse, 4>;
  void note_first_use(NameId name, bool is_read);
  // Records that a name is read or is a parameter.
  void touch(NameId name) { frames_[frame_].touched.insert(name); }
  void touch(const AssignTarget& target);
  // Records that a name is assigned.
  void store(NameId name);
  void store(const AssignTarget& target);
  // Opens a scope; close_frame returns to the one around it.
  void open_frame(ScopeBody& body);
  void close_frame() { frame_ = frames_[frame_].parent; }
  // Fills ScopeBody::unset of all scopes, once everything is parsed.
  void settle_frames();

  // Counts nesting while it lives.
  struct Nesting {
    explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }
    int& depth_;
  };
  // Fails: corrupt, when brackets and blocks are nested too deeply.
  Status check_nesting() const;

  // Statements.
  Result<StatementList> statements(std::initializer_list<std::string_view> ends);
  Status statement(StatementList& out);
  Result<StatementPtr> block_statement(std::string_view tag, Place place);
  // The body of a block up to one of `ends`, whose name is consumed and stored in `ended_by`.
  Result<StatementList> body(std::initializer_list<std::string_view> ends,
                             std::string* ended_by = nullptr);
  Result<StatementPtr> if_statement(Place place);
  Result<StatementPtr> for_statement(Place place);
  Result<StatementPtr> set_statement(Place place);
  Result<StatementPtr> macro_statement(Place place);
  Result<StatementPtr> call_statement(Place place);
  Result<StatementPtr> filter_statement(Place place);
  Result<StatementPtr> with_statement(Place place);
  // The parameters of a macro or call block, in parentheses.
  Result<std::vector<MacroParameter>> signature();
  Status macro_body(MacroBody& macro, std::string_view end);
  // A body in a frame of its own.
  Status scope_body(ScopeBody& out, std::initializer_list<std::string_view> ends,
                    std::string* ended_by = nullptr);
  // A target of an assignment or a loop; `with_namespace` allows ns.member.
  Result<AssignTarget> target(bool with_namespace);
  Result<AssignTarget> single_target(bool with_namespace);

  // Expressions, from the loosest binding to the tightest.
  Result<ExprPtr> expression(bool with_condition = true);
  Result<ExprPtr> tuple_or_expression(bool with_condition = true);
  Result<ExprPtr> logic(bool is_and);
  Result<ExprPtr> negation();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> joined();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary(bool with_filters);
  Result<ExprPtr> primary();
  // The current lexeme, which is a whole number.
  Result<ExprPtr> whole_number();
  Result<ExprPtr> parenthesised();
  Result<ExprPtr> list_literal();
  Result<ExprPtr> dict_literal();
  // Everything that can follow a value.
  Result<ExprPtr> postfixed(ExprPtr subject, bool with_filters);
  Result<StepPtr> subscript();
  Result<std::string> dotted_name();
  // Remembers a missing filter or test, to be reported if it is reached unconditionally.
  void note_missing(Place place, std::string what);
  // A filter or test after its bar or "is"; unknown names are noted, not refused.
  Result<StepPtr> filter();
  Result<StepPtr> test();
  Result<ArgumentNodes> test_arguments();
  Result<ArgumentNodes> arguments();
  Result<StepPtr> call();
  Result<ExprPtr> filters_over_captured(bool first_is_open);
  template <class Next>
  Result<ExprPtr> math_chain(Next next, std::initializer_list<std::pair<std::string_view, MathOp>>);

  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;
  TemplateProgram program_;
  std::unordered_map<std::string, NameId> ids_;
  std::vector<std::pair<Place, std::string>> missing_;  // filters and tests that always run
  std::vector<Frame> frames_;
  std::vector<SpecialNames> special_names_;  // of the template and the macros around
  size_t frame_ = 0;
};

}  // namespace ruv::jinja
