import { parseYson } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { defaultDynamicConfig } from "./dynamic-config.ts";
import { parseDynamicConfig } from "./parse-dynamic-config.ts";
import { dynamicConfigToYson } from "./print-dynamic-config.ts";

function parse(yson: string) {
  return parseDynamicConfig(parseYson(yson));
}

/** The message with that of the cause: where, and why. */
function refusal(yson: string): string {
  try {
    parse(yson);
  } catch (thrown) {
    const error = thrown as { message: string; innerErrors: readonly Error[] };
    return `${error.message}: ${error.innerErrors[0]?.message}`;
  }
  return "taken";
}

describe("dynamic configuration", () => {
  it("is the default when the node is empty or an entity", () => {
    expect(parse("{}").config).toEqual(defaultDynamicConfig);
    expect(parse("#").config).toEqual(defaultDynamicConfig);
  });

  it("takes any subset; what is left out keeps its default", () => {
    const { config, unknown } = parse(
      "{cypress_synchronizer={policy=polling;clusters=[a;b]};queue_agent={controller={enable_automatic_trimming=%false;queue_exporter={retry_backoff={min_backoff=15000;max_backoff=15000;backoff_jitter=0.}}}}}",
    );
    expect(config.synchronizer).toEqual({
      ...defaultDynamicConfig.synchronizer,
      policy: "polling",
      clusters: ["a", "b"],
    });
    expect(config.agent.controller.enableAutomaticTrimming).toBe(false);
    expect(config.agent.controller.queueExporter.retryBackoff).toEqual({
      minBackoffMs: 15_000,
      maxBackoffMs: 15_000,
      multiplier: 1.5,
      jitter: 0,
    });
    expect(config.agent.passPeriodMs).toBe(defaultDynamicConfig.agent.passPeriodMs);
    expect(unknown).toEqual([]);
  });

  it("watches all known clusters when the list is empty", () => {
    expect(parse("{cypress_synchronizer={clusters=[]}}").config.synchronizer.clusters).toBeNull();
  });

  it("knows both names of the option for replicated tables", () => {
    for (const name of ["write_replicated_table_mapping", "write_registration_table_mapping"]) {
      const { config } = parse(`{cypress_synchronizer={${name}=%true}}`);
      expect(config.synchronizer.writeReplicatedTableMapping).toBe(true);
    }
  });

  it("notes options that do not exist, with their paths", () => {
    expect(parse("{queue_agent={pass_peroid=1;controller={x={}}};more=1}").unknown).toEqual([
      "/more",
      "/queue_agent/pass_peroid",
      "/queue_agent/controller/x",
    ]);
  });

  it("does not complain about options of the real system that mean nothing here", () => {
    expect(
      parse("{queue_agent={controller_thread_count=4;controller={enable_verbose_logging=%true}}}").unknown,
    ).toEqual([]);
  });

  it.each([
    ["[]", "Error reading parameter /: it must be a map"],
    [
      "{queue_agent={pass_period=0}}",
      "Error reading parameter /queue_agent/pass_period: it must be an integer, at least 10",
    ],
    [
      "{queue_agent={controller={queue_exporter={retry_backoff={max_backoff=9007199254740991}}}}}",
      "Error reading parameter /queue_agent/controller/queue_exporter/retry_backoff/max_backoff: it must be at most 250000000000000 ms",
    ],
    [
      "{queue_agent={pass_period=fast}}",
      "Error reading parameter /queue_agent/pass_period: it must be an integer, at least 10",
    ],
    [
      "{cypress_synchronizer={enable=yes}}",
      "Error reading parameter /cypress_synchronizer/enable: it must be boolean",
    ],
    [
      "{cypress_synchronizer={policy=guessing}}",
      'Error reading parameter /cypress_synchronizer/policy: it must be one of "polling", "watching"',
    ],
    [
      "{queue_agent={controller={trimming_period=0}}}",
      'Error reading parameter /queue_agent/controller/trimming_period: Invalid "trimming_period", it must be greater than zero',
    ],
    [
      "{queue_agent={controller={queue_exporter={retry_backoff={invocation_count=3}}}}}",
      'Error reading parameter /queue_agent/controller/queue_exporter/retry_backoff/invocation_count: The number of attempts is unlimited: remove "invocation_count"',
    ],
    [
      "{queue_agent={controller={queue_exporter={retry_backoff={min_backoff=5000;max_backoff=1000}}}}}",
      'Error reading parameter /queue_agent/controller/queue_exporter/retry_backoff/max_backoff: it must be at least "min_backoff", which is 5000',
    ],
  ])("refuses %s with its path and what is right", (yson, message) => {
    expect(refusal(yson)).toBe(message);
  });

  it("prints what it would read", () => {
    const { config } = parse(
      '{alert_manager={alert_collection_period=100};queue_agent={queue_export_manager={export_rate_limit=2.5};controller={trimming_period=5000;delayed_objects=["a://b"];controller_delay=7}}}',
    );
    expect(parseDynamicConfig(dynamicConfigToYson(config))).toEqual({ config, unknown: [] });
  });
});
