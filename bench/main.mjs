// The benchmarks of the server, in one table. Run: npm run bench [-- options] [name…]
//
//   names           insert-1000 insert-100 insert-1 push pull consume latency sessions waiting registrations
//                   listing agent memory scan restart removal interleaved transcoding tables-insert tables-lookup
//                   tables-select tables-scan tables-attributes tables-tree; a beginning stands for all that begin so ("insert"). Default: all
//   --only=name     the same as a name
//   --seconds=5     how long each rate is measured
//   --warm=2        seconds before that
//   --rows=10000000 rows of the big queue
//   --dir=PATH      a directory on a real disk. Default: the one for temporary files
//   --json=FILE     the table as JSON too
//   --node=ARGS     arguments for the server's node, as --node=--cpu-prof
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { largeBenchmarks } from "./large.mjs";
import { Load } from "./load.mjs";
import {
  describeMachine,
  diskDirectory,
  measureBareStore,
  measureFlush,
  measureJsonParse,
  processorTimes,
  shareOfOthers,
} from "./machine.mjs";
import { queueAgentBenchmarks } from "./queue-agent.mjs";
import { queueBenchmarks } from "./queues.mjs";
import { ms, Report, rate, spread } from "./report.mjs";
import { Server } from "./server.mjs";
import { tableBenchmarks } from "./tables.mjs";
import { throughputBenchmarks } from "./throughput.mjs";
import { transcodingBenchmarks } from "./transcoding-rows.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "5" },
    warm: { type: "string", default: "2" },
    rows: { type: "string", default: "10000000" },
    gigabytes: { type: "string", default: "2" },
    dir: { type: "string" },
    json: { type: "string" },
    node: { type: "string" },
    only: { type: "string", multiple: true, default: [] },
  },
});

const names = [...positionals, ...options.only];

const withServer = {
  ...throughputBenchmarks,
  ...queueBenchmarks,
  ...queueAgentBenchmarks,
  ...largeBenchmarks,
  ...tableBenchmarks,
};
const all = { ...transcodingBenchmarks, ...withServer };
const chosen = Object.keys(all).filter(
  (name) => names.length === 0 || names.some((beginning) => name.startsWith(beginning)),
);
if (chosen.length === 0) {
  console.error(`No benchmark "${names.join(" ")}". There are: ${Object.keys(all).join(", ")}`);
  process.exit(1);
}

const directory = diskDirectory(options.dir);
const report = new Report(describeMachine(directory));
const bench = {
  report,
  seconds: Number(options.seconds),
  warmSeconds: Number(options.warm),
  bigRows: Number(options.rows),
  interleavedBytes: Number(options.gigabytes) * 1e9,
  removalSeconds: 10,
  isFilled: false,
};

async function measureMachine() {
  console.error("machine");
  const flush = await measureFlush(directory);
  report.add({ id: "machine", what: "fdatasync after 8 KB", figure: spread(flush), values: flush });
  const parse = measureJsonParse();
  report.add({
    id: "machine",
    what: "JSON.parse of the rows",
    figure: `${rate(parse.megabytesPerSecond)} MB/s, ${rate(parse.rowsPerSecond)} rows/s`,
    conditions: "one thread",
    values: parse,
  });
  const store = await measureBareStore(directory);
  report.add({
    id: "machine",
    what: "LMDB alone",
    figure: `one record p50 ${ms(store.oneCommit.p50)}; bulk ${rate(store.megabytesPerSecond)} MB/s`,
    conditions: "flushed commits; bulk: 0.8 MB a commit in values of 8 KB",
    values: store,
  });
}

/** Runs a benchmark, and says when other programs took a part of the machine from it. */
async function run(name, benchmark) {
  console.error(name);
  const before = processorTimes(ownProcesses());
  report.conditionsOf = () => {
    const share = shareOfOthers(before, processorTimes(ownProcesses()));
    return share < 0.05 ? [] : [`other programs took ${(share * 100).toFixed(0)} % of the processors`];
  };
  try {
    await benchmark(bench);
  } catch (error) {
    console.error(error);
    report.add({
      id: name,
      what: name,
      figure: `failed: ${error.message.split("\n")[0]}`,
      floor: "",
      pass: false,
    });
  }
}

function ownProcesses() {
  return [process.pid, bench.server?.pid, bench.load?.pid].filter((pid) => pid !== undefined);
}

try {
  await measureMachine();
  for (const name of chosen.filter((each) => each in transcodingBenchmarks)) {
    await run(name, transcodingBenchmarks[name]);
  }
  const served = chosen.filter((name) => name in withServer);
  if (served.length > 0) {
    bench.load = new Load();
    bench.server = new Server({
      directory: join(directory, "data"),
      nodeArgs: options.node?.split(" ").filter(Boolean) ?? [],
    });
    await bench.server.start();
    for (const name of served) {
      await run(name, withServer[name]);
    }
    bench.load.close();
    await bench.server.stop();
  }
  report.print();
  if (options.json !== undefined) {
    report.write(options.json);
  }
  if (report.missed.length > 0) {
    console.log(`\nBelow the floor: ${report.missed.map(({ what }) => what).join("; ")}`);
  }
} finally {
  await bench.server?.stop("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
}
