/**
 * Decisions against a small model, written from the specification (section 9.4) and not from the code:
 * random trees with entries, random groups within groups, and more than 5,000 requests.
 */
import { FakeClock } from "@qyt/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Ace, InheritanceMode, Permission } from "../access/index.ts";
import type { Node } from "./node.ts";
import { root, type World, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

const users = ["u0", "u1", "u2"];
const groups = ["g0", "g1", "g2", "g3"];
const columns = ["a", "b", "c"];
const plainPermissions: readonly Permission[] = ["read", "write", "remove", "administer", "full_read"];
const modes: readonly InheritanceMode[] = [
  "object_and_descendants",
  "object_only",
  "descendants_only",
  "immediate_descendants_only",
];

interface TreeNode {
  /** Index of the directory; -1 for the top. */
  readonly parent: number;
  readonly owner: string;
  readonly inheritAcl: boolean;
  readonly acl: readonly Ace[];
}

interface Request {
  readonly user: string;
  readonly node: number;
  readonly permission: Permission;
  readonly vital: boolean;
  readonly columns: readonly string[];
}

interface Case {
  /** For each subject, the groups it is directly in. A group is only in groups of higher numbers. */
  readonly memberOf: ReadonlyMap<string, readonly string[]>;
  readonly superuser: string | undefined;
  readonly banned: string | undefined;
  readonly tree: readonly TreeNode[];
  readonly requests: readonly Request[];
}

const subject = fc.constantFrom(...users, ...groups, "everyone", "owner");
const entryBase = {
  subjects: fc.uniqueArray(subject, { minLength: 1, maxLength: 2 }),
  inheritanceMode: fc.constantFrom(...modes),
  action: fc.constantFrom("allow" as const, "allow" as const, "deny" as const),
};
const entry: fc.Arbitrary<Ace> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...entryBase,
      permissions: fc.uniqueArray(fc.constantFrom(...plainPermissions), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...entryBase,
      permissions: fc.constant<Permission[]>(["read"]),
      columns: fc.uniqueArray(fc.constantFrom(...columns), { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...entryBase,
      permissions: fc.constant<Permission[]>(["register_queue_consumer"]),
      vital: fc.boolean(),
    }),
  },
);

const treeSize = 6;
const cases: fc.Arbitrary<Case> = fc.record({
  memberOf: fc
    .tuple(
      ...users.map(() => fc.subarray(groups)),
      ...groups.map((_, index) => fc.subarray(groups.slice(index + 1))),
    )
    .map((lists) => new Map([...users, ...groups].map((name, index) => [name, lists[index] ?? []]))),
  superuser: fc.option(fc.constantFrom(...users), { nil: undefined, freq: 8 }),
  banned: fc.option(fc.constantFrom(...users), { nil: undefined, freq: 8 }),
  tree: fc.tuple(
    ...Array.from({ length: treeSize }, (_, index) =>
      fc.record({
        parent: fc.integer({ min: index === 0 ? -1 : 0, max: index - 1 }),
        owner: fc.constantFrom(...users),
        inheritAcl: fc.boolean().map((value) => value || index % 2 === 0),
        acl: fc.array(entry, { maxLength: 4 }),
      }),
    ),
  ),
  requests: fc.array(
    fc.record({
      user: fc.constantFrom(...users),
      node: fc.nat({ max: treeSize - 1 }),
      permission: fc.constantFrom<Permission[]>(...plainPermissions, "register_queue_consumer"),
      vital: fc.boolean(),
      columns: fc.subarray(columns),
    }),
    { minLength: 20, maxLength: 20 },
  ),
});

// The model

function groupsOf(state: Case, name: string): Set<string> {
  const found = new Set<string>(users.includes(name) ? ["users", "everyone"] : []);
  const add = (group: string): void => {
    found.add(group);
    for (const above of state.memberOf.get(group) ?? []) {
      add(above);
    }
  };
  for (const group of state.memberOf.get(name) ?? []) {
    add(group);
  }
  return found;
}

/** The top of a case stands under a directory without entries, which inherits none. */
function entriesOf(state: Case, index: number): Ace[] {
  const entries: Ace[] = [];
  let distance = 0;
  for (let at = index; at >= 0; distance++) {
    const node = state.tree[at];
    if (node === undefined) {
      break;
    }
    for (const ace of node.acl) {
      const reaches: Record<InheritanceMode, boolean> = {
        object_and_descendants: true,
        object_only: distance === 0,
        descendants_only: distance >= 1,
        immediate_descendants_only: distance === 1,
      };
      if (reaches[ace.inheritanceMode]) {
        entries.push(ace);
      }
    }
    if (!node.inheritAcl) {
      break;
    }
    at = node.parent;
  }
  return entries;
}

function verdict(entries: readonly Ace[]): "allow" | "deny" | "nothing" {
  if (entries.some(({ action }) => action === "deny")) {
    return "deny";
  }
  return entries.length > 0 ? "allow" : "nothing";
}

interface Verdict {
  readonly allowed: boolean;
  readonly columns: readonly boolean[];
}

