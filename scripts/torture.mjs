// The crash tests of the server and of queue agents, longer: run after run with seeds of its own, until the time
// is over or one fails.
// Run: npm run torture [-- --minutes=30 --kills=300 --points=300 --agent-kills=100 --seed=1]
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    kills: { type: "string", default: "300" },
    points: { type: "string", default: "300" },
    /** Of agents and their server, in each of their tests. */
    "agent-kills": { type: "string", default: "100" },
    /** Of the first run; the next has the next one. Default: random. */
    seed: { type: "string" },
  },
});
const minuteMs = 60_000;
const end = Date.now() + Number(options.minutes) * minuteMs;
let seed = options.seed === undefined ? Math.floor(Math.random() * 0x1_0000_0000) : Number(options.seed);
let runs = 0;

while (runs === 0 || Date.now() < end) {
  console.log(`torture: run ${runs + 1}, QYT_SEED=${seed}`);
  const seeds = { QYT_SEED: String(seed), QYT_TEST_SEED: String(seed) };
  const { kills, points, "agent-kills": agentKills } = options;
  runTests(["tests/crash"], { ...seeds, QYT_KILLS: kills, QYT_CRASH_POINTS: points });
  runTests(["tests/queue-agent/kills", "tests/queue-agent/export-kills"], {
    ...seeds,
    QYT_KILLS: agentKills,
  });
  ++runs;
  ++seed;
}
console.log(`torture: ${runs} runs, no promise broken`);

/** Ends the program when one fails. */
function runTests(files, env) {
  const { status, signal } = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", ...files],
    { cwd: root, stdio: "inherit", env: { ...process.env, ...env } },
  );
  if (status !== 0) {
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    console.log(
      `torture: failed (${signal ?? `exit code ${status}`}) in run ${runs + 1}. Again: ${settings.join(" ")} npx vitest run ${files.join(" ")}`,
    );
    process.exit(1);
  }
}
