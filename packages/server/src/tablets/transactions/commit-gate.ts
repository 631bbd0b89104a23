/** Lets one large commit go in turns while all others wait: commits join the cell in the order of their timestamps. */
export class CommitGate {
  #closed: Promise<void> | undefined;

  /** Resolves when the gate opens; `undefined` while it is open. Look again then: somebody may have been faster. */
  get closed(): Promise<void> | undefined {
    return this.#closed;
  }

  /** Closes the open gate; the function given back opens it. */
  close(): () => void {
    let open: () => void = () => undefined;
    this.#closed = new Promise((resolve) => {
      open = resolve;
    });
    return () => {
      this.#closed = undefined;
      open();
    };
  }
}
