/** `qyt queue`: queues for people: what they hold and who reads them, their last rows, making and setting them up. */
import { YtError } from "@qyt/base";
import { Command, Option } from "commander";
import { type ConnectionFlags, connectionHelp, withConnectionOptions } from "../connection.ts";
import { describeQueue } from "../people/describe-queue.ts";
import { createQueue, parseAttributes, setExport, setRetention } from "../people/queue-settings.ts";
import { type FormatFlags, formatOf, formatOption } from "../people/report.ts";
import { runReport, withClient } from "../people/run-report.ts";
import { tail } from "../people/tail.ts";

export function queueCommand(): Command {
  const command = new Command("queue")
    .description("Queues for people: describe, tail, create, set up.")
    .helpCommand(false);
  for (const part of [describe(), tailCommand(), create(), retention(), exporting()]) {
    command.addCommand(
      withConnectionOptions(part).showHelpAfterError(`(qyt queue ${part.name()} --help shows the options)`),
    );
  }
  return command;
}

function describe(): Command {
  return new Command("describe")
    .description("Partitions, readers with their lag, settings and alerts of a queue.")
    .argument("<path>", "the queue")
    .addOption(formatOption())
    .addHelpText("after", `\nExample:\n  qyt queue describe //tmp/queue\n${connectionHelp}`)
    .action((path: string, flags: ConnectionFlags & FormatFlags) =>
      runReport(flags, (client, clientOf) => describeQueue(client, path, clientOf)),
    );
}

interface TailFlags extends ConnectionFlags, FormatFlags {
  readonly rows: string;
  readonly follow?: boolean;
  readonly partition?: string;
}

function tailCommand(): Command {
  return new Command("tail")
    .description("The last rows of a queue; with --follow also those that come.")
    .argument("<path>", "the queue")
    .option("-n, --rows <count>", "so many rows of each partition", "10")
    .option("-f, --follow", "wait for rows, until Ctrl-C")
    .option("--partition <index>", "only this partition")
    .addOption(formatOption())
    .addHelpText("after", `\nExample:\n  qyt queue tail //tmp/queue -n 3 --follow\n${connectionHelp}`)
    .action(async (path: string, flags: TailFlags) => {
      const stop = new AbortController();
      const onSignal = (): void => stop.abort();
      process.once("SIGINT", onSignal);
      process.once("SIGTERM", onSignal);
      try {
        await withClient(flags, (client) =>
          tail(client, path, {
            rows: wholeNumber(flags.rows, "--rows"),
            follows: flags.follow === true,
            partition:
              flags.partition === undefined ? undefined : Number(wholeNumber(flags.partition, "--partition")),
            format: formatOf(flags, process.stdout.isTTY === true),
            signal: stop.signal,
            write: (chunk) =>
              new Promise((resolve) =>
                process.stdout.write(chunk) ? resolve() : process.stdout.once("drain", resolve),
              ),
          }),
        );
      } catch (thrown) {
        if (!stop.signal.aborted) {
          throw thrown;
        }
      } finally {
        process.off("SIGINT", onSignal);
        process.off("SIGTERM", onSignal);
      }
    });
}

interface CreateFlags extends ConnectionFlags {
  readonly column: readonly string[];
  readonly partitions: string;
  readonly timestamp: boolean;
  readonly cumulativeDataWeight: boolean;
  readonly ignoreExisting?: boolean;
  readonly recursive?: boolean;
  readonly attributes?: string;
}

