/** `qyt bench`: how fast a cluster is for you: rows in, rows out, and the time from one to the other. */
import { setMaxListeners } from "node:events";
import { durationOfText, systemClock, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { Command } from "commander";
import { type ConnectionFlags, connectionHelp, withConnectionOptions } from "../connection.ts";
import { type BenchLimits, benchConsume, benchLatency, benchProduce } from "../people/bench.ts";
import { benchReport, type Figures } from "../people/bench-report.ts";
import { type FormatFlags, formatOf, formatOption, renderReport } from "../people/report.ts";
import { withClient } from "../people/run-report.ts";

interface BenchFlags extends ConnectionFlags, FormatFlags {
  readonly rows: string;
  readonly duration: string;
  readonly batch?: string;
  readonly clients?: string;
  readonly rowBytes?: string;
  readonly rate?: string;
}

export function benchCommand(): Command {
  const command = new Command("bench")
    .description("Measure a cluster: produce, consume, latency. Writes into the queue that you name.")
    .helpCommand(false);
  for (const part of [produce(), consume(), latency()]) {
    command.addCommand(
      withConnectionOptions(part)
        .option("--rows <count>", "end after so many rows", "1000000")
        .option("--duration <time>", "end after this time", "10s")
        .addOption(formatOption())
        .showHelpAfterError(`(qyt bench ${part.name()} --help shows the options)`),
    );
  }
  return command;
}

function produce(): Command {
  return new Command("produce")
    .description("Insert rows of a text column `data` into a queue.")
    .argument("<queue>", "the queue (qyt queue create makes one with the column)")
    .option("--batch <rows>", "rows of one request", "1000")
    .option("--clients <count>", "requests at a time", "4")
    .option("--row-bytes <count>", "bytes of a row", "100")
    .option(
      "--rate <rows>",
      "rows a second; latencies then count from when a batch was due (default: no limit)",
      "0",
    )
    .addHelpText(
      "after",
      `\nExample:\n  qyt queue create //tmp/bench && qyt bench produce //tmp/bench --duration 5s\n${connectionHelp}`,
    )
    .action((queue: string, flags: BenchFlags) =>
      measure(flags, (client, limits) =>
        benchProduce(client, queue, systemClock, {
          ...limits,
          batchRows: count(flags.batch, "--batch", 1),
          clients: count(flags.clients, "--clients", 1),
          rowBytes: count(flags.rowBytes, "--row-bytes", 1),
          rate: count(flags.rate, "--rate", 0),
        }),
      ),
    );
}

function consume(): Command {
  return new Command("consume")
    .description("Read rows through a registered consumer and commit each batch.")
    .argument("<queue>", "the queue")
    .argument("<consumer>", "the consumer; its offsets advance")
    .option("--batch <rows>", "rows of one batch at most", "10000")
    .addHelpText(
      "after",
      `\nExample:\n  qyt bench consume //tmp/bench //tmp/bench-consumer\n${connectionHelp}`,
    )
    .action((queue: string, consumer: string, flags: BenchFlags) =>
      measure(flags, (client, limits) =>
        benchConsume(client, queue, consumer, systemClock, {
          ...limits,
          batchRows: count(flags.batch, "--batch", 1),
        }),
      ),
    );
}

function latency(): Command {
  return new Command("latency")
    .description("Send rows at a steady rate and measure until each is read.")
    .argument("<queue>", "the queue")
    .option("--rate <rows>", "rows a second", "1000")
    .option("--row-bytes <count>", "bytes of a row", "100")
    .addHelpText(
      "after",
      `\nExample:\n  qyt bench latency //tmp/bench --rate 1000 --duration 10s\n${connectionHelp}`,
    )
    .action((queue: string, flags: BenchFlags) =>
      measure(flags, (client, limits) =>
        benchLatency(client, queue, systemClock, {
          ...limits,
          rate: count(flags.rate, "--rate", 1),
          rowBytes: count(flags.rowBytes, "--row-bytes", 32),
        }),
      ),
    );
}

const progressPeriodMs = 200;

async function measure(
  flags: BenchFlags,
  run: (client: YtClient, limits: BenchLimits) => Promise<Figures>,
): Promise<void> {
  const format = formatOf(flags, process.stdout.isTTY === true);
  const durationMs = durationOfText(flags.duration);
  if (durationMs === undefined || durationMs <= 0) {
    throw new YtError(`--duration must be a time such as 10s or 2m, got "${flags.duration}"`);
  }
  const stop = new AbortController();
  // Each request under way listens.
  setMaxListeners(0, stop.signal);
  const onSignal = (): void => stop.abort();
  process.once("SIGINT", onSignal);
  const isShown = process.stderr.isTTY === true;
  let shownMs = 0;
  const progress = (rows: number): void => {
    const nowMs = systemClock.monotonic();
    if (isShown && nowMs - shownMs >= progressPeriodMs) {
      shownMs = nowMs;
      process.stderr.write(`\r${rows.toLocaleString("en-US")} rows… `);
    }
  };
  try {
    await withClient(flags, async (client) => {
      const limits = { rows: count(flags.rows, "--rows", 1), durationMs, signal: stop.signal, progress };
      const figures = await run(client, limits);
      process.stderr.write(isShown ? "\r" : "");
      process.stdout.write(renderReport(benchReport(figures), format));
    });
  } finally {
    process.off("SIGINT", onSignal);
  }
}

/** @throws YtError 1 when the text is no whole number from `least` on */
function count(text: string | undefined, option: string, least: number): number {
  const value = /^\d{1,12}$/.test(text ?? "") ? Number(text) : Number.NaN;
  if (!(value >= least)) {
    throw new YtError(`${option} must be a whole number from ${least} on, got "${text ?? ""}"`);
  }
  return value;
}
