/** When `qyt up` starts its queue agent, how it reaches the clusters, and when it stops. */
import { type Clock, sleep, toYtError, YtError } from "@qyt/base";
import type { Logger } from "pino";
import type { Connection } from "./secret-files.ts";

export interface RunningAgent {
  /** `HOST:PORT` where it answers. */
  readonly agentId: string;
  stop(): Promise<void>;
}

export interface AgentStart {
  /** The cluster that keeps the registrations keeps the agent's state too. */
  readonly stateCluster: string;
  /** All clusters, by name; asked again now and then, as tokens and certificates may be read anew. */
  readonly access: () => ReadonlyMap<string, Connection & { readonly proxy: string }>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** An agent that does not stop so soon is left behind: the rest of the 10 s promised is for the clusters. */
const maxAgentStopMs = 2_000;

/** The agent of one `qyt up`, from the first try to its stop. */
export class AgentRun {
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #starting: Promise<RunningAgent | undefined>;

  constructor(
    start: (options: AgentStart) => Promise<RunningAgent>,
    options: Omit<AgentStart, "signal">,
    clock: Clock,
  ) {
    const { signal } = this.#abort;
    this.#clock = clock;
    this.#logger = options.logger;
    this.#starting = start({ ...options, signal }).catch((thrown: unknown) => {
      if (!signal.aborted) {
        this.#logger.error({ err: toYtError(thrown) }, "the queue agent did not start");
      }
      return undefined;
    });
  }

  /** Resolves when it takes part, or cannot. */
  started(): Promise<RunningAgent | undefined> {
    return this.#starting;
  }

  async stop(): Promise<void> {
    this.#abort.abort(new YtError("The clusters stop", { code: "Canceled" }));
    const stopped = this.#starting
      .then((agent) => agent?.stop())
      .catch((thrown: unknown) => {
        this.#logger.error({ err: toYtError(thrown) }, "the queue agent did not stop cleanly");
      });
    await Promise.race([stopped, sleep(this.#clock, maxAgentStopMs)]);
  }
}
