/**
 * One controller process of a pipeline: tries to lead, leads while it can, and answers workers and commands as long
 * as it does. Several of them make a pipeline outlive any one.
 * Specified in: documentation "Flow", concepts; yt/yt/flow/library/cpp/controller/controller_service.cpp.
 */
import { sleep, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { Heartbeat, HeartbeatAnswer } from "../protocol/protocol.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { commandNamed, executeCommand } from "./commands.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { Leader } from "./leader.ts";
import { Leadership } from "./leadership.ts";

/** How often one that does not lead looks whether the lease is free, as a part of the lease. */
const captureShare = 0.3;
/** Of the pipeline's node: where commands are forwarded to. */
const leaderAttribute = "leader_controller_address";

export class Controller {
  readonly #options: ControllerOptions;
  readonly #leadership: Leadership;
  readonly #stop = new AbortController();
  #leader: Leader | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { pipelinePath } = options;
    this.#leadership = new Leadership({
      cluster: options.cluster,
      tables: {
        flowControl: pipelineTablePath(pipelinePath, "flow_control"),
        leases: pipelineTablePath(pipelinePath, "leases"),
        partitionTransactions: pipelineTablePath(pipelinePath, "partition_transactions"),
      },
      address: options.address,
      incarnationId: options.incarnationId,
      ttlSeconds: options.leaderLeaseSeconds,
    });
  }

  /** The state of being the leader; `undefined` while another one leads. */
  get leader(): Leader | undefined {
    return this.#leader;
  }

  /** Begins. Errors are told in the log and tried again. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Ends after the cycle under way and lets the lease go. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** @throws YtError 105 when another controller leads */
  heartbeat(heartbeat: Heartbeat): HeartbeatAnswer {
    const answer = this.#leading().heartbeat(heartbeat);
    if (answer === undefined) {
      throw notReady();
    }
    return answer;
  }

  /** @throws YtError of the command; 105 when another controller leads */
  async execute(command: string, argument: YsonValue): Promise<YsonValue> {
    commandNamed(command);
    return executeCommand(this.#leading(), command, argument);
  }

  #leading(): Leader {
    if (this.#leader === undefined) {
      throw new YtError(
        `Controller ${this.#options.address} does not lead pipeline ${this.#options.pipelinePath} now; ask the one that does`,
        { code: "Unavailable" },
      );
    }
    return this.#leader;
  }

  async #run(): Promise<void> {
    const { clock, log, leaderLeaseSeconds, cyclePeriodMs, random } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#leader === undefined) {
          await this.#tryToLead();
        }
        await this.#leader?.cycle();
      } catch (thrown) {
        log("warn", `Controller steps down: ${toYtError(thrown).message}`);
        await this.#stepDown();
      }
      if (this.#leader?.failure !== undefined) {
        await this.#stepDown();
      }
      const pauseMs =
        this.#leader === undefined
          ? leaderLeaseSeconds * 1_000 * captureShare * (0.5 + random.next())
          : cyclePeriodMs;
      await sleep(clock, pauseMs, this.#stop.signal).catch(() => undefined);
    }
    const wasLeader = this.#leader !== undefined;
    await this.#stepDown();
    if (wasLeader) {
      await this.#leadership.release().catch((thrown: unknown) => {
        log("warn", `The leader's lease could not be released: ${toYtError(thrown).message}`);
      });
    }
  }

  async #tryToLead(): Promise<void> {
    const { cluster, pipelinePath, address, log } = this.#options;
    const { isLeader } = await this.#leadership.tryCapture();
    if (!isLeader) {
      return;
    }
    const leader = await Leader.load(this.#options, this.#leadership);
    await leader.cycle();
    await cluster.set(`${pipelinePath}/@${leaderAttribute}`, address);
    this.#leader = leader;
    log("info", `Controller ${address} leads`);
  }

  async #stepDown(): Promise<void> {
    const leader = this.#leader;
    this.#leader = undefined;
    await leader?.stop();
  }
}

function notReady(): YtError {
  return new YtError(
    "Flow view is not available (probably uninitialized): the pipeline has no valid spec yet",
    {
      code: "FlowViewKeeperIsNotInitialized",
    },
  );
}
