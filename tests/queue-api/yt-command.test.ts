/** The queue commands of the real `yt` command. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClustersForYt, hasEnvironment } from "../clients/real-yt.ts";

const queueSchema =
  '[{name=data;type=string};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';

describe.skipIf(!hasEnvironment("full"))("the yt command", { timeout: 120_000 }, () => {
  let clusters: ClustersForYt;

  /** The output of lines that must succeed, without white space around it. */
  async function yt(lines: string): Promise<string> {
    const { stdout, stderr, exit } = await clusters.bash("full", `set -e\nexport YT_PROXY=pythia\n${lines}`);
    expect(exit, stderr).toBe(0);
    return stdout.trim();
  }

  beforeAll(async () => {
    clusters = await ClustersForYt.start(["pythia", "freud"]);
    await yt(`
      yt create table //tmp/q --attributes '{dynamic=%true;schema=${queueSchema}}'
      yt mount-table //tmp/q --sync
      yt create queue_producer //tmp/p
      yt --proxy freud create queue_consumer //tmp/c
    `);
  }, 120_000);

  afterAll(() => clusters?.stop());

  it("[queue-api 128] opens a producer session", async () => {
    const session = "--producer-path //tmp/p --queue-path //tmp/q --session-id s";
    expect(await yt(`yt create-queue-producer-session ${session}`)).toBe(
      '{\n  "epoch" = 0;\n  "sequence_number" = -1;\n  "user_meta" = #;\n}',
    );
    expect(await yt(`yt create-queue-producer-session ${session} --format '<format=text>yson'`)).toBe(
      '{"epoch"=1;"sequence_number"=-1;"user_meta"=#;}',
    );
  });

  it("[queue-api 129] pushes rows, and skips them the second time", async () => {
    const push = `echo '{data=a;"$sequence_number"=1};{data=b;"$sequence_number"=3}' |
      yt push-queue-producer //tmp/p //tmp/q --session-id s --epoch 1 --input-format '<format=text>yson'`;
    expect(await yt(push)).toBe('{\n  "last_sequence_number" = 3;\n  "skipped_row_count" = 0;\n}');
    expect(await yt(`${push} --output-format '<format=text>yson'`)).toBe(
      '{"last_sequence_number"=3;"skipped_row_count"=2;}',
    );
  });

  it("[queue-api 130] removes the session without a word", async () => {
    const remove =
      "yt remove-queue-producer-session --producer-path //tmp/p --queue-path //tmp/q --session-id s";
    expect(await yt(remove)).toBe("");
  });

  it("[queue-api 125] [queue-api 126] [queue-api 127] registers, lists and unregisters across clusters", async () => {
    const list = (filters: string) =>
      yt(`yt list-queue-consumer-registrations ${filters} --format '<format=text>yson'`);
    const item = (vital: string, partitions: string) =>
      `[{"queue_path"=<"cluster"="pythia";>"//tmp/q";"consumer_path"=<"cluster"="freud";>"//tmp/c";"vital"=${vital};"partitions"=${partitions};};]`;
    const filters = [
      "",
      "--queue-path //tmp/q",
      "--consumer-path '<cluster=freud>//tmp/c'",
      "--queue-path //tmp/q --consumer-path '<cluster=freud>//tmp/c'",
    ];
    expect(await yt("yt register-queue-consumer //tmp/q '<cluster=freud>//tmp/c' --vital")).toBe("");
    for (const filter of filters) {
      expect(await list(filter)).toBe(item("%true", "#"));
    }
    await yt("yt register-queue-consumer //tmp/q '<cluster=freud>//tmp/c' --non-vital --partitions 1 5 4 3");
    for (const filter of filters) {
      expect(await list(filter)).toBe(item("%false", "[1;5;4;3;]"));
    }
    const advance = "--partition-index 0 --old-offset 0 --new-offset 1";
    await yt(`yt --proxy freud advance-queue-consumer //tmp/c '<cluster=pythia>//tmp/q' ${advance}`);
    const pull = "--offset 1 --partition-index 0 --format json";
    expect(
      await yt(`yt --proxy freud pull-queue-consumer //tmp/c '<cluster=pythia>//tmp/q' ${pull}`),
    ).toContain('"data":"b"');
    await yt("yt unregister-queue-consumer //tmp/q '<cluster=freud>//tmp/c'");
    for (const filter of filters) {
      expect(await list(filter)).toBe("[]");
    }
  });
});
