/** Batching, as properties over any order of rows and waits. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batches } from "./batches.ts";
import { Room } from "./room.ts";

const limits = { maxRows: 5, maxBytes: 100, maxDelayMs: 50 };

/** A row of so many bytes comes, or so many milliseconds pass, or the batch that is ready is taken. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("row" as const), bytes: fc.integer({ min: 1, max: 150 }) }),
    fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant("take" as const), isFlushing: fc.boolean() }),
  ),
  { maxLength: 60 },
);

describe("batches", () => {
  it("have each row once, in order, and keep to the limits", () => {
    fc.assert(
      fc.property(steps, (run) => {
        const batches = new Batches(limits);
        const sizes: number[] = [];
        const sent: { first: bigint; last: bigint; rows: number; bytes: number }[] = [];
        let nowMs = 0;
        const take = (isFlushing: boolean): boolean => {
          const batch = batches.take(nowMs, isFlushing);
          if (batch !== undefined) {
            const { firstNumber: first, lastNumber: last, rowCount: rows, writer } = batch;
            sent.push({ first, last, rows, bytes: writer.length });
          }
          return batch !== undefined;
        };
        for (const step of run) {
          if (step.kind === "row") {
            const { bytes } = step;
            const added = batches.add(BigInt(sizes.length), nowMs, (writer) => {
              writer.writeBytes(Buffer.alloc(bytes));
            });
            expect(added).toBe(bytes);
            sizes.push(bytes);
          } else if (step.kind === "pass") {
            nowMs += step.ms;
          } else {
            take(step.isFlushing);
          }
        }
        while (take(true)) {
          // All that is left.
        }
        expect(batches.isEmpty).toBe(true);
        let next = 0n;
        for (const { first, last, rows, bytes } of sent) {
          expect(first).toBe(next);
          expect(last).toBe(first + BigInt(rows) - 1n);
          next = last + 1n;
          const own = sizes.slice(Number(first), Number(next));
          expect(bytes).toBe(own.reduce((sum, size) => sum + size, 0));
          expect(rows).toBeLessThanOrEqual(limits.maxRows);
          expect(rows === 1 || bytes <= limits.maxBytes).toBe(true);
        }
        expect(next).toBe(BigInt(sizes.length));
      }),
    );
  });

  it("are due when their first row is as old as it may be, and not before", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 120 }), (waitMs) => {
        const batches = new Batches(limits);
        batches.add(0n, 1_000, (writer) => writer.writeByte(1));
        expect(batches.dueMs).toBe(1_050);
        expect(batches.take(1_000 + waitMs, false) !== undefined).toBe(waitMs >= limits.maxDelayMs);
      }),
    );
  });

  it("are as they were when a row cannot be encoded", () => {
    const batches = new Batches(limits);
    batches.add(0n, 0, (writer) => writer.writeByte(1));
    const failing = (): number =>
      batches.add(1n, 0, (writer) => {
        writer.writeByte(2);
        throw new Error("does not fit");
      });
    expect(failing).toThrow("does not fit");
    expect(batches.take(0, true)).toMatchObject({ rowCount: 1, writer: { length: 1 } });
  });
});

describe("room", () => {
  it("lets in those who wait one after the other, in order, and nobody past them", async () => {
    const room = new Room(10);
    room.take(10);
    const order: string[] = [];
    const enter = async (name: string): Promise<void> => {
      if (room.isFull) {
        await room.wait();
        order.push(name);
        room.take(10);
        room.passed();
      } else {
        order.push(name);
        room.take(10);
      }
    };
    const first = enter("first");
    const second = enter("second");
    room.give(10);
    const third = enter("third");
    await first;
    expect(order).toEqual(["first"]);
    room.give(10);
    await second;
    room.give(10);
    await third;
    expect(order).toEqual(["first", "second", "third"]);
  });
});
