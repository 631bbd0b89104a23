/** What a removed subject leaves behind: nothing that the next one of its name could use. */
import { mapOf } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { expect, it } from "vitest";
import { failure, root, type World, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());
const byU = { user: "u" };

async function createUser({ cypress }: World): Promise<void> {
  await cypress.create(root, { type: "user", attributes: mapOf({ name: "u" }) });
}

const entry = mapOf({ action: "allow", subjects: ["u"], permissions: ["administer"] });

it("[tables 195] gives what a removed user owned to guest, and not to the next user of that name", async () => {
  const world = await openWorld();
  await createUser(world);
  await world.create("map_node", "//tmp/a", byU);
  expect(await world.get("//tmp/a/@owner")).toBe("u");
  const revised = await world.get("//tmp/a/@modification_time");
  await world.cypress.remove(root, { path: "//sys/users/u" });
  await createUser(world);
  expect(await world.get("//tmp/a/@owner")).toBe("guest");
  expect(await world.get("//tmp/a/@modification_time")).toBe(revised);
  const again = await world.reopen();
  expect(await again.get("//tmp/a/@owner")).toBe("guest");
});

it("[tables 195] removes a subject from what transactions have not committed yet", async () => {
  const world = await openWorld();
  await createUser(world);
  await world.create("map_node", "//tmp/changed");
  const transactionId = await world.cypress.startTransaction(byU, { timeoutMs: 60_000 });
  const within = { user: "u", transactionId };
  await world.create("map_node", "//tmp/created", within);
  await world.set("//tmp/changed/@acl", [entry], { ...root, transactionId });
  await world.set("//tmp/created/@acl", [entry], { ...root, transactionId });

  await world.cypress.remove(root, { path: "//sys/users/u" });
  expect(await world.get(`#${transactionId}/@owner`)).toBe("guest");
  const again = await world.reopen();
  await again.cypress.commitTransaction(root, transactionId);
  await createUser(again);
  expect(await again.get("//tmp/created/@owner")).toBe("guest");
  expect(await again.get("//tmp/created/@acl")).toEqual([]);
  expect(await again.get("//tmp/changed/@acl")).toEqual([]);
});

it("keeps root from locking itself out by its own rate limits", async () => {
  const world = await openWorld();
  for (const name of ["request_rate_limit", "read_request_rate_limit", "write_request_rate_limit"]) {
    const error = await failure(world.set(`//sys/users/root/@${name}`, 0n));
    expect(error.innerErrors[0]?.message).toBe(`"${name}" of user "root" cannot be 0: nobody could undo it`);
    await world.set(`//sys/users/guest/@${name}`, 0n);
    const negative = await failure(world.set(`//sys/users/guest/@${name}`, -1n));
    expect(negative.innerErrors[0]?.message).toBe(`"${name}" cannot be negative`);
  }
});
