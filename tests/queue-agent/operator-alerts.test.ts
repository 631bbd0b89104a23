/** The three alerts of qyt about consumers, in the statuses of real queues, with thresholds of half a second. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentWorld, eventually, fastDynamicConfig, reference } from "./agent-fixture.ts";

const thresholds = "stuck_vital_consumer_threshold=500;lost_rows_threshold=500;stuck_offset_threshold=500;";

let world: AgentWorld;

beforeAll(async () => {
  world = await AgentWorld.start();
  await world.startAgent({
    dynamicConfig: fastDynamicConfig.replace("controller={", `controller={${thresholds}`),
  });
});
afterAll(() => world?.stop());

test("a consumer that stands still is told, with what it holds back; it is well again when it reads on", async () => {
  const [queue, consumer] = [reference("primary://tmp/held"), reference("primary://tmp/holder")];
  await world.createQueue(queue);
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true });
  await world.set(`${queue.path}/@auto_trim_config`, "{enable=%true}");
  await eventually(async () => expect([...(await world.alerts(queue)).keys()]).toEqual([]));
  await world.push(queue, ["a", "b", "c"]);
  await eventually(async () => {
    const found = await world.alerts(queue);
    expect([...found.keys()].sort()).toEqual(["qyt_consumer_offset_stuck", "qyt_vital_consumer_holds_data"]);
    const [holds] = found.get("qyt_vital_consumer_holds_data")?.innerErrors ?? [];
    expect(holds?.message).toMatch(
      /^Vital consumer primary:\/\/tmp\/holder has not moved for \d+ seconds and keeps 3 rows/,
    );
    expect(holds?.attributes.get("consumer")).toBe("primary://tmp/holder");
    expect(holds?.attributes.get("row_count")).toBe(3n);
  });
  await world.advance(consumer, queue, 0, 3n);
  await eventually(async () => expect([...(await world.alerts(queue)).keys()]).toEqual([]));
});

test("a consumer whose rows were trimmed is told, with how many", async () => {
  const [queue, consumer] = [reference("primary://tmp/trimmed"), reference("primary://tmp/loser")];
  await world.createQueue(queue);
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: false });
  await world.push(queue, ["a", "b", "c"]);
  await world.client().trimRows(queue.path, 0, 2n);
  await eventually(async () => {
    const [lost] = (await world.alerts(queue)).get("qyt_consumer_lost_rows")?.innerErrors ?? [];
    expect(lost?.message).toMatch(/^2 rows were trimmed that consumer primary:\/\/tmp\/loser had not read/);
  });
});
