/** One queue with exports on a cluster in memory, followed by one agent, on a fake clock. */
import type { YsonValue, YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { fromYson, type PlainValue } from "@qyt/yson";
import type { Alert } from "../alerts/alert.ts";
import { AlertManager } from "../alerts/alert-manager.ts";
import { ExportManager } from "../exports/export-manager.ts";
import { QueueExports } from "../exports/queue-exports.ts";
import { defaultOutputTableNamePattern, type StaticExportConfig } from "../objects/object-configs.ts";
import { type TestContext, testContext } from "./agent-context.ts";
import { FakeCluster, type Faults } from "./fake-cluster.ts";
import type { FakeQueue } from "./fake-queue.ts";
import { queueRow, testQueue } from "./snapshots.ts";

/** Messages of an error and of those in it. */
export function errorTree(error: YtError): { readonly message: string; readonly inner: readonly unknown[] } {
  return { message: error.message, inner: error.innerErrors.map(errorTree) };
}

export const exportDirectory = "//tmp/exports";

/** By name; what is not given has the documented default, the period 10 s. */
export type ExportInputs = Readonly<Record<string, Partial<StaticExportConfig>>>;

export function exportConfig(input: Partial<StaticExportConfig> = {}): StaticExportConfig {
  return {
    exportDirectory,
    exportPeriodSeconds: 10,
    exportTtlMs: 0,
    outputTableNamePattern: defaultOutputTableNamePattern,
    useUpperBoundForTableNames: false,
    maxTableCount: null,
    maxDataWeight: null,
    ...input,
  };
}

/** One agent process as far as the exports of the queue go. */
export class ExportAgent {
  readonly context: TestContext;
  readonly exports: QueueExports;
  readonly #alerts: AlertManager;

  constructor(world: ExportWorld, faults?: Faults, context?: TestContext) {
    this.context = context ?? testContext(world.clock, world.cluster.client(faults));
    this.#alerts = new AlertManager();
    this.exports = new QueueExports(this.context, testQueue, new ExportManager(this.context), this.#alerts);
  }

  /** One pass of the queue's controller. */
  pass(world: ExportWorld): void {
    this.exports.update(
      queueRow({
        objectId: world.queue.id,
        exports: new Map(Object.entries(world.configs).map(([name, input]) => [name, exportConfig(input)])),
      }),
    );
  }

  alerts(): readonly Alert[] {
    this.#alerts.collect();
    return this.#alerts.active();
  }

  status(): Record<string, PlainValue> {
    return fields(this.exports.status());
  }

  orchid(name: string): Record<string, PlainValue> {
    return plainFields(fields(this.exports.orchid())[name] ?? null);
  }
}

export class ExportWorld {
  readonly clock = new FakeClock();
  readonly cluster = new FakeCluster(this.clock);
  readonly queue: FakeQueue;
  readonly agent: ExportAgent;
  configs: ExportInputs = { default: {} };

  /** The clock stands at a multiple of an hour. */
  constructor(options: { readonly tablets?: number; readonly implementation?: "old" | "new" } = {}) {
    this.queue = this.cluster.createQueue(testQueue.path, options.tablets);
    this.cluster.createDirectory(exportDirectory, this.queue.id);
    this.agent = new ExportAgent(this);
    if (options.implementation !== undefined) {
      this.agent.context.configureExporter({ implementation: options.implementation });
    }
  }

  /** Seconds since the start. */
  get seconds(): number {
    return (this.clock.now() - startMs) / 1_000;
  }

  /** Lets seconds go by, with a pass of the controller in each. */
  async run(seconds: number, agents: readonly ExportAgent[] = [this.agent]): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      for (const agent of agents) {
        agent.pass(this);
      }
      await this.clock.advance(1_000);
    }
  }

  /** To a moment inside a second, so that nothing happens on a boundary itself. */
  async toMiddle(): Promise<void> {
    await this.clock.advance(500);
  }

  /** Tables by the lower bound in their names, in seconds since the start → number of rows. */
  tables(directory = exportDirectory): Record<string, number> {
    return Object.fromEntries(
      this.cluster.tableNames(directory).map((name) => {
        const rows = this.cluster
          .table(`${directory}/${name}`)
          .chunks.reduce((sum, { rowCount }) => sum + Number(rowCount), 0);
        return [relative(name), rows];
      }),
    );
  }

  storedProgress(directory = exportDirectory): Record<string, PlainValue> {
    return fields(this.cluster.attributes.get(`${directory}/@queue_static_export_progress`) ?? null);
  }
}

const startMs = new FakeClock().now();

/** A default name with its time counted from the start of the clock. */
function relative(name: string): string {
  return name.replace(/^\d+/, (digits) => String(Number(digits) - startMs / 1_000));
}

/** The entries of a map; anything else has none. */
function fields(value: YsonValue): Record<string, PlainValue> {
  return plainFields(fromYson(value));
}

function plainFields(plain: PlainValue): Record<string, PlainValue> {
  if (plain === null || typeof plain !== "object" || Array.isArray(plain)) {
    return {};
  }
  return "$value" in plain ? plainFields(plain["$value"] ?? null) : plain;
}
