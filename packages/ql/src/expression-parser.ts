/**
 * Tokens → expression trees, by precedence climbing: one level of recursion per operand, whatever the
 * number of precedence levels, so that nesting cannot exhaust the stack before its limit is met.
 *
 * Specified in: yt/yt/library/query/base/parser.ypp.
 */
import { YtError } from "@qyt/base";
import { parseRanges, parseTupleList } from "./constants-parser.ts";
import { depthExceeded, unexpectedToken, unsupported } from "./errors.ts";
import {
  type ArithmeticOperator,
  type MatchOperator,
  makeNode,
  type Node,
  type NodeBody,
  type RelationOperator,
} from "./nodes.ts";
import { queryLimits } from "./options.ts";
import type { TokenStream } from "./token-stream.ts";
import type { Token } from "./tokens.ts";

const level = {
  or: 1,
  and: 2,
  not: 3,
  isNull: 4,
  equality: 5,
  relation: 6,
  bitOr: 7,
  bitAnd: 8,
  shift: 9,
  add: 10,
  multiply: 11,
} as const;

type SymbolOperator = { readonly level: number } & (
  | { readonly kind: "arithmetic"; readonly operator: ArithmeticOperator }
  | { readonly kind: "relation"; readonly operator: RelationOperator }
);

const symbolOperators: ReadonlyMap<string, SymbolOperator> = new Map<string, SymbolOperator>([
  ["=", { kind: "relation", operator: "=", level: level.equality }],
  ["!=", { kind: "relation", operator: "!=", level: level.equality }],
  ["<>", { kind: "relation", operator: "!=", level: level.equality }],
  ["<", { kind: "relation", operator: "<", level: level.relation }],
  ["<=", { kind: "relation", operator: "<=", level: level.relation }],
  [">", { kind: "relation", operator: ">", level: level.relation }],
  [">=", { kind: "relation", operator: ">=", level: level.relation }],
  ["|", { kind: "arithmetic", operator: "|", level: level.bitOr }],
  ["&", { kind: "arithmetic", operator: "&", level: level.bitAnd }],
  ["<<", { kind: "arithmetic", operator: "<<", level: level.shift }],
  [">>", { kind: "arithmetic", operator: ">>", level: level.shift }],
  ["+", { kind: "arithmetic", operator: "+", level: level.add }],
  ["-", { kind: "arithmetic", operator: "-", level: level.add }],
  ["||", { kind: "arithmetic", operator: "||", level: level.add }],
  ["*", { kind: "arithmetic", operator: "*", level: level.multiply }],
  ["/", { kind: "arithmetic", operator: "/", level: level.multiply }],
  ["%", { kind: "arithmetic", operator: "%", level: level.multiply }],
]);

const matchOperators: ReadonlyMap<string, MatchOperator> = new Map([
  ["like", "LIKE"],
  ["ilike", "ILIKE"],
  ["rlike", "REGEX"],
  ["regexp", "REGEX"],
]);

export class ExpressionParser {
  readonly #stream: TokenStream;
  readonly #aliases = new Map<string, Node>();
  #nesting = 0;

  constructor(stream: TokenStream) {
    this.#stream = stream;
  }

  /** Every alias met so far. */
  get aliases(): ReadonlyMap<string, Node> {
    return this.#aliases;
  }

  /** `expr [AS name] (, …)*` */
  parseList(): Node[] {
    const items = [this.parseAliased()];
    while (this.#stream.takeSymbol(",")) {
      items.push(this.parseAliased());
    }
    return items;
  }

  /** `expr [AS name]` */
  parseAliased(): Node {
    const operand = this.parse();
    if (!this.#stream.takeKeyword("as")) {
      return operand;
    }
    const name = this.#stream.expectName();
    if (operand.kind === "tuple") {
      throw new YtError(`Aliased expression "${this.#source(operand)}" must be scalar`);
    }
    const known = this.#aliases.get(name);
    if (known !== undefined && this.#source(known) !== this.#source(operand)) {
      throw new YtError(`Alias "${name}" has been already used`);
    }
    this.#aliases.set(name, operand);
    return this.#make({ kind: "alias", name, operand }, operand.start);
  }

