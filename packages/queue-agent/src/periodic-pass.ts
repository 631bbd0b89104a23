/**
 * A pass that is made again and again: when, how it ended, and the alerts that come of it. A pass that fails is
 * the status's error and an alert until one ends well.
 */
import type { AlertKind } from "./alerts/alert.ts";
import type { AlertManager, ManagedAlertCollector } from "./alerts/alert-manager.ts";
import type { AgentContext } from "./context.ts";
import { PassStatus } from "./pass-status.ts";
import { PeriodicExecutor } from "./periodic.ts";

export interface PeriodicPassOptions {
  readonly context: Pick<AgentContext, "clock" | "logger">;
  readonly alerts: AlertManager;
  /** Milliseconds from the start of a pass to the start of the next one. */
  readonly periodMs: () => number;
  /** Ends early when the signal aborts. It measures itself by `status`, and publishes its alerts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly failedAlert: AlertKind;
  /** Logged with each pass that fails. Absent: the alert says enough. */
  readonly failedText?: string;
}

export class PeriodicPass {
  readonly status: PassStatus;
  readonly alerts: ManagedAlertCollector;
  readonly #executor: PeriodicExecutor;

  constructor({ context, alerts, periodMs, run, failedAlert, failedText }: PeriodicPassOptions) {
    const { clock, logger } = context;
    this.status = new PassStatus(clock);
    this.alerts = alerts.collector();
    this.#executor = new PeriodicExecutor({
      clock,
      periodMs,
      run,
      onError: (error) => {
        if (failedText !== undefined) {
          logger.error({ err: error }, failedText);
        }
        this.status.fail(error);
        this.alerts.stage(failedAlert, error);
        this.alerts.publish();
      },
    });
  }

  start(): void {
    this.#executor.start();
  }

  stop(): Promise<void> {
    return this.#executor.stop();
  }

  /** One pass, behind the one under way. Never rejects: see `status`. */
  runOnce(): Promise<void> {
    return this.#executor.runOnce();
  }
}
