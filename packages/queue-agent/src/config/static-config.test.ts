import { toYtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { parseStaticConfig } from "./static-config.ts";

function parse(yson: string) {
  return parseStaticConfig(parseYson(yson));
}

function refusal(yson: string): string {
  try {
    parse(yson);
  } catch (thrown) {
    const error = toYtError(thrown);
    return `${error.message}: ${error.innerErrors[0]?.message}`;
  }
  return "taken";
}

it("needs a proxy alone; the rest is by default", () => {
  expect(parse('{proxy="a:8000"}')).toEqual({
    config: {
      proxy: "a:8000",
      stage: "production",
      host: "127.0.0.1",
      port: 0,
      advertisedHost: null,
      root: "//sys/queue_agents",
      lockPath: "//sys/queue_agents/leader_lock",
      dynamicConfigPath: "//sys/queue_agents/config",
      consumerRegistrationTablePath: null,
      replicatedTableMappingTablePath: null,
      annotations: new Map(),
      membershipTimeoutMs: 5_000,
      access: {},
      clusters: new Map(),
      dynamicConfig: new Map(),
    },
    unknown: [],
  });
});

it("derives its paths from another root, and takes the stage where the real system has it", () => {
  const { config } = parse('{proxy=a;dynamic_state={root="//agents"};queue_agent={stage=testing}}');
  expect(config).toMatchObject({
    stage: "testing",
    root: "//agents",
    lockPath: "//agents/leader_lock",
    dynamicConfigPath: "//agents/config",
  });
});

it("knows tokens and proxies of single clusters", () => {
  const { config } = parse('{proxy=a;token=t;clusters={freud={proxy="b:1";token=u};hume={user=x}}}');
  expect(config.access).toEqual({ token: "t" });
  expect(Object.fromEntries(config.clusters)).toEqual({
    freud: { proxy: "b:1", token: "u" },
    hume: { user: "x" },
  });
});

it("notes options that do not exist, or refuses them when told to", () => {
  const options = "proxy=a;porxy=b;dynamic_config={queue_agent={pass=1}}";
  expect(parse(`{${options}}`).unknown).toEqual(["/porxy", "/dynamic_config/queue_agent/pass"]);
  expect(refusal(`{${options};abort_on_unrecognized_options=%true}`)).toMatch(
    /options that do not exist: \/porxy, \/dynamic_config\/queue_agent\/pass/,
  );
});

it.each([
  [
    "{}",
    "Error reading parameter /proxy: it is required: the HTTP proxy of the cluster that keeps the agent's state",
  ],
  ['{proxy=a;stage=""}', "Error reading parameter /stage: it must not be empty"],
  ["{proxy=a;port=70000}", "Error reading parameter /port: it must be an integer from 0 to 65535"],
  [
    "{proxy=a;membership_timeout=1}",
    "Error reading parameter /membership_timeout: it must be an integer, at least 500",
  ],
  [
    "{proxy=a;dynamic_config={queue_agent={pass_period=x}}}",
    "Error reading parameter /queue_agent/pass_period: it must be an integer, at least 10",
  ],
])("refuses %s", (yson, message) => {
  expect(refusal(yson)).toBe(message);
});