function create(): Command {
  return new Command("create")
    .description("Create a queue, mounted, with the columns that statuses, trimming and Flow need.")
    .argument("<path>", "where")
    .addOption(
      new Option("--column <name:type>", "a column, may be repeated (default: data:string)").argParser(
        (value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value],
      ),
    )
    .option("--partitions <count>", "how many partitions", "1")
    .option("--no-timestamp", "without the column $timestamp (then no lag in time, and Flow cannot read it)")
    .option("--no-cumulative-data-weight", "without the column $cumulative_data_weight (then no weights)")
    .option("--attributes <yson>", "further attributes of the table")
    .option("-r, --recursive", "create the directories on the way")
    .option("-i, --ignore-existing", "succeed when it is there")
    .addHelpText(
      "after",
      `\nExample:\n  qyt queue create //tmp/orders --column id:int64 --column body:any --partitions 4\n${connectionHelp}`,
    )
    .action((path: string, flags: CreateFlags) =>
      withClient(flags, async (client) => {
        const id = await createQueue(client, path, {
          columns: flags.column ?? ["data:string"],
          partitions: Number(wholeNumber(flags.partitions, "--partitions")),
          hasTimestamp: flags.timestamp,
          hasWeight: flags.cumulativeDataWeight,
          ignoresExisting: flags.ignoreExisting === true,
          createsParents: flags.recursive === true,
          attributes: parseAttributes(flags.attributes),
        });
        process.stdout.write(`${id}\n`);
      }),
    );
}

interface RetentionFlags extends ConnectionFlags {
  readonly retainedRows?: string;
  readonly retainedLifetime?: string;
  readonly off?: boolean;
}

function retention(): Command {
  return new Command("set-retention")
    .description("Trim a queue automatically: up to what all vital consumers have read and all exports have.")
    .argument("<path>", "the queue")
    .option("--retained-rows <count>", "keep the last so many rows of each partition, read or not")
    .option("--retained-lifetime <duration>", "keep rows younger than this, e.g. 36h")
    .option("--off", "do not trim automatically")
    .addHelpText(
      "after",
      `\nExample:\n  qyt queue set-retention //tmp/orders --retained-lifetime 36h\n${connectionHelp}`,
    )
    .action((path: string, flags: RetentionFlags) =>
      withClient(flags, async (client) => {
        const done = await setRetention(client, path, {
          isOff: flags.off === true,
          retainedRows:
            flags.retainedRows === undefined ? undefined : wholeNumber(flags.retainedRows, "--retained-rows"),
          retainedLifetime: flags.retainedLifetime,
        });
        process.stdout.write(`${done}\n`);
      }),
    );
}

interface ExportFlags extends ConnectionFlags {
  readonly name: string;
  readonly directory?: string;
  readonly period?: string;
  readonly ttl?: string;
  readonly pattern?: string;
  readonly prepare?: boolean;
  readonly remove?: boolean;
}

function exporting(): Command {
  return new Command("set-export")
    .description("Export a queue into static tables, periodically.")
    .argument("<path>", "the queue")
    .option("--name <name>", "which export", "default")
    .option("--directory <path>", "where the tables go; each export has its own")
    .option("--period <duration>", "how often, in whole seconds, e.g. 1h")
    .option("--ttl <duration>", "how long the tables live (default: for ever)")
    .option("--pattern <text>", "pattern of the tables' names (default: %UNIX_TS-%PERIOD)")
    .option("--prepare", "create the directory and let it take exports of this queue")
    .option("--remove", "end this export; its tables stay")
    .addHelpText(
      "after",
      `\nExample:\n  qyt queue set-export //tmp/orders --directory //tmp/exports --period 1h --prepare\n${connectionHelp}`,
    )
    .action((path: string, flags: ExportFlags) => {
      const isRemoved = flags.remove === true;
      if (!isRemoved && (flags.directory === undefined || flags.period === undefined)) {
        throw new YtError(
          "An export needs --directory and --period, e.g. --directory //tmp/exports --period 1h",
        );
      }
      return withClient(flags, async (client) => {
        const done = await setExport(client, path, {
          name: flags.name,
          directory: flags.directory ?? "",
          period: flags.period ?? "",
          ttl: flags.ttl,
          pattern: flags.pattern,
          isPrepared: flags.prepare === true,
          isRemoved,
        });
        process.stdout.write(`${done}\n`);
      });
    });
}

/** @throws YtError 1 when the text is no whole number that is not negative */
function wholeNumber(text: string, option: string): bigint {
  if (!/^\d{1,18}$/.test(text)) {
    throw new YtError(`${option} must be a whole number, got "${text}"`);
  }
  return BigInt(text);
}
