// The crash tests, longer: run after run with seeds of its own, until the time is over or one fails.
// Run: npm run torture [-- --minutes=30 --kills=300 --points=300 --seed=1]
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
  const { status, signal } = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "tests/crash"],
    {
      cwd: root,
      stdio: "inherit",
      env: {
        ...process.env,
        QYT_SEED: String(seed),
        QYT_TEST_SEED: String(seed),
        QYT_KILLS: options.kills,
        QYT_CRASH_POINTS: options.points,
      },
    },
  );
  if (status !== 0) {
    console.log(
      `torture: failed (${signal ?? `exit code ${status}`}) in run ${runs + 1}. Again: QYT_SEED=${seed} QYT_TEST_SEED=${seed} QYT_KILLS=${options.kills} QYT_CRASH_POINTS=${options.points} npx vitest run tests/crash`,
    );
    process.exit(1);
  }
  ++runs;
  ++seed;
}
console.log(`torture: ${runs} runs, no promise broken`);
