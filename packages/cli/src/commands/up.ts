/** `qyt up`: starts clusters and keeps them running until it is told to stop. */
import { systemClock } from "@qyt/base";
import { createClient } from "@qyt/client";
import { startCluster } from "@qyt/server";
import { Command } from "commander";
import { runUntilStopped } from "../process.ts";
import { aliasVariable, parseAliases } from "../up/aliases.ts";
import { logLevels, readConfig } from "../up/config.ts";
import { defaults, planUp, type UpOptions } from "../up/plan.ts";
import { runUp } from "../up/run.ts";
import type { Connection } from "../up/secret-files.ts";
import { version } from "../version.ts";

interface UpFlags extends UpOptions {
  readonly config?: string;
}

const help = `
Examples:
  qyt up
      one cluster, "${defaults.clusterName}", at http://${defaults.host}:${defaults.firstPort}, its data in ./${defaults.dataDirectory}/${defaults.clusterName}
  qyt up --cluster pythia --cluster freud
      two clusters that know each other, at ports 8000 and 8001
  qyt up --cluster pythia=127.0.0.1:8001 --data-dir /var/lib/qyt
  qyt up --config qyt.yson

A configuration file is YSON or JSON; the command line wins over it. All keys may be left out:
  {
    data_directory = "/var/lib/qyt";          # relative paths start at the file
    log_level = info;
    clusters = {
      pythia = { address = "127.0.0.1:8001"; data_directory = "/disks/1/pythia" };
      freud = {};
    };
    peers = { hume = { proxy = "http://127.0.0.1:9000" } };   # clusters of other processes
    authentication = %true;                   # as --auth
    tls = { cert = "cert.pem"; key = "key.pem"; ca = "ca.pem" };
    registrations_cluster = pythia;           # who keeps the registrations of consumers
    queue_agent = %false;                     # as --no-queue-agent
  }
(without the comments: YSON has none)

Clusters that ${aliasVariable} names are peers too.

A queue agent runs beside the clusters; it keeps its state where the registrations are. "qyt queue-agent"
runs more of them, here or elsewhere.

Without --auth every request is root's, and clusters listen on loopback addresses only.
SIGHUP reads certificates and tokens again. docs/security.md has the rest.

SIGTERM and Ctrl-C finish what is under way, for at most 10 s; a second Ctrl-C ends at once.`;

export function upCommand(): Command {
  return new Command("up")
    .description("Start one or more clusters in this process.")
    .option(
      "--data-dir <dir>",
      `folder for the data, one folder in it for each cluster (default: ./${defaults.dataDirectory})`,
    )
    .option(
      "--cluster <name[=host:port]>",
      `a cluster to start; may be repeated (default: ${defaults.clusterName}; ports ${defaults.firstPort}, ${defaults.firstPort + 1}, … on ${defaults.host}; port 0: any free one)`,
      (text: string, previous: readonly string[] = []) => [...previous, text],
    )
    .option("--config <file>", "configuration file, YSON or JSON")
    .option(
      "--log-level <level>",
      `${logLevels.join(", ")} (default: ${defaults.logLevel}); logs are JSON lines on stderr`,
    )
    .option("--no-queue-agent", "no statuses, automatic trimming and exports of queues")
    .option(
      "--auth",
      "users must prove who they are, by a token or a password; the first token of root is printed",
    )
    .option("--tls-cert <file>", "serve https with this certificate (PEM, with its chain)")
    .option("--tls-key <file>", "the key of the certificate (PEM)")
    .option(
      "--tls-ca <file>",
      "the authority that signs the certificates of these clusters and their peers (default: those that Node trusts)",
    )
    .addHelpText("after", help)
    .action(up);
}

async function up(flags: UpFlags): Promise<void> {
  const config = flags.config === undefined ? {} : await readConfig(flags.config);
  const plan = planUp(flags, config, process.cwd(), parseAliases(process.env[aliasVariable]));
  await runUntilStopped(plan.logLevel, (logger, stop) =>
    runUp(
      plan,
      {
        start: startCluster,
        startAgent: async (options) => (await import("../up/queue-agent.ts")).startAgent(options),
        probe,
        onReload: (reload) => process.on("SIGHUP", reload),
        print: (line) => {
          process.stdout.write(`${line}\n`);
        },
        logger,
        clock: systemClock,
        version,
      },
      stop,
    ),
  );
}

async function probe(url: string, connection: Connection): Promise<void> {
  const client = createClient({ proxy: url, ...connection });
  try {
    await client.exists("//sys");
  } finally {
    await client.close();
  }
}
