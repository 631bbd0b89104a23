/**
 * Keeps the alerts of one process or of one queue: collectors publish, a periodic collection makes what they
 * published visible.
 *
 * Specified in: yt/yt/server/lib/alert_manager/alert_manager.cpp (TAlertManager, TAlertCollector).
 */
import { type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import type { Alert, AlertCollector, AlertKind } from "./alert.ts";

const noTags: ReadonlyMap<string, string> = new Map();

/** A collector whose published alerts can be read, and which can be taken away with all its alerts. */
export interface ManagedAlertCollector extends AlertCollector {
  /** The alerts of the latest `publish`. */
  alerts(): readonly Alert[];
  /** Removes the collector and what it published, with the next collection. */
  close(): void;
}

export class AlertManager {
  readonly #onChange: (() => void) | undefined;
  readonly #collectors = new Set<ManagedAlertCollector>();
  #changed = false;
  #active: readonly Alert[] = [];
  #visible: ReadonlyMap<string, YsonValue> = new Map();

  /** @param onChange called at the end of each collection that found something published since the one before */
  constructor(onChange?: () => void) {
    this.#onChange = onChange;
  }

  /** A collector for one activity, whose alerts are replaced as a whole by each `publish`. */
  collector(): ManagedAlertCollector {
    let staged: Alert[] = [];
    let published: readonly Alert[] = [];
    const collector: ManagedAlertCollector = {
      stage(kind: AlertKind, error: YtError, tags: ReadonlyMap<string, string> = noTags): void {
        staged.push({ kind, error, tags });
      },
      publish: () => {
        if (staged.length > 0 || published.length > 0) {
          published = staged;
          staged = [];
          this.#changed = true;
        }
      },
      alerts: () => published,
      close: () => {
        if (this.#collectors.delete(collector) && published.length > 0) {
          this.#changed = true;
        }
      },
    };
    this.#collectors.add(collector);
    return collector;
  }

  /** Makes what is published visible. Called once in each `alertCollectionPeriodMs`. */
  collect(): void {
    if (!this.#changed) {
      return;
    }
    this.#changed = false;
    this.#active = [...this.#collectors].flatMap((collector) => [...collector.alerts()]);
    this.#visible = categorized(this.#active);
    this.#onChange?.();
  }

  /** Category → error, as of the last collection: the `alerts` of a status. */
  alerts(): ReadonlyMap<string, YsonValue> {
    return this.#visible;
  }

  /** One by one, as of the last collection: for gauges. */
  active(): readonly Alert[] {
    return this.#active;
  }
}

function categorized(alerts: readonly Alert[]): ReadonlyMap<string, YsonValue> {
  const byCategory = new Map<string, Alert[]>();
  for (const alert of alerts) {
    const others = byCategory.get(alert.kind.category);
    if (others === undefined) {
      byCategory.set(alert.kind.category, [alert]);
    } else {
      others.push(alert);
    }
  }
  const result = new Map<string, YsonValue>();
  for (const [category, members] of byCategory) {
    const kind = members[0]?.kind;
    if (kind !== undefined) {
      const inner = members.map(tagged);
      result.set(category, errorToYson(new YtError(kind.description, { code: kind.code, inner })));
    }
  }
  return result;
}

/** The alert's error with its tags as attributes. */
function tagged({ error, tags }: Alert): YtError {
  return new YtError(error.message, {
    code: error.code,
    attributes: new Map<string, YsonValue>([...error.attributes, ...tags]),
    inner: error.innerErrors,
    cause: error.cause,
  });
}
