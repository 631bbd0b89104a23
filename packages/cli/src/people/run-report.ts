/** Running a command that prints a report: connect, ask, print, close. */
import type { YtClient } from "@qyt/client";
import { type ConnectionFlags, connect } from "../connection.ts";
import { OtherClusters } from "./other-clusters.ts";
import type { ClientOf } from "./queue-facts.ts";
import { type FormatFlags, formatOf, type Report, renderReport } from "./report.ts";

export async function runReport(
  flags: ConnectionFlags & FormatFlags,
  make: (client: YtClient, clientOf: ClientOf) => Promise<Report>,
): Promise<void> {
  const format = formatOf(flags, process.stdout.isTTY === true);
  await withClient(flags, async (client, clientOf) => {
    process.stdout.write(renderReport(await make(client, clientOf), format));
  });
}

/** Work with a client of the cluster that the options name, and of others by name. */
export async function withClient(
  flags: ConnectionFlags,
  work: (client: YtClient, clientOf: ClientOf) => Promise<void>,
): Promise<void> {
  const client = await connect(flags, process.env);
  const others = new OtherClusters(client, flags, process.env);
  try {
    await work(client, others.clientOf);
  } finally {
    await others.close();
    await client.close();
  }
}
