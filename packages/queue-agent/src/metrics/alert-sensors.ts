/**
 * The gauge of alerts: 1 for each that is there, and 0 for each that was there at an earlier answer.
 *
 * Specified in: yt/yt/server/lib/alert_manager/alert_manager.cpp (gauges by category and tags).
 */
import type { Alert } from "../alerts/alert.ts";
import type { QueueObject } from "../controllers/object-registry.ts";
import { referenceToString } from "../objects/reference.ts";
import { type Exposition, labelText, sample } from "./exposition.ts";
import { queueLabelText } from "./queue-profiles.ts";
import { alertSensor } from "./sensors.ts";

/** So many alerts that are gone are remembered of one owner: consumers, whom tags name, come and go. */
const maxRemembered = 100;
/** The owner of the alerts of the process. */
const process = "";

export class AlertSensors {
  /** Owner → labels of alerts that were there. */
  readonly #seen = new Map<string, Set<string>>();

  async write(
    exposition: Exposition,
    ofProcess: readonly Alert[],
    queues: ReadonlyMap<string, QueueObject>,
  ): Promise<void> {
    for (const owner of this.#seen.keys()) {
      if (owner !== process && queues.get(owner)?.leadership === undefined) {
        this.#seen.delete(owner);
      }
    }
    await exposition.sensor(alertSensor, this.#lines(ofProcess, queues.values()));
  }

  *#lines(ofProcess: readonly Alert[], queues: Iterable<QueueObject>): Iterable<string> {
    yield* this.#linesOf(
      process,
      ofProcess.map((alert) => alertLabels(alert, "")),
    );
    for (const { reference, leadership, snapshot } of queues) {
      if (leadership !== undefined) {
        const owner = referenceToString(reference);
        const alerts = leadership.alerts.active();
        if (alerts.length > 0 || this.#seen.has(owner)) {
          const labels = `,${queueLabelText(snapshot)},${labelText({ object_type: snapshot.row.objectType ?? "none" })}`;
          yield* this.#linesOf(
            owner,
            alerts.map((alert) => alertLabels(alert, labels)),
          );
        }
      }
    }
  }

  *#linesOf(owner: string, active: readonly string[]): Iterable<string> {
    const seen = this.#seen.get(owner) ?? new Set();
    const now = new Set(active);
    for (const labels of now) {
      yield sample(alertSensor.name, labels, 1);
    }
    for (const labels of seen) {
      if (!now.has(labels)) {
        yield sample(alertSensor.name, labels, 0);
      }
    }
    if (now.size + seen.size > 0) {
      this.#seen.set(owner, new Set([...now, ...seen].slice(0, now.size + maxRemembered)));
    }
  }
}

function alertLabels({ kind, tags }: Alert, ofOwner: string): string {
  const ofTags = labelText(Object.fromEntries(tags));
  return `${labelText({ category: kind.category })}${ofOwner}${ofTags === "" ? "" : `,${ofTags}`}`;
}
