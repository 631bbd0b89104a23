/** Why rows do not reach replicas, as long as they do not: by replica and tablet of the log. In memory only. */
import type { YtError } from "@qyt/base";

const none: ReadonlyMap<string, YtError> = new Map();

export class ReplicationErrors {
  readonly #byReplica = new Map<string, Map<string, YtError>>();

  of(replicaId: string): ReadonlyMap<string, YtError> {
    return this.#byReplica.get(replicaId) ?? none;
  }

  set(replicaId: string, tabletId: string, error: YtError): void {
    const errors = this.#byReplica.get(replicaId) ?? new Map<string, YtError>();
    this.#byReplica.set(replicaId, errors.set(tabletId, error));
  }

  clear(replicaId: string, tabletId: string): void {
    const errors = this.#byReplica.get(replicaId);
    errors?.delete(tabletId);
    if (errors?.size === 0) {
      this.#byReplica.delete(replicaId);
    }
  }

  forget(replicaId: string): void {
    this.#byReplica.delete(replicaId);
  }
}
