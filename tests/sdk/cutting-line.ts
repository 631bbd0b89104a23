/** A TCP line to a cluster that is cut after a number of bytes, in one direction, once. */
import { createServer, type Server, Socket } from "node:net";

export type Direction = "to the proxy" | "to the client";

export class CuttingLine {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut: { readonly direction: Direction; left: number } | undefined;
  #passed: Record<Direction, number> = { "to the proxy": 0, "to the client": 0 };

  private constructor(targetAddress: string) {
    const url = new URL(`http://${targetAddress}`);
    this.#target = { host: url.hostname, port: Number(url.port) };
    this.#server = createServer((client) => this.#connect(client));
  }

  static async start(targetAddress: string): Promise<CuttingLine> {
    const line = new CuttingLine(targetAddress);
    await new Promise<void>((resolve, reject) => {
      line.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return line;
  }

  get address(): string {
    const address = this.#server.address();
    return address !== null && typeof address === "object" ? `127.0.0.1:${address.port}` : "";
  }

  /** From now on so many bytes pass in the direction, and then the connection ends on both sides. */
  cutAfter(bytes: number, direction: Direction): void {
    this.#cut = { direction, left: bytes };
  }

  /** Whether the cut that was asked for last has been made. */
  get isCut(): boolean {
    return this.#cut === undefined;
  }

  /** How many bytes passed since it was asked last. */
  takePassed(): Readonly<Record<Direction, number>> {
    const passed = this.#passed;
    this.#passed = { "to the proxy": 0, "to the client": 0 };
    return passed;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(client: Socket): void {
    const upstream = new Socket();
    upstream.connect(this.#target.port, this.#target.host);
    this.#pass(client, upstream, "to the proxy");
    this.#pass(upstream, client, "to the client");
  }

  #pass(from: Socket, to: Socket, direction: Direction): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      to.end();
    });
    from.on("data", (bytes: Buffer) => {
      this.#passed[direction] += bytes.length;
      const cut = this.#cut;
      if (cut === undefined || cut.direction !== direction) {
        to.write(bytes);
        return;
      }
      const allowed = Math.min(cut.left, bytes.length);
      cut.left -= allowed;
      if (cut.left > 0) {
        to.write(bytes);
        return;
      }
      this.#cut = undefined;
      // What was let through arrives; then both ends see the connection end.
      to.end(bytes.subarray(0, allowed), () => to.destroySoon());
      from.destroy();
    });
  }
}
