/**
 * Sensors of the agent as a whole, in a registry of prom-client: how many objects there are, whether the
 * instance is banned, and what the process uses.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (TQueueAgent::Pass, tagged gauges).
 */
import { Counter, Gauge, Registry } from "prom-client";
import type { ConsumerObject, ObjectRegistry, QueueObject } from "../controllers/object-registry.ts";
import { agentSensors, objectSensors, type Sensor, sensorPrefix } from "./sensors.ts";

/** What the process has used so far, and uses now. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
}

export interface AgentGaugesParts {
  readonly registry: ObjectRegistry;
  readonly isBanned: () => boolean;
  /** Of all controllers together, in milliseconds; `null`: none yet. */
  readonly controllersPassMs: () => number | null;
  /** Export tasks that wait for their turn. */
  readonly waitingExports: () => number;
  readonly usage: () => ProcessUsage;
}

type Labels = Readonly<Record<string, string>>;

export function agentGauges(parts: AgentGaugesParts): Registry {
  const registers = [new Registry()];
  const gauge = (sensor: Sensor, collect: (gauge: Gauge) => void): void => {
    new Gauge({
      ...naming(sensor),
      registers,
      collect() {
        this.reset();
        collect(this);
      },
    });
  };
  const counter = (sensor: Sensor, value: () => number): void => {
    new Counter({
      ...naming(sensor),
      registers,
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  };
  const { registry } = parts;
  const queues = (): readonly QueueObject[] => [...registry.queues.values()];
  const consumers = (): readonly ConsumerObject[] => [...registry.consumers.values()];
  const count = <T extends QueueObject | ConsumerObject>(
    sensor: Sensor,
    objects: () => readonly T[],
    amount: (object: T) => number,
  ): void =>
    gauge(sensor, (target) => {
      for (const object of objects()) {
        target.inc(labelsOf(object), amount(object));
      }
    });
  count(objectSensors.queues, queues, () => 1);
  count(objectSensors.consumers, consumers, () => 1);
  count(objectSensors.partitions, queues, ({ snapshot }) => snapshot.partitions.length);
  count(objectSensors.trimmedQueues, queues, ({ snapshot }) =>
    snapshot.row.autoTrimConfig?.enable === true ? 1 : 0,
  );
  count(objectSensors.erroneousQueues, queues, isErroneous);
  count(objectSensors.erroneousConsumers, consumers, isErroneous);
  gauge(agentSensors.banned, (target) => target.set(parts.isBanned() ? 1 : 0));
  gauge(agentSensors.controllersPassTime, (target) => {
    const passMs = parts.controllersPassMs();
    target.set(passMs === null ? -1 : passMs / 1_000);
  });
  gauge(agentSensors.exportsWaiting, (target) => target.set(parts.waitingExports()));
  counter(agentSensors.cpuSeconds, () => parts.usage().cpuSeconds);
  gauge(agentSensors.residentBytes, (target) => target.set(parts.usage().residentBytes));
  gauge(agentSensors.heapBytes, (target) => target.set(parts.usage().heapBytes));
  return registers[0] ?? new Registry();
}

function naming({ name, help, labels }: Sensor): { name: string; help: string; labelNames: string[] } {
  return { name: `${sensorPrefix}${name}`, help, labelNames: [...labels] };
}

function labelsOf({ reference, isLeading, snapshot }: QueueObject | ConsumerObject): Labels {
  return {
    yt_cluster: reference.cluster,
    leading_status: isLeading ? "leader" : "follower",
    queue_agent_stage: snapshot.row.queueAgentStage ?? "none",
    object_type: snapshot.row.objectType ?? "none",
  };
}

/** 1 when it is in error for its own sake: neither banned nor merely without a first pass. */
function isErroneous({ snapshot, isStateless }: QueueObject | ConsumerObject): number {
  const { error, bannedSinceMs, passIndex } = snapshot;
  return isStateless || (error !== null && bannedSinceMs === null && passIndex >= 0) ? 1 : 0;
}
