import { describe, expect, it } from "vitest";
import type { EpochTime } from "../connectors/connector.ts";
import type { UniqueSeqNo } from "./message.ts";
import { messageId } from "./message-ids.ts";
import { DeterministicMetaSetter, MergingMetaSetter, type Parent, UniqueMetaSetter } from "./meta-setters.ts";
import { flowTimestamp, timestampOfSeqNo, undefinedTimestamp } from "./timestamps.ts";

const seqNo = 1865777451725072279n as UniqueSeqNo;
const time: EpochTime = { seqNo, now: timestampOfSeqNo(seqNo) };
const dependency = new Map([
  ["a", new Set(["in", "in2"])],
  ["b", new Set(["in"])],
  ["timer", new Set(["in"])],
]);

function parent(id: string, streamId = "in", eventTimestamp = 100): Parent {
  return {
    messageId: messageId(id),
    streamId,
    systemTimestamp: flowTimestamp(1_000),
    eventTimestamp: flowTimestamp(eventTimestamp),
    alignmentTimestamp: flowTimestamp(900),
  };
}

describe("ids and times of outputs", () => {
  it("[flow 16] a transform numbers messages of all streams and timers of an epoch together", () => {
    const setter = new UniqueMetaSetter(dependency);
    setter.begin(time);
    const ids = ["a", "b", "a", "timer"].map(
      (stream) => setter.fill(stream, undefinedTimestamp, [parent("p")]).messageId,
    );
    expect(ids).toEqual([
      "19e492b50001a797-a:00",
      "19e492b50001a797-b:01",
      "19e492b50001a797-a:02",
      "19e492b50001a797-timer:03",
    ]);
  });

  it("a transform's output happens at the earliest event among its parents, now for the system", () => {
    const setter = new UniqueMetaSetter(dependency);
    setter.begin(time);
    const parents = [parent("p", "in", 300), parent("q", "in2", 200), parent("r", "other", 100)];
    expect(setter.fill("a", undefinedTimestamp, parents)).toMatchObject({
      systemTimestamp: time.now,
      alignmentTimestamp: time.now,
      eventTimestamp: 200,
    });
    expect(setter.fill("a", flowTimestamp(50), parents).eventTimestamp).toBe(50);
  });

  it("a swift map's outputs count per parent and stream, with the parent's times", () => {
    const setter = new DeterministicMetaSetter(dependency);
    setter.begin();
    const ids = ["a", "a", "b"].map((stream) => setter.fill(stream, undefinedTimestamp, [parent("P")]));
    expect(ids.map((meta) => meta.messageId)).toEqual(["P-a:00", "P-a:01", "P-b:00"]);
    expect(ids[0]).toMatchObject({ systemTimestamp: 1_000, eventTimestamp: 100, alignmentTimestamp: 900 });
    expect(() => setter.fill("a", undefinedTimestamp, [parent("P"), parent("Q")])).toThrow(
      /has 2 parents, but exactly one is possible/,
    );
  });

  it("relaxed batching inherits from one parent and makes new ids for several", () => {
    const setter = new MergingMetaSetter(dependency);
    setter.begin(time);
    expect(setter.fill("a", undefinedTimestamp, [parent("P")]).messageId).toBe("P-a:00");
    const merged = setter.fill("a", undefinedTimestamp, [parent("P"), parent("Q", "in", 40)]);
    expect(merged).toMatchObject({
      messageId: "19e492b50001a797-a:00",
      systemTimestamp: 1_000,
      eventTimestamp: 40,
      alignmentTimestamp: 900,
    });
  });

  it("a parent outside the streams dependency is refused", () => {
    const setter = new UniqueMetaSetter(dependency);
    setter.begin(time);
    expect(() => setter.fill("b", undefinedTimestamp, [parent("p", "in2")])).toThrow(
      'Message of stream "b" violated streams dependency by depending on "in2"',
    );
    expect(() => setter.fill("b", undefinedTimestamp, [])).toThrow(/Message has no valid parents/);
  });
});
