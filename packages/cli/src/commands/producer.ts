/** `qyt producer`: producers for people. */
import { Command } from "commander";
import { type ConnectionFlags, connectionHelp, withConnectionOptions } from "../connection.ts";
import { describeProducer } from "../people/describe-producer.ts";
import { type FormatFlags, formatOption } from "../people/report.ts";
import { runReport } from "../people/run-report.ts";

export function producerCommand(): Command {
  const describe = new Command("describe")
    .description("Sessions of a producer: how far each has written, and which epoch holds.")
    .argument("<path>", "the producer")
    .addOption(formatOption())
    .addHelpText("after", `\nExample:\n  qyt producer describe //tmp/producer\n${connectionHelp}`)
    .action((path: string, flags: ConnectionFlags & FormatFlags) =>
      runReport(flags, (client) => describeProducer(client, path)),
    );
  return new Command("producer")
    .description("Producers for people: their sessions.")
    .helpCommand(false)
    .addCommand(
      withConnectionOptions(describe).showHelpAfterError("(qyt producer describe --help shows the options)"),
    );
}