  /** An expression without alias. */
  parse(): Node {
    return this.#parseLevel(level.or);
  }

  /** One side of an equation: nothing that binds weaker than `|`. */
  parseSide(): Node {
    return this.#parseLevel(level.bitOr);
  }

  /** A bare reference, as USING lists them. */
  parseReference(): Node {
    const start = this.#stream.peek().start;
    return this.#make({ kind: "reference", table: undefined, name: this.#stream.expectName() }, start);
  }

  #source(node: Node): string {
    return this.#stream.text.slice(node.start, node.end);
  }

  #make(body: NodeBody, start: number): Node {
    return makeNode(body, start, this.#stream.lastEnd);
  }

  #parseLevel(minimum: number): Node {
    this.#nesting += 1;
    if (this.#nesting > queryLimits.maxParenthesisDepth) {
      throw depthExceeded();
    }
    let left = this.#parseOperand(minimum);
    for (;;) {
      const next = this.#extend(left, minimum);
      if (next === undefined) {
        this.#nesting -= 1;
        return left;
      }
      left = next;
    }
  }

  #parseOperand(minimum: number): Node {
    const stream = this.#stream;
    const token = stream.peek();
    if (token.kind === "keyword" && token.text === "not") {
      if (minimum > level.not) {
        throw stream.unexpected();
      }
      stream.next();
      const operand = this.#parseLevel(level.not);
      return this.#make({ kind: "unary", operator: "NOT", operand }, token.start);
    }
    if (token.kind === "symbol" && (token.text === "-" || token.text === "+" || token.text === "~")) {
      stream.next();
      const operand = this.#parseLevel(level.multiply + 1);
      return this.#make({ kind: "unary", operator: token.text, operand }, token.start);
    }
    return this.#parseAtom();
  }

  /** `left` with the next operator of at least the minimal level; undefined if there is none. */
  #extend(left: Node, minimum: number): Node | undefined {
    const stream = this.#stream;
    const token = stream.peek();
    if (token.kind === "symbol") {
      const found = symbolOperators.get(token.text);
      if (found === undefined || found.level < minimum) {
        return undefined;
      }
      stream.next();
      const right = this.#parseLevel(found.level + 1);
      return found.kind === "relation"
        ? this.#make({ kind: "relation", operator: found.operator, items: [left, right] }, left.start)
        : this.#make({ kind: "arithmetic", operator: found.operator, items: [left, right] }, left.start);
    }
    if (token.kind !== "keyword") {
      return undefined;
    }
    if (token.text === "or" && minimum <= level.or) {
      return this.#parseChain(left, "or");
    }
    if (token.text === "and" && minimum <= level.and) {
      return this.#parseChain(left, "and");
    }
    if (token.text === "is" && minimum <= level.isNull) {
      return this.#parseIsNull(left);
    }
    return minimum <= level.relation ? this.#parsePredicate(left) : undefined;
  }

  /** `a OR b OR c` as one node, so that a long chain is not a deep tree. */
  #parseChain(first: Node, keyword: "or" | "and"): Node {
    const items = [first];
    while (this.#stream.takeKeyword(keyword)) {
      items.push(this.#parseLevel(level[keyword] + 1));
    }
    return this.#make({ kind: "logical", operator: keyword === "or" ? "OR" : "AND", items }, first.start);
  }

  #parseIsNull(operand: Node): Node {
    this.#stream.next();
    const negated = this.#stream.takeKeyword("not");
    const token = this.#stream.peek();
    if (token.kind !== "literal" || token.value.kind !== "null") {
      throw this.#stream.unexpected("keyword `NULL`");
    }
    this.#stream.next();
    const call = this.#make({ kind: "call", name: "is_null", items: [operand] }, operand.start);
    return this.#negate(call, negated);
  }

  #negate(operand: Node, negated: boolean): Node {
    return negated ? this.#make({ kind: "unary", operator: "NOT", operand }, operand.start) : operand;
  }

  /** `[NOT] BETWEEN | IN | LIKE …` behind an operand. */
  #parsePredicate(operand: Node): Node | undefined {
    const stream = this.#stream;
    const negated = stream.isKeyword("not");
    const token = stream.peek(negated ? 1 : 0);
    if (token.kind !== "keyword") {
      return undefined;
    }
    const matchOperator = matchOperators.get(token.text);
    if (matchOperator === undefined && token.text !== "between" && token.text !== "in") {
      return undefined;
    }
    if (negated) {
      stream.next();
    }
    stream.next();
    if (matchOperator !== undefined) {
      const pattern = this.#parseLevel(level.bitOr);
      const escapeCharacter = stream.takeKeyword("escape") ? this.#parseLevel(level.bitOr) : undefined;
      const node = this.#make(
        { kind: "match", operator: matchOperator, text: operand, pattern, escape: escapeCharacter },
        operand.start,
      );
      return this.#negate(node, negated);
    }
    if (token.text === "between") {
      const ranges = parseRanges(stream);
      return this.#negate(this.#make({ kind: "between", operand, ranges }, operand.start), negated);
    }
    stream.expectSymbol("(");
    const values = parseTupleList(stream);
    stream.expectSymbol(")");
    return this.#negate(this.#make({ kind: "in", operand, values }, operand.start), negated);
  }

  #parseAtom(): Node {
    const stream = this.#stream;
    const token = stream.next();
    switch (token.kind) {
      case "literal":
        return this.#make({ kind: "literal", value: token.value }, token.start);
      case "name":
        return this.#parseName(token.text, token.start);
      case "keyword":
        if (token.text === "case") {
          return this.#parseCase(token.start);
        }
        if (token.text === "transform") {
          return this.#parseTransform(token.start);
        }
        break;
      case "symbol":
        if (token.text === "(") {
          return this.#parseParenthesis(token.start);
        }
        break;
      case "end":
        break;
    }
    throw this.#unexpectedAt(token);
  }

  #unexpectedAt(token: Token): Error {
    return unexpectedToken(token, this.#stream.text);
  }

  #parseParenthesis(start: number): Node {
    const stream = this.#stream;
    if (stream.isKeyword("select")) {
      throw unsupported("A subquery");
    }
    const items = this.parseList();
    stream.expectSymbol(")");
    const [first] = items;
    return items.length === 1 && first !== undefined ? first : this.#make({ kind: "tuple", items }, start);
  }

  #parseName(name: string, start: number): Node {
    const stream = this.#stream;
    if (stream.takeSymbol("(")) {
      const items = stream.isSymbol(")") ? [] : this.parseList();
      stream.expectSymbol(")");
      return this.#make({ kind: "call", name, items }, start);
    }
    if (stream.isSymbol("[")) {
      throw unsupported("Access to list and dict items");
    }
    if (stream.takeSymbol(".")) {
      const column = stream.expectName();
      if (stream.isSymbol("[") || stream.isSymbol(".")) {
        throw unsupported("Access to members of composite values");
      }
      return this.#make({ kind: "reference", table: name, name: column }, start);
    }
    return this.#make({ kind: "reference", table: undefined, name }, start);
  }

  #parseCase(start: number): Node {
    const stream = this.#stream;
    const operand = stream.isKeyword("when") ? undefined : this.parseAliased();
    const branches: { when: Node; result: Node }[] = [];
    do {
      stream.expectKeyword("when");
      const when = this.parseAliased();
      stream.expectKeyword("then");
      branches.push({ when, result: this.parseAliased() });
    } while (stream.isKeyword("when"));
    const otherwise = stream.takeKeyword("else") ? this.parseAliased() : undefined;
    stream.expectKeyword("end");
    return this.#make({ kind: "case", operand, branches, otherwise }, start);
  }

  #parseTransform(start: number): Node {
    const stream = this.#stream;
    stream.expectSymbol("(");
    const operand = this.parseAliased();
    const lists = [0, 1].map(() => {
      stream.expectSymbol(",");
      stream.expectSymbol("(");
      const tuples = parseTupleList(stream);
      stream.expectSymbol(")");
      return tuples;
    });
    const [from = [], to = []] = lists;
    const otherwise = stream.takeSymbol(",") ? this.parseAliased() : undefined;
    stream.expectSymbol(")");
    return this.#make({ kind: "transform", operand, from, to, otherwise }, start);
  }
}
