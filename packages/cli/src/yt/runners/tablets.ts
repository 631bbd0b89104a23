/** Commands that move tablets from one state to another, and wait for it with `--sync`. */
import { bare, isList, isMap, sleep, systemClock, type YsonValue, YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { plainText } from "../printing.ts";

const checkIntervalMs = 100;
const defaultTimeoutMs = 60_000;

export const mount: Runner = change("mount_table", ({ values }) =>
  values.is("freeze") ? "frozen" : "mounted",
);
export const unmount: Runner = change("unmount_table", () => "unmounted");
export const freeze: Runner = change("freeze_table", () => "frozen");
export const unfreeze: Runner = change("unfreeze_table", () => "mounted");

export const reshard: Runner = async (context) => {
  const { pivot_keys, ...others } = context.parameters;
  const pivots = isList(pivot_keys) && pivot_keys.length > 0 ? { pivot_keys } : {};
  await context.session.change("reshard_table", { ...others, ...pivots });
  if (context.values.is("sync")) {
    const path = tablePath(context);
    await waitFor(context, async () => (await context.session.get(`${path}/@tablet_state`)) !== "transient");
  }
  return undefined;
};

function change(command: string, stateOf: (context: Context) => string): Runner {
  return async (context) => {
    await context.session.change(command, context.parameters);
    if (context.values.is("sync")) {
      const state = stateOf(context);
      await waitFor(context, () => hasState(context, state));
    }
    return undefined;
  };
}

async function hasState(context: Context, state: string): Promise<boolean> {
  const { session, values } = context;
  const path = tablePath(context);
  const whole = await session.get(`${path}/@tablet_state`);
  const first = values.integer("first_tablet_index");
  const last = values.integer("last_tablet_index");
  if (first === undefined && last === undefined) {
    return whole === state;
  }
  if (whole === "transient") {
    return false;
  }
  const tablets = await session.get(`${path}/@tablets`);
  const range = isList(tablets) ? tablets.slice(first ?? 0, last === undefined ? undefined : last + 1) : [];
  return range.every((tablet) => stateIn(tablet) === state);
}

function stateIn(tablet: YsonValue): YsonValue | undefined {
  const map = bare(tablet);
  return isMap(map) ? map.get("state") : undefined;
}

function tablePath({ session, values }: Context): string {
  return plainText(session.path(values.needed("path")));
}

/** @throws YtError 1 when it takes too long */
async function waitFor({ settings }: Context, isDone: () => Promise<boolean>): Promise<void> {
  const timeoutMs = settings.number("tablets_ready_timeout") ?? defaultTimeoutMs;
  const endMs = systemClock.monotonic() + timeoutMs;
  while (!(await isDone())) {
    if (systemClock.monotonic() > endMs) {
      throw new YtError(
        "Timed out while waiting for tablets: read the attribute tablet_state to see whether they got there since",
      );
    }
    await sleep(systemClock, checkIntervalMs);
  }
}
