// The one table that a run prints, and the same as JSON.
import { writeFileSync } from "node:fs";

export class Report {
  #machine;
  #lines = [];
  /** What else there is to say of the figures to come. */
  conditionsOf = () => [];

  constructor(machine) {
    this.#machine = machine;
  }

  /**
   * @param line `{id, what, figure, floor?, pass?, conditions?, values?}`: texts for people; `pass` undefined
   *   for a figure without a floor; `values` are the numbers, for the JSON file
   */
  add(line) {
    const conditions = [line.conditions, ...this.conditionsOf()]
      .filter((text) => text !== undefined)
      .join("; ");
    this.#lines.push({ ...line, ...(conditions === "" ? {} : { conditions }) });
    console.error(`  ${line.what}: ${line.figure}${line.pass === false ? `  (floor ${line.floor})` : ""}`);
  }

  get missed() {
    return this.#lines.filter((line) => line.pass === false);
  }

  print() {
    const { cpu, memoryGb, kernel, node, fileSystem, loadAverage, isVirtual } = this.#machine;
    console.log("");
    console.log(
      `Machine: ${cpu}${isVirtual ? " (virtual)" : ""}, ${memoryGb} GB, Linux ${kernel}, Node ${node}, data on ${fileSystem}; load average at the start ${loadAverage.toFixed(2)}.`,
    );
    console.log(
      "Server and load generator are two processes on this machine. Rows are 100 bytes of YSON text, each different; every answer came after its flush.",
    );
    console.log("");
    const rows = this.#lines.map(({ what, figure, floor, pass, conditions }) => [
      what,
      figure,
      floor ?? "",
      pass === undefined ? "" : pass ? "pass" : "MISS",
      conditions ?? "",
    ]);
    printTable([["what", "figure", "floor", "", "conditions"], ...rows]);
  }

  write(path) {
    writeFileSync(path, `${JSON.stringify({ machine: this.#machine, lines: this.#lines }, undefined, 2)}\n`);
  }
}

function printTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => [...row[column]].length)));
  const format = (row) =>
    `| ${row.map((cell, column) => cell + " ".repeat(widths[column] - [...cell].length)).join(" | ")} |`;
  console.log(format(rows[0]));
  console.log(`| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`);
  for (const row of rows.slice(1)) {
    console.log(format(row));
  }
}

export const rate = (value) => Math.round(value).toLocaleString("en-US");
export const ms = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;
export const spread = ({ p50, p99, max }) => `p50 ${ms(p50)} · p99 ${ms(p99)} · max ${ms(max)}`;
