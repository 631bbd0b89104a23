/**
 * What the commands for people print: tables when a person looks, YSON or JSON when a program reads. A report is a
 * document first; how it is drawn is the second thing.
 */
import { isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes, writeJson, writeYson } from "@qyt/yson";
import { Option } from "commander";

export type ReportFormat = "table" | "yson" | "json";

export interface FormatFlags {
  readonly format?: string;
}

/** The option that all reports have. */
export function formatOption(): Option {
  return new Option(
    "--format <format>",
    "table for people, yson or json for programs (default: table on a terminal, otherwise yson)",
  ).choices(["table", "yson", "json"]);
}

/** One table of a report. Cells are texts; numbers stand to the right. */
export interface ReportTable {
  readonly title?: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly (readonly string[])[];
  /** What is said when there is no row. */
  readonly empty?: string;
}

export interface ReportColumn {
  readonly title: string;
  readonly isNumber?: boolean;
}

export interface Report {
  readonly document: YsonValue;
  readonly tables: readonly (ReportTable | string)[];
}

/** @throws YtError 1 on another format */
export function formatOf(flags: FormatFlags, isTerminal: boolean): ReportFormat {
  const { format } = flags;
  if (format === undefined) {
    return isTerminal ? "table" : "yson";
  }
  if (format !== "table" && format !== "yson" && format !== "json") {
    throw new YtError(`Format "${format}" is none of table, yson, json`);
  }
  return format;
}

/** The bytes to print, with a line break at the end. */
export function renderReport(report: Report, format: ReportFormat): Buffer {
  switch (format) {
    case "yson":
      return Buffer.concat([writeYson(report.document, "pretty"), Buffer.from("\n")]);
    case "json":
      return Buffer.concat([Buffer.from(writeJson(report.document)), Buffer.from("\n")]);
    case "table":
      return stringToBytes(
        report.tables.map((part) => (typeof part === "string" ? `${part}\n` : tableText(part))).join("\n"),
      );
  }
}

function tableText(table: ReportTable): string {
  const head = table.title === undefined ? "" : `${table.title}\n`;
  if (table.rows.length === 0) {
    return `${head}${table.empty ?? "(nothing)"}\n`;
  }
  const widths = table.columns.map((column, index) =>
    Math.max(column.title.length, ...table.rows.map((row) => (row[index] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    table.columns
      .map((column, index) => {
        const cell = cells[index] ?? "";
        const width = widths[index] ?? 0;
        return column.isNumber === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const titles = line(table.columns.map((column) => column.title));
  return `${head}${[titles, ...table.rows.map(line)].join("\n")}\n`;
}

/** A number with thousands apart, as people read it; the document keeps the number. */
export function grouped(value: bigint | undefined): string {
  return value === undefined ? "?" : value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

const sizeUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

export function sizeText(bytes: bigint | undefined): string {
  if (bytes === undefined) {
    return "?";
  }
  let size = Number(bytes);
  let unit = 0;
  while (size >= 1024 && unit < sizeUnits.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${sizeUnits[unit]}`;
}

/** Milliseconds as the two largest units: `2m 5s`. */
export function durationText(milliseconds: bigint | undefined): string {
  if (milliseconds === undefined) {
    return "?";
  }
  const seconds = milliseconds / 1000n;
  if (seconds < 1n) {
    return `${milliseconds} ms`;
  }
  const parts: [bigint, string][] = [
    [seconds / 86_400n, "d"],
    [(seconds / 3_600n) % 24n, "h"],
    [(seconds / 60n) % 60n, "m"],
    [seconds % 60n, "s"],
  ];
  const from = parts.findIndex(([count]) => count > 0n);
  return parts
    .slice(from, from + 2)
    .filter(([count], index) => index === 0 || count > 0n)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}

export function fieldsOf(value: YsonValue | undefined): YsonMap {
  return isMap(value) ? value : new Map<string, YsonValue>();
}
