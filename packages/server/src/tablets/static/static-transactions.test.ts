import { testRandom } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Keyspace, keyspace, prefixRange, storeKey } from "../../cell/index.ts";
import type { RequestContext } from "../../cypress/index.ts";
import { failure, root, StaticFixture } from "./static-fixture.ts";

let fixture: StaticFixture;

beforeEach(async () => {
  fixture = await StaticFixture.open();
});
afterEach(() => fixture.close());

async function records(kind: Keyspace): Promise<number> {
  await fixture.tables.environment.chunks.settled();
  await fixture.clock.advance(10_000);
  const { from, to } = prefixRange(storeKey(kind));
  return [...fixture.store.range(from, to)].length;
}

async function begin(parent?: RequestContext): Promise<RequestContext & { transactionId: string }> {
  const transactionId = await fixture.cypress.startTransaction(parent ?? root, { timeoutMs: 3_600_000 });
  return { user: "root", transactionId };
}

const commit = (context: { transactionId: string }): Promise<void> =>
  fixture.cypress.commitTransaction(root, context.transactionId);
const abort = (context: { transactionId: string }): Promise<void> =>
  fixture.cypress.abortTransaction(root, context.transactionId);

describe("transactions", () => {
  beforeEach(async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1}");
  });

  test("an overwrite shows outside only after the commit, and not after an abort", async () => {
    const first = await begin();
    await fixture.write("//tmp/t", "{a=2}", first);
    expect(await fixture.column("//tmp/t")).toBe("1");
    expect(await fixture.column("//tmp/t", first)).toBe("2");
    await abort(first);
    expect(await fixture.column("//tmp/t")).toBe("1");
    const second = await begin();
    await fixture.write("//tmp/t", "{a=3}", second);
    await fixture.write("<append=%true>//tmp/t", "{a=4}", second);
    await commit(second);
    expect(await fixture.column("//tmp/t")).toBe("3,4");
    expect(await records(keyspace.rowBlocks)).toBe(2);
  });

  test("several transactions append at a time; each sees its own rows", async () => {
    const [one, two] = [await begin(), await begin()];
    await fixture.write("<append=%true>//tmp/t", "{a=2}", one);
    await fixture.write("<append=%true>//tmp/t", "{a=3}", two);
    await fixture.write("<append=%true>//tmp/t", "{a=4}", one);
    await fixture.write("<append=%true>//tmp/t", "{a=5}");
    expect(await fixture.column("//tmp/t")).toBe("1,5");
    expect(await fixture.column("//tmp/t", one)).toBe("1,2,4");
    expect((await failure(fixture.write("//tmp/t", "{a=9}", two))).code).toBe(402);
    expect((await failure(fixture.write("//tmp/t", "{a=9}"))).code).toBe(402);
    await commit(two);
    await commit(one);
    expect(await fixture.column("//tmp/t")).toBe("1,5,3,2,4");
    expect(await fixture.get("//tmp/t/@row_count")).toBe(5n);
  });

  test("nested transactions, as the Python client writes", async () => {
    const outer = await begin();
    await fixture.create("//tmp/new", "{}", outer);
    for (const [path, rows] of [
      ["//tmp/new", "{a=1}"],
      ["<append=%true>//tmp/new", "{a=2}"],
      ["<append=%true>//tmp/t", "{a=7}"],
    ] as const) {
      const inner = await begin(outer);
      await fixture.write(path, rows, inner);
      await commit(inner);
    }
    expect(await fixture.column("//tmp/new", outer)).toBe("1,2");
    expect(await fixture.column("//tmp/t")).toBe("1");
    fixture = await fixture.reopen();
    await commit(outer);
    expect(await fixture.column("//tmp/new")).toBe("1,2");
    expect(await fixture.column("//tmp/t")).toBe("1,7");
    await fixture.cypress.remove(root, { path: "//tmp/new" });
    expect(await records(keyspace.rowBlocks)).toBe(2);
  });

  test("an aborted inner transaction takes nothing of the outer one along", async () => {
    const outer = await begin();
    await fixture.write("//tmp/t", "{a=2}", outer);
    const inner = await begin(outer);
    await fixture.cypress.set(inner, { path: "//tmp/t/@compression_codec", value: "zstd_3" });
    await abort(inner);
    expect(await fixture.column("//tmp/t", outer)).toBe("2");
    const other = await begin(outer);
    await fixture.write("//tmp/t", "{a=3}", other);
    await commit(other);
    expect(await fixture.column("//tmp/t")).toBe("1");
    await abort(outer);
    expect(await fixture.column("//tmp/t")).toBe("1");
    expect(await records(keyspace.rowBlocks)).toBe(1);
  });
});

