/** `qyt consumer`: consumers for people: where they stand, how far behind they are. */
import { Command } from "commander";
import { type ConnectionFlags, connectionHelp, withConnectionOptions } from "../connection.ts";
import { consumerLag, describeConsumer } from "../people/describe-consumer.ts";
import { type FormatFlags, formatOption } from "../people/report.ts";
import { runReport } from "../people/run-report.ts";

export function consumerCommand(): Command {
  const command = new Command("consumer")
    .description("Consumers for people: describe, lag.")
    .helpCommand(false);
  for (const part of [describe(), lag()]) {
    command.addCommand(
      withConnectionOptions(part).showHelpAfterError(
        `(qyt consumer ${part.name()} --help shows the options)`,
      ),
    );
  }
  return command;
}

function describe(): Command {
  return new Command("describe")
    .description("Where a consumer stands in each partition of each queue that it reads.")
    .argument("<path>", "the consumer")
    .addOption(formatOption())
    .addHelpText("after", `\nExample:\n  qyt consumer describe //tmp/consumer\n${connectionHelp}`)
    .action((path: string, flags: ConnectionFlags & FormatFlags) =>
      runReport(flags, (client, clientOf) => describeConsumer(client, path, clientOf)),
    );
}

function lag(): Command {
  return new Command("lag")
    .description("How many rows a consumer has not read yet, by queue.")
    .argument("<path>", "the consumer")
    .addOption(formatOption())
    .addHelpText("after", `\nExample:\n  qyt consumer lag //tmp/consumer --format json\n${connectionHelp}`)
    .action((path: string, flags: ConnectionFlags & FormatFlags) =>
      runReport(flags, (client, clientOf) => consumerLag(client, path, clientOf)),
    );
}
