/**
 * Alerts: an error of a known category with tags, shown until an iteration ends without it.
 *
 * Specified in: yt/yt/server/lib/alert_manager/alert_manager.cpp, yt/yt/server/queue_agent/private.h.
 */
import type { YtError } from "@qyt/base";

export interface AlertKind {
  readonly code: number;
  /** snake_case, the key in `alerts`. */
  readonly category: string;
  readonly description: string;
}

export interface Alert {
  readonly kind: AlertKind;
  readonly error: YtError;
  /** Become attributes of the error and labels of the gauge. */
  readonly tags: ReadonlyMap<string, string>;
}

/** Staged during an iteration, published at its end in place of the previous set. */
export interface AlertCollector {
  stage(kind: AlertKind, error: YtError, tags?: ReadonlyMap<string, string>): void;
  publish(): void;
}
