/**
 * Writes sensors with many series as text, in pieces: with 1,000 queues and 2,000 consumers an answer has
 * 100,000 lines, and prom-client makes all lines of a sensor in one go from an object for each.
 *
 * Specified in: Prometheus, exposition formats (text format 0.0.4).
 */
import { type Clock, turn } from "@qyt/base";
import { type Sensor, sensorPrefix } from "./sensors.ts";

/** Paths in labels are cut to so many characters. */
const maxPathCharacters = 200;
const linesPerLook = 128;
/** Milliseconds for which lines are written before others have a turn. */
const sliceMs = 3;

/** `a="x",b="y"`; pairs without a value are left out. */
export function labelText(labels: Readonly<Record<string, string | null>>): string {
  return Object.entries(labels)
    .flatMap(([name, value]) => (value === null ? [] : [`${name}="${escapeLabel(value)}"`]))
    .join(",");
}

/** A path as a label; the real system cuts it too (TrimProfilingTagValue). */
export function pathLabel(path: string): string {
  return path.length > maxPathCharacters ? [...path].slice(0, maxPathCharacters).join("") : path;
}

/** A profiling tag as a label. */
export function tagLabel(tag: string | null): string {
  return tag ?? "none";
}

/** A sample line. @param labels as `labelText` makes them; may be empty */
export function sample(name: string, labels: string, value: number | bigint): string {
  return labels === "" ? `${sensorPrefix}${name} ${value}\n` : `${sensorPrefix}${name}{${labels}} ${value}\n`;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
    : value;
}

/** Takes a piece of an answer; the next one is made when this resolves. */
export type PieceSink = (piece: Buffer) => Promise<void>;

/** Makes the text of one answer and gives it away in pieces, so that no answer is in memory as a whole. */
export class Exposition {
  readonly #clock: Clock;
  readonly #sink: PieceSink;
  #text: string[] = [];
  #sliceStartMs: number;

  constructor(clock: Clock, sink: PieceSink) {
    this.#clock = clock;
    this.#sink = sink;
    this.#sliceStartMs = clock.monotonic();
  }

  /** Text that is there already, with its line end. */
  add(text: string): void {
    this.#text.push(text);
  }

  /** A sensor with its lines, which are made as they are asked for; nothing when there are none. */
  async sensor({ name, type, help }: Sensor, lines: Iterable<string>): Promise<void> {
    let count = 0;
    for (const line of lines) {
      if (count === 0) {
        this.#text.push(`# HELP ${sensorPrefix}${name} ${help}\n# TYPE ${sensorPrefix}${name} ${type}\n`);
      }
      this.#text.push(line);
      count += 1;
      if (count % linesPerLook === 0) {
        await this.breathe();
      }
    }
    await this.breathe();
  }

  /** Gives away what is written so far and others a turn, when it is time. */
  async breathe(): Promise<void> {
    if (this.#clock.monotonic() - this.#sliceStartMs >= sliceMs) {
      await this.end();
      await turn();
      this.#sliceStartMs = this.#clock.monotonic();
    }
  }

  /** Gives away what is left. */
  async end(): Promise<void> {
    if (this.#text.length > 0) {
      const piece = Buffer.from(this.#text.join(""));
      this.#text = [];
      await this.#sink(piece);
    }
  }
}
