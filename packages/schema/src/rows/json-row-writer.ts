/** The row writer for JSON lines in the usual modes; the rare ones are in tree-row-writer.ts. */
import { type JsonOptions, stringToBytes } from "@qyt/yson";
import { writeJsonDouble, YsonAnyToJson } from "./any-text.ts";
import { CellRowWriter, VarintWords, writeDecimal, writeDecimal64 } from "./cell-row-writer.ts";
import { cellKind, payloadStart } from "./encoded-rows.ts";
import { writeJsonString } from "./json-strings.ts";
import { RowOutput, viewOf } from "./row-output.ts";
import type { OutputColumn } from "./row-writer.ts";

export class JsonRowWriter extends CellRowWriter {
  readonly #words = new VarintWords();
  readonly #encodeUtf8: boolean;
  readonly #any: YsonAnyToJson;

  constructor(
    columns: readonly OutputColumn[],
    options: JsonOptions,
    skipNulls: boolean,
    expectedBytes?: number,
  ) {
    const encodeUtf8 = options.encodeUtf8 ?? true;
    super(
      columns,
      {
        open: "{",
        separator: ",",
        trailer: "",
        close: "}\n",
        missing: "null\n",
        key: (name) => jsonKey(name, encodeUtf8, options.plain === true),
      },
      skipNulls,
      expectedBytes,
    );
    this.#encodeUtf8 = encodeUtf8;
    this.#any = new YsonAnyToJson(encodeUtf8, options.plain === true, options.attributesMode === "never");
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
        writeJsonString(bytes, view, payloadStart(bytes, start), end, this.#encodeUtf8, output);
        break;
      case cellKind.int64:
        this.#words.read(bytes, start + 1, end);
        this.#words.unzigzag();
        writeDecimal64(this.#words.low, this.#words.high, false, output);
        break;
      case cellKind.uint64:
        this.#words.read(bytes, start + 1, end);
        writeDecimal64(this.#words.low, this.#words.high, true, output);
        break;
      case cellKind.double:
        writeJsonDouble(view.getFloat64(start + 1, true), output);
        break;
      case cellKind.true:
        output.ascii("true");
        break;
      case cellKind.false:
        output.ascii("false");
        break;
      default:
        this.#any.write(bytes, view, payloadStart(bytes, start), end, output);
    }
  }

  protected override null(output: RowOutput): void {
    output.ascii("null");
  }

  protected override integer(value: number, output: RowOutput): void {
    writeDecimal(value, output);
  }

  protected override uint64(low: number, high: number, output: RowOutput): void {
    writeDecimal64(low, high, true, output);
  }

  override writeControl(attribute: string, value: bigint): void {
    this.output.ascii(`{"$attributes":{"${attribute}":${value}},"$value":null}\n`);
  }
}

/** The key of a column with its colon. */
export function jsonKey(name: string, encodeUtf8: boolean, isPlain: boolean): Buffer {
  const bytes = stringToBytes(name.startsWith("$") && !isPlain ? `$${name}` : name);
  const output = new RowOutput(bytes.length * 2 + 8);
  writeJsonString(bytes, viewOf(bytes), 0, bytes.length, encodeUtf8, output);
  output.byte(0x3a);
  return output.take();
}
