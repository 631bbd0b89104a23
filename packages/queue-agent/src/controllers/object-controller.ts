/** What the controllers of queues and of consumers do alike: a snapshot with each pass over the latest row. */
import type { ObjectReference } from "../objects/reference.ts";
import type { RegistrationRow, StateRow } from "../objects/state-rows.ts";
import { mapNode, type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import type { ObjectSnapshot, PassInput } from "../snapshots/object-snapshot.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type ControllerEnvironment, PassGate } from "./controller-environment.ts";
import type { AgentObject } from "./object-registry.ts";
import { rowNodes } from "./row-representation.ts";

export abstract class ObjectController<
  Row extends StateRow,
  Snapshot extends ObjectSnapshot<Row> & (QueueSnapshot | ConsumerSnapshot),
> implements AgentObject<Row, Snapshot>
{
  readonly reference: ObjectReference;
  readonly isLeading: boolean;
  readonly isStateless = false;
  protected readonly environment: ControllerEnvironment;
  readonly #gate: PassGate;
  #row: Row;
  #registrations: readonly RegistrationRow[];
  #snapshot: Snapshot;

  /** @param unprocessed the snapshot before the first pass; its row and registrations are what that works on */
  constructor(environment: ControllerEnvironment, isLeading: boolean, unprocessed: Snapshot) {
    const { reference, row, registrations } = unprocessed;
    this.reference = reference;
    this.isLeading = isLeading;
    this.environment = environment;
    this.#gate = new PassGate(environment.context, reference);
    this.#row = row;
    this.#registrations = registrations;
    this.#snapshot = unprocessed;
  }

  /** Made when asked for: thousands of objects are seldom looked into. */
  get orchid(): OrchidNode {
    return mapNode({
      leading: valueNode(() => this.isLeading),
      pass_index: valueNode(() => BigInt(this.#snapshot.passIndex)),
      pass_instant: valueNode(() => instantFromMs(this.#snapshot.passInstantMs)),
      ...rowNodes(() => this.#row),
      ...this.statusNodes(),
    });
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  update(row: Row, registrations: readonly RegistrationRow[]): void {
    this.#row = row;
    this.#registrations = registrations;
  }

  get isPassing(): boolean {
    return this.#gate.isRunning;
  }

  pass(): Promise<void> {
    return this.#gate.run(() => this.#pass());
  }

  abstract collectAlerts(): void;

  async stop(): Promise<void> {
    await this.#gate.stop();
    this.close();
  }

  /** `status`, `partitions` and what else the Orchid shows of the kind of object. */
  protected abstract statusNodes(): Readonly<Record<string, OrchidNode>>;

  /** Never throws: what fails is the snapshot's error. */
  protected abstract collect(input: PassInput<Row, Snapshot>): Promise<Snapshot>;

  /** The rest of a pass: the snapshot is in its place. */
  protected abstract follow(previous: Snapshot, snapshot: Snapshot): Promise<void>;

  /** Nothing of the object is asked any more. */
  protected abstract close(): void;

  async #pass(): Promise<void> {
    const { context, profiler } = this.environment;
    const startMs = context.clock.monotonic();
    const previous = this.#snapshot;
    const snapshot = await this.collect({
      row: this.#row,
      registrations: this.#registrations,
      previous,
      nowMs: context.clock.now(),
    });
    if (this.#gate.isStopped) {
      return;
    }
    this.#snapshot = snapshot;
    profiler.passEnded?.(snapshot, this.isLeading, context.clock.monotonic() - startMs);
    await this.follow(previous, snapshot);
  }
}