function expected(state: Case, request: Request): Verdict {
  const all = (allowed: boolean): Verdict => ({ allowed, columns: request.columns.map(() => allowed) });
  if (request.user === state.banned) {
    return all(false);
  }
  if (request.user === state.superuser) {
    return all(true);
  }
  const mine = groupsOf(state, request.user);
  const isMine = (ace: Ace): boolean =>
    ace.subjects.some(
      (name) =>
        name === request.user ||
        mine.has(name) ||
        (name === "owner" && state.tree[request.node]?.owner === request.user),
    );
  const entries = entriesOf(state, request.node);
  const whole = entries.filter((ace) => ace.columns === undefined && isMine(ace));
  const about = (permission: Permission): Ace[] =>
    whole.filter(
      (ace) =>
        ace.permissions.includes(permission) &&
        (permission !== "register_queue_consumer" || !request.vital || ace.vital === true),
    );
  // To allow reading everything allows reading; to deny reading denies reading everything.
  const readers = [...about("read"), ...about("full_read").filter(({ action }) => action === "allow")];
  const mayRead = verdict(readers) === "allow";
  const explicitly = verdict(about("full_read")) === "allow";
  const mayReadColumn = (column: string): boolean => {
    const named = entries.filter((ace) => ace.columns?.includes(column));
    if (!mayRead || named.length === 0) {
      return mayRead;
    }
    const own = verdict(named.filter(isMine));
    return own === "allow" || (own === "nothing" && explicitly);
  };
  switch (request.permission) {
    case "read":
      return { allowed: mayRead, columns: request.columns.map(mayReadColumn) };
    case "full_read": {
      const isDenied = about("full_read").some(({ action }) => action === "deny");
      const named = columns.filter((column) => entries.some((ace) => ace.columns?.includes(column)));
      return { allowed: mayRead && !isDenied && named.every(mayReadColumn), columns: [] };
    }
    default:
      return { allowed: verdict(about(request.permission)) === "allow", columns: [] };
  }
}

// The tree under test

/** Makes the memberships and flags those of the case. */
async function arrange(world: World, state: Case): Promise<void> {
  const { cypress } = world;
  for (const member of [...users, ...groups]) {
    const view = cypress.view();
    const wanted = new Set(state.memberOf.get(member) ?? []);
    const present = new Set(view.subjects.subject(member).memberOf.filter((group) => groups.includes(group)));
    for (const group of groups) {
      if (wanted.has(group) && !present.has(group)) {
        await cypress.addMember(root, { group, member });
      } else if (!wanted.has(group) && present.has(group)) {
        await cypress.removeMember(root, { group, member });
      }
    }
  }
  for (const user of users) {
    const subjects = cypress.view().subjects;
    const isSuperuser = subjects.subject(user).memberOf.includes("superusers");
    if (isSuperuser !== (user === state.superuser)) {
      const change = { group: "superusers", member: user };
      await (isSuperuser ? cypress.removeMember(root, change) : cypress.addMember(root, change));
    }
    if (subjects.subject(user).banned !== (user === state.banned)) {
      await world.set(`//sys/users/${user}/@banned`, user === state.banned);
    }
  }
}

let caseCount = 0;

/** The case's tree below a directory of its own that inherits nothing; ids of its nodes. */
async function plant(world: World, tree: readonly TreeNode[]): Promise<readonly string[]> {
  return world.cypress.mutate(root, (draft) => {
    const make = (parent: Node, key: string, overrides: Partial<Node>): Node =>
      draft.createNode({
        type: "map_node",
        parent,
        key,
        user: "root",
        state: draft.resolveNode("//tmp").state,
        overrides,
      });
    const top = make(draft.resolveNode("//tmp"), `case-${caseCount++}`, { inheritAcl: false });
    const ids: string[] = [];
    for (const [index, { parent, owner, inheritAcl, acl }] of tree.entries()) {
      const directory = parent < 0 ? top.id : (ids[parent] ?? top.id);
      ids.push(make(draft.nodeOrThrow(directory), `n${index}`, { owner, inheritAcl, acl }).id);
    }
    return ids;
  });
}

it("decides as the model does", { timeout: 60_000 }, async () => {
  const world = await openWorld();
  for (const name of users) {
    await world.cypress.create(root, { type: "user", attributes: new Map([["name", name]]) });
  }
  for (const name of groups) {
    await world.cypress.create(root, { type: "group", attributes: new Map([["name", name]]) });
  }
  let requestCount = 0;
  const seen = { allowed: 0, refused: 0, columnsRefused: 0 };
  await fc.assert(
    fc.asyncProperty(cases, async (state) => {
      await arrange(world, state);
      const ids = await plant(world, state.tree);
      const view = world.cypress.view();
      for (const request of state.requests) {
        requestCount++;
        const asksColumns = request.permission === "read";
        const node = view.nodeOrThrow(ids[request.node] ?? "");
        const decision = view.decide(request.user, request.permission, node, {
          vital: request.vital,
          ...(asksColumns ? { columns: request.columns } : {}),
        });
        const wanted = expected(state, request);
        expect(decision.action === "allow", JSON.stringify(request)).toBe(wanted.allowed);
        seen[wanted.allowed ? "allowed" : "refused"]++;
        if (asksColumns && decision.columns !== undefined) {
          const got = decision.columns.map(({ action }) => action === "allow");
          expect(got, JSON.stringify(request)).toEqual(wanted.columns);
          seen.columnsRefused += got.filter((allowed) => !allowed).length;
        }
      }
    }),
    { numRuns: 300 },
  );
  expect(requestCount).toBeGreaterThanOrEqual(5_000);
  // Each kind of answer has been met many times.
  expect(Math.min(seen.allowed, seen.refused, seen.columnsRefused)).toBeGreaterThan(300);
});