describe("snapshot locks", () => {
  const snapshot = async (
    path: string,
  ): Promise<{ context: RequestContext & { transactionId: string }; id: string }> => {
    const context = await begin();
    const { nodeId } = await fixture.cypress.lock(context, { path, mode: "snapshot" });
    return { context, id: nodeId };
  };

  test("the frozen version survives an append, an overwrite, a restart and the table itself", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1};{a=2}");
    const { context, id } = await snapshot("//tmp/t");
    await fixture.write("<append=%true>//tmp/t", "{a=3}");
    expect(await fixture.column("//tmp/t")).toBe("1,2,3");
    expect(await fixture.column(`#${id}`, context)).toBe("1,2");
    await fixture.write("//tmp/t", "{a=4}");
    expect(await fixture.column(`#${id}`, context)).toBe("1,2");
    fixture = await fixture.reopen();
    await fixture.cypress.remove(root, { path: "//tmp/t" });
    expect(await fixture.column(`#${id}`, context)).toBe("1,2");
    expect(await fixture.get(`#${id}/@row_count`, context)).toBe(2n);
    await abort(context);
    expect(await records(keyspace.rowBlocks)).toBe(0);
    expect(await records(keyspace.tablets)).toBe(0);
  });

  test("a snapshot of a table in the middle of an append", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1}");
    const writer = await begin();
    await fixture.write("<append=%true>//tmp/t", "{a=2}", writer);
    const { context, id } = await snapshot("//tmp/t");
    await fixture.write("<append=%true>//tmp/t", "{a=3}", writer);
    await fixture.write("<append=%true>//tmp/t", "{a=4}");
    await commit(writer);
    expect(await fixture.column("//tmp/t")).toBe("1,4,2,3");
    expect(await fixture.column(`#${id}`, context)).toBe("1");
    await commit(context);
    await fixture.cypress.remove(root, { path: "//tmp/t" });
    expect(await records(keyspace.rowBlocks)).toBe(0);
    expect(await records(keyspace.tablets)).toBe(0);
  });
});

describe("copies", () => {
  test("a copy and a move keep their rows when the source changes", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1}");
    await fixture.cypress.copy(root, { sourcePath: "//tmp/t", destinationPath: "//tmp/c" });
    await fixture.write("<append=%true>//tmp/t", "{a=2}");
    await fixture.write("<append=%true>//tmp/c", "{a=3}");
    await fixture.cypress.move(root, { sourcePath: "//tmp/t", destinationPath: "//tmp/m" });
    expect(await fixture.column("//tmp/c")).toBe("1,3");
    expect(await fixture.column("//tmp/m")).toBe("1,2");
    await fixture.cypress.remove(root, { path: "//tmp/m" });
    await fixture.cypress.remove(root, { path: "//tmp/c" });
    expect(await records(keyspace.rowBlocks)).toBe(0);
    expect(await records(keyspace.chunks)).toBe(0);
  });

  test("a copy inside of a transaction that has appended", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1}");
    const context = await begin();
    await fixture.write("<append=%true>//tmp/t", "{a=2}", context);
    await fixture.cypress.copy(context, { sourcePath: "//tmp/t", destinationPath: "//tmp/c" });
    await abort(await begin(context));
    await commit(context);
    expect(await fixture.column("//tmp/c")).toBe("1,2");
    expect(await fixture.column("//tmp/t")).toBe("1,2");
  });
});

