/** Which objects are led and which followed. */
import { expect, test } from "vitest";
import { parseReference } from "../objects/reference.ts";
import type { ConsumerRow, DynamicState, QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import { consumerRow, queueRow } from "../testing/snapshots.ts";
import { selectObjects } from "./object-selection.ts";

function queue(reference: string, objectType = "table"): [string, QueueRow] {
  return [reference, { ...queueRow({ reference: parseReference(reference) }), objectType }];
}

function consumer(reference: string): [string, ConsumerRow] {
  return [reference, consumerRow(parseReference(reference))];
}

function registration(queueName: string, consumerName: string): RegistrationRow {
  return {
    queue: parseReference(queueName),
    consumer: parseReference(consumerName),
    consumerName: null,
    vital: true,
    partitions: null,
  };
}

const state: DynamicState = {
  queues: new Map([queue("a://mine"), queue("a://theirs"), queue("a://replicated", "replicated_table")]),
  consumers: new Map([consumer("b://mine"), consumer("b://theirs"), consumer("b://nobodys")]),
  registrations: [
    registration("a://mine", "b://theirs"),
    registration("a://theirs", "b://mine"),
    registration("a://theirs", "b://theirs"),
    registration("a://mine", "b://unknown"),
  ],
  mapping: new Map([
    ["a://mine", "me"],
    ["a://theirs", "them"],
    ["a://replicated", "me"],
    ["b://mine", "me"],
    ["b://theirs", "them"],
    ["a://gone", "me"],
  ]),
};

test("leads what is mapped to it and has a row, follows the other end of its registrations", () => {
  const { queues, consumers } = selectObjects(state, "me", { handleReplicatedObjects: false });
  expect(Object.fromEntries(queues)).toEqual({ "a://mine": true, "a://theirs": false });
  expect(Object.fromEntries(consumers)).toEqual({ "b://mine": true, "b://theirs": false });
});

test("leads replicated objects only when told so", () => {
  const { queues } = selectObjects(state, "me", { handleReplicatedObjects: true });
  expect(queues.get("a://replicated")).toBe(true);
});

test("every object sees all of its registrations, also those with objects of others", () => {
  const { registrationsByQueue, registrationsByConsumer } = selectObjects(state, "me", {
    handleReplicatedObjects: false,
  });
  expect(registrationsByQueue.get("a://mine")).toHaveLength(2);
  expect(registrationsByConsumer.get("b://theirs")).toHaveLength(2);
});
