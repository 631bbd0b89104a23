/** Clusters in processes of their own that know each other, and what can happen to one: it ends, or it freezes. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, type YtClient } from "@qyt/client";
import {
  freePort,
  type ProgramProcess,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";

/** One cluster in one process. */
export class ClusterProcess {
  readonly name: string;
  readonly port: number;
  readonly client: YtClient;
  readonly #config: string;
  #program: ProgramProcess | undefined;
  #isFrozen = false;

  constructor(name: string, port: number, config: string) {
    this.name = name;
    this.port = port;
    this.client = createClient({ proxy: `127.0.0.1:${port}`, retries: false });
    this.#config = config;
  }

  async start(): Promise<void> {
    this.#program = await startProcess({ args: ["--config", this.#config] });
  }

  /** From now on connections to it are refused. */
  async stop(): Promise<void> {
    await this.#program?.stop();
    this.#program = undefined;
  }

  /** From now on connections to it come about, and nobody answers. */
  freeze(): void {
    this.#signal("SIGSTOP");
    this.#isFrozen = true;
  }

  thaw(): void {
    if (this.#isFrozen) {
      this.#signal("SIGCONT");
      this.#isFrozen = false;
    }
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#program?.pid ?? 0;
    // 0 would mean this process and all of its group.
    if (pid === 0) {
      throw new Error(`Cluster ${this.name} does not run`);
    }
    process.kill(pid, signal);
  }

  async close(): Promise<void> {
    this.thaw();
    await this.client.close();
    await this.stop();
  }
}

/** Two clusters; the first keeps the registrations. */
export class TwoProcesses {
  readonly first: ClusterProcess;
  readonly second: ClusterProcess;
  readonly #folder: TemporaryDirectory;

  private constructor(folder: TemporaryDirectory, first: ClusterProcess, second: ClusterProcess) {
    this.#folder = folder;
    this.first = first;
    this.second = second;
  }

  static async start(firstName: string, secondName: string): Promise<TwoProcesses> {
    const folder = await temporaryDirectory("two-processes");
    const ports = { [firstName]: await freePort(), [secondName]: await freePort() };
    const processOf = async (name: string, peer: string): Promise<ClusterProcess> => {
      const file = join(folder.path, `${name}.json`);
      await writeFile(
        file,
        JSON.stringify({
          data_directory: "data",
          clusters: { [name]: { address: `127.0.0.1:${ports[name]}` } },
          peers: { [peer]: { proxy: `http://127.0.0.1:${ports[peer]}` } },
          registrations_cluster: firstName,
        }),
      );
      return new ClusterProcess(name, ports[name] ?? 0, file);
    };
    const both = new TwoProcesses(
      folder,
      await processOf(firstName, secondName),
      await processOf(secondName, firstName),
    );
    try {
      await Promise.all([both.first.start(), both.second.start()]);
      return both;
    } catch (thrown) {
      await both.close();
      throw thrown;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.first.close(), this.second.close()]);
    await this.#folder.remove();
  }
}
