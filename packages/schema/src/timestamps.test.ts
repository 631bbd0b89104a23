import { expect, test } from "vitest";
import {
  isOrdinaryTimestamp,
  maxTimestamp,
  minTimestamp,
  nullTimestamp,
  syncLastCommittedTimestamp,
  timestampCounter,
  timestampFromMs,
  timestampFromSeconds,
  timestampSeconds,
  timestampToIso,
} from "./timestamps.ts";

test("[tables 19] the seconds and the counter of a timestamp", () => {
  expect(timestampSeconds(1865777451725072279n)).toBe(1737640660);
  expect(timestampCounter(1865777451725072279n)).toBe(108439);
  expect(timestampToIso(1865777451725072279n)).toBe("2025-01-23T13:57:40.000000Z");
  expect(timestampSeconds(1865777698685609732n)).toBe(1737640890);
  expect(timestampCounter(1865777698685609732n)).toBe(26372);
});

test("a second begins with the counter at zero", () => {
  const first = timestampFromSeconds(1737640660);
  expect(timestampCounter(first)).toBe(0);
  expect(timestampSeconds(first)).toBe(1737640660);
  expect(timestampSeconds(first - 1n)).toBe(1737640659);
  expect(timestampFromMs(1737640660999)).toBe(first);
});

test("sentinels are no moments", () => {
  expect(isOrdinaryTimestamp(nullTimestamp)).toBe(false);
  expect(isOrdinaryTimestamp(minTimestamp)).toBe(true);
  expect(isOrdinaryTimestamp(maxTimestamp)).toBe(true);
  expect(isOrdinaryTimestamp(syncLastCommittedTimestamp)).toBe(false);
});
