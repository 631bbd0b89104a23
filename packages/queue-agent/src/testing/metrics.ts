/** Reads the text of an answer, for tests. */
import { systemClock } from "@qyt/base";
import { Exposition, type PieceSink } from "../metrics/exposition.ts";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by name. @throws Error for a line that Prometheus would not take */
export function parseMetrics(text: string): ReadonlyMap<string, readonly Sample[]> {
  const result = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) {
      continue;
    }
    const match = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/.exec(line)?.groups;
    const name = match?.["name"];
    if (name === undefined) {
      throw new Error(`Not a sample: ${line}`);
    }
    const value = Number(match?.["value"]);
    const samples = result.get(name) ?? [];
    samples.push({ labels: parseLabels(match?.["labels"] ?? ""), value });
    result.set(name, samples);
  }
  return result;
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const labels = [...text.matchAll(/(?<name>[a-zA-Z_]\w*)="(?<value>(?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(
    labels.map(({ groups }) => [
      groups?.["name"] ?? "",
      (groups?.["value"] ?? "").replace(/\\(.)/g, (_, character: string) =>
        character === "n" ? "\n" : character,
      ),
    ]),
  );
}

/** All pieces together. */
export async function textOf(write: (sink: PieceSink) => Promise<void>): Promise<string> {
  const pieces: Buffer[] = [];
  await write(async (piece) => {
    pieces.push(piece);
  });
  return Buffer.concat(pieces).toString("utf8");
}

/** What a part of the metrics writes. */
export async function samplesOf(
  write: (exposition: Exposition) => Promise<void>,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const text = await textOf(async (sink) => {
    const exposition = new Exposition(systemClock, sink);
    await write(exposition);
    await exposition.end();
  });
  return parseMetrics(text);
}
