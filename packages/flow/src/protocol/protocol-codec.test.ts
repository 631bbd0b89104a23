import { YtError } from "@qyt/base";
import { parseYson, writeYson } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { flowTimestamp, infiniteTimestamp } from "../model/timestamps.ts";
import { textCell } from "../tables/cells.ts";
import {
  heartbeatAnswerFromYson,
  heartbeatAnswerToYson,
  heartbeatFromYson,
  heartbeatToYson,
} from "./heartbeat-codec.ts";
import { HttpNetwork, listenForCalls } from "./http-network.ts";
import type { Heartbeat, HeartbeatAnswer, PushMessages } from "./protocol.ts";
import { pushesFromYson, pushesToYson } from "./push-codec.ts";

const traverse = {
  epoch: 3n,
  state: "active",
  systemWatermark: flowTimestamp(100),
  eventWatermark: infiniteTimestamp,
} as const;

const heartbeat: Heartbeat = {
  workerAddress: "a:1",
  incarnation: "i",
  sequenceNumber: 5n,
  workerGroups: ["g"],
  knownSpecVersion: 1n,
  knownDynamicSpecVersion: 2n,
  knownLayoutVersion: 3n,
  jobs: [
    {
      jobId: "j",
      partitionId: "p",
      isFinished: true,
      error: new YtError("broken", { code: 3304 }),
      epoch: 7n,
      streams: new Map([
        [
          "s",
          {
            ...traverse,
            inflight: {
              count: 1,
              byteSize: 2,
              idleDuration: 1.5,
              lastIdleTimestamp: flowTimestamp(9),
              unavailableInstant: undefined,
            },
          },
        ],
      ]),
      retryableErrors: [],
      metrics: { cpu: 0.5, messagesPerSecond: 2, bytesPerSecond: 3, epochsPerSecond: 4 },
    },
  ],
};

const answer: HeartbeatAnswer = {
  leaderIncarnation: "l",
  pipelineState: "draining",
  spec: { version: 1n, value: "spec" },
  dynamicSpec: undefined,
  layout: {
    version: 4n,
    partitions: [
      {
        partitionId: "p",
        computationId: "c",
        range: { lower: 0n, upper: 1n << 63n },
        sourceKey: undefined,
        state: "executing",
        currentJobId: "j",
        workerAddress: "a:1",
      },
      {
        partitionId: "q",
        computationId: "r",
        range: undefined,
        sourceKey: [textCell("q"), textCell("i"), 2n],
        state: "completing",
        currentJobId: undefined,
        workerAddress: undefined,
      },
    ],
  },
  jobs: [{ jobId: "j", partitionId: "p", finishAfterCurrentEpoch: true }],
  watermarks: {
    currentTimestamp: flowTimestamp(1_000),
    streams: new Map([["s", { systemWatermark: flowTimestamp(1), eventWatermark: flowTimestamp(2) }]]),
    alignmentGroups: new Map([["g", flowTimestamp(3)]]),
  },
  inputTraverse: new Map([["s", traverse]]),
  blockedStreams: new Map([["p", ["out"]]]),
};

const push: PushMessages = {
  fromPartitionId: "p",
  fromJobId: "j",
  toPartitionId: "q",
  toJobId: "k",
  acknowledgedOffset: 3,
  messages: [
    {
      messageId: "id" as PushMessages["messages"][number]["messageId"],
      streamId: "s",
      systemTimestamp: flowTimestamp(1_700_000_000),
      eventTimestamp: flowTimestamp(2),
      alignmentTimestamp: flowTimestamp(3),
      payload: [null, -5n, (1n << 64n) - 1n, 1.5, true, false, Buffer.from([0, 255, 128])],
    },
  ],
};

describe("what goes between processes", () => {
  it("is the same on the other side", () => {
    const over = (value: Parameters<typeof writeYson>[0]) => parseYson(writeYson(value, "binary"));
    expect(heartbeatFromYson(over(heartbeatToYson(heartbeat)))).toEqual(heartbeat);
    expect(heartbeatAnswerFromYson(over(heartbeatAnswerToYson(answer)))).toEqual(answer);
    expect(pushesFromYson(over(pushesToYson([push])))).toEqual([push]);
  });

  it("goes over HTTP, errors too", async () => {
    const endpoint = await listenForCalls(
      async (method, body) => {
        if (method === "fail") {
          throw new YtError("no", { code: 3304 });
        }
        return [method, body];
      },
      "127.0.0.1",
      0,
    );
    const network = new HttpNetwork();
    await expect(network.call(endpoint.address, "echo", "x")).resolves.toEqual(["echo", "x"]);
    await expect(network.call(endpoint.address, "fail", "x")).rejects.toMatchObject({ code: 3304 });
    await endpoint.close();
    await expect(network.call(endpoint.address, "echo", "x")).rejects.toMatchObject({ code: 100 });
    network.close();
  });
});