test("a removal below a transaction that has frozen the table meanwhile is lost, and nothing is left behind", async () => {
  await fixture.cypress.create(root, { type: "table", path: "//tmp/t" });
  await fixture.write("//tmp/t", "{a=1}");
  const outer = await begin();
  const inner = await begin(outer);
  await fixture.cypress.remove(inner, { path: "//tmp/t" });
  await fixture.cypress.lock(outer, { path: "//tmp/t", mode: "snapshot" });
  await commit(inner);
  expect(await fixture.column("//tmp/t", outer)).toBe("1");
  await commit(outer);
  expect(await fixture.column("//tmp/t")).toBe("1");
  await fixture.cypress.remove(root, { path: "//tmp/t" });
  expect(await records(keyspace.rowBlocks)).toBe(0);
});

interface Running {
  readonly context: RequestContext & { transactionId: string };
  readonly parent: Running | undefined;
  readonly frozen: { readonly id: string; readonly rows: string }[];
}

test.each([1, 2, 3])(
  "whatever transactions do to tables, frozen rows stay and nothing is left at the end (%i)",
  async (seed) => {
    const random = testRandom(`versions of static tables, run ${seed}`);
    const running: Running[] = [];
    let next = 0;
    const pickRunning = (): Running | undefined => {
      const index = random.below(running.length + 1);
      return running[index];
    };
    const end = (transaction: Running): void => {
      for (let i = running.length - 1; i >= 0; i--) {
        for (let above: Running | undefined = running[i]; above !== undefined; above = above.parent) {
          if (above === transaction) {
            running.splice(i, 1);
            break;
          }
        }
      }
    };
    const step = async (): Promise<void> => {
      const actor = pickRunning();
      const context = actor?.context ?? root;
      const path = `//tmp/t${random.below(2)}`;
      switch (random.below(10)) {
        case 0:
          await fixture.cypress.create(context, { type: "table", path, ignoreExisting: true });
          break;
        case 1:
          await fixture.write(path, `{a=${next++}}`, context);
          break;
        case 2:
        case 3:
        case 4:
          await fixture.write(`<append=%true>${path}`, `{a=${next++}}`, context);
          break;
        case 5:
          if (running.length < 5) {
            running.push({ context: await begin(context), parent: actor, frozen: [] });
          }
          break;
        case 6:
          // Frozen under running changes the tree has its own opinion about: not the matter here.
          if (actor !== undefined && !running.some(({ parent }) => parent === actor)) {
            const rows = await fixture.column(path, context);
            const { nodeId } = await fixture.cypress.lock(context, { path, mode: "snapshot" });
            actor.frozen.push({ id: nodeId, rows });
          }
          break;
        case 7:
          await fixture.cypress.remove(context, { path });
          break;
        case 8:
          await fixture.cypress.set(context, { path: `${path}/@compression_codec`, value: `c${next++}` });
          break;
        default:
          if (actor !== undefined) {
            await (random.below(2) === 0 ? commit(actor.context) : abort(actor.context));
            end(actor);
          }
      }
    };
    for (let i = 0; i < 150; i++) {
      try {
        await step();
      } catch (error) {
        // Conflicts of locks and missing tables are part of the game.
        expect(error).toHaveProperty("code");
        expect([400, 401, 402, 500, 501]).toContain((error as { code: number }).code);
      }
      if (i === 75) {
        fixture = await fixture.reopen();
      }
      for (const { context, frozen } of running) {
        for (const { id, rows } of frozen) {
          expect(await fixture.column(`#${id}`, context)).toBe(rows);
        }
      }
    }
    for (const transaction of [...running]) {
      if (transaction.parent === undefined) {
        await abort(transaction.context);
      }
    }
    for (const path of ["//tmp/t0", "//tmp/t1"]) {
      await fixture.cypress.remove(root, { path, force: true });
    }
    expect(await records(keyspace.rowBlocks)).toBe(0);
    expect(await records(keyspace.chunks)).toBe(0);
    expect(await records(keyspace.tablets)).toBe(0);
  },
);
