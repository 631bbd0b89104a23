/** Row writers for YSON, binary and text. Specified in: yt/yt/client/formats (YSON writer), yt/yt/core/yson/writer. */
import { doubleToText, stringToBytes, writeYson } from "@qyt/yson";
import { YsonAnyToText } from "./any-text.ts";
import {
  CellRowWriter,
  type RowSyntax,
  VarintWords,
  writeDecimal,
  writeDecimal64,
} from "./cell-row-writer.ts";
import { cellKind, payloadStart } from "./encoded-rows.ts";
import { RowOutput, viewOf } from "./row-output.ts";
import type { OutputColumn } from "./row-writer.ts";
import { writeQuotedYson } from "./yson-escapes.ts";

const binarySyntax: RowSyntax = {
  open: "{",
  separator: ";",
  trailer: ";",
  close: "};",
  missing: "#;",
  key(name) {
    const bytes = stringToBytes(name);
    const output = new RowOutput(bytes.length + 8);
    output.string(bytes, viewOf(bytes), 0, bytes.length);
    output.byte(0x3d);
    return output.take();
  },
};

const textSyntax: RowSyntax = {
  open: "{",
  separator: ";",
  trailer: ";",
  close: "};\n",
  missing: "#;\n",
  key(name) {
    const bytes = stringToBytes(name);
    const output = new RowOutput(bytes.length * 4 + 8);
    writeQuotedYson(bytes, viewOf(bytes), 0, bytes.length, output);
    output.byte(0x3d);
    return output.take();
  },
};

export class YsonBinaryRowWriter extends CellRowWriter {
  constructor(columns: readonly OutputColumn[], skipNulls: boolean, expectedBytes?: number) {
    super(columns, binarySyntax, skipNulls, expectedBytes);
  }

  protected override cell(
    bytes: Buffer,
    view: DataView,
    start: number,
    end: number,
    output: RowOutput,
  ): void {
    output.copy(bytes, view, bytes[start] === cellKind.any ? payloadStart(bytes, start) : start, end);
  }

  protected override null(output: RowOutput): void {
    output.byte(cellKind.null);
  }

  protected override integer(value: number, output: RowOutput): void {
    output.byte(cellKind.int64);
    output.zigzag64(value | 0, Math.floor(value / 0x1_0000_0000));
  }

  protected override uint64(low: number, high: number, output: RowOutput): void {
    output.byte(cellKind.uint64);
    output.varint64(low, high);
  }

  override writeControl(attribute: string, value: bigint): void {
    this.output.byte(0x3c);
    this.output.constant(binarySyntax.key(attribute));
    this.output.constant(writeYson(value, "binary"));
    this.output.ascii(";>#;");
  }
}

export class YsonTextRowWriter extends CellRowWriter {
  readonly #words = new VarintWords();
  readonly #any = new YsonAnyToText();

  constructor(columns: readonly OutputColumn[], skipNulls: boolean, expectedBytes?: number) {
    super(columns, textSyntax, skipNulls, expectedBytes);
  }

  protected override cell(
    bytes: Buffer,
    view: DataView,
    start: number,
    end: number,
    output: RowOutput,
  ): void {
    switch (bytes[start]) {
      case cellKind.string:
        writeQuotedYson(bytes, view, payloadStart(bytes, start), end, output);
        break;
      case cellKind.int64:
        this.#words.read(bytes, start + 1, end);
        this.#words.unzigzag();
        writeDecimal64(this.#words.low, this.#words.high, false, output);
        break;
      case cellKind.uint64:
        this.#words.read(bytes, start + 1, end);
        this.uint64(this.#words.low, this.#words.high, output);
        break;
      case cellKind.double:
        output.ascii(doubleToText(view.getFloat64(start + 1, true)));
        break;
      case cellKind.true:
        output.ascii("%true");
        break;
      case cellKind.false:
        output.ascii("%false");
        break;
      default:
        this.#any.write(bytes, view, payloadStart(bytes, start), end, output);
    }
  }

  protected override null(output: RowOutput): void {
    output.byte(cellKind.null);
  }

  protected override integer(value: number, output: RowOutput): void {
    writeDecimal(value, output);
  }

  protected override uint64(low: number, high: number, output: RowOutput): void {
    writeDecimal64(low, high, true, output);
    output.byte(0x75);
  }

  override writeControl(attribute: string, value: bigint): void {
    this.output.ascii(`<"${attribute}"=${value};>#;\n`);
  }
}
