/**
 * Two clusters in two processes that know their users, over TLS: each has issued a token to the other, and
 * requests between them act for the user who asks, with what he may do there.
 */
import { createHash } from "node:crypto";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { Attributed, mapOf, type YsonValue, YtError } from "@qyt/base";
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";
import {
  freePort,
  messagesOf,
  type ProgramProcess,
  startProcess,
  type TemporaryDirectory,
  TestAuthority,
  temporaryDirectory,
} from "@qyt/testing";
import { writeYsonText } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const authority = new TestAuthority();
let folder: TemporaryDirectory;
const clients: YtClient[] = [];

class Guarded {
  readonly name: string;
  readonly port: number;
  #program: ProgramProcess | undefined;
  #root: YtClient | undefined;

  constructor(name: string, port: number) {
    this.name = name;
    this.port = port;
  }

  get folder(): string {
    return join(folder.path, this.name);
  }

  get program(): ProgramProcess {
    if (this.#program === undefined) {
      throw new Error(`${this.name} does not run`);
    }
    return this.#program;
  }

  /** Acts as `root`, by the token that the first start has left. */
  get root(): YtClient {
    if (this.#root === undefined) {
      throw new Error(`${this.name} does not run`);
    }
    return this.#root;
  }

  async start(): Promise<void> {
    this.#program = await startProcess({ args: ["--config", join(folder.path, `${this.name}.json`)] });
    const token = (await readFile(join(this.folder, "root-token"), "utf8")).trim();
    this.#root = this.client({ token });
  }

  client(options: Partial<ClientOptions>): YtClient {
    const client = createClient({
      proxy: `https://127.0.0.1:${this.port}`,
      ca: authority.ca,
      retries: false,
      ...options,
    });
    clients.push(client);
    return client;
  }

  async writeCertificate(pair = authority.issue(this.name)): Promise<void> {
    await writeFile(join(folder.path, `${this.name}.crt`), pair.cert);
    await writeFile(join(folder.path, `${this.name}.key`), pair.key);
  }

  /** Sends SIGHUP and waits until the log says `text` once more. */
  async reload(text = "read certificates and tokens again"): Promise<void> {
    const count = (): number => this.program.output.split(text).length;
    const before = count();
    process.kill(this.program.pid, "SIGHUP");
    await until(() => count() > before);
  }

  /** Serial number of the certificate that a new connection gets. */
  serial(): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: this.port, ca: authority.ca }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.once("error", reject);
    });
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

async function set(client: YtClient, path: string, value: YsonValue): Promise<void> {
  await client.set(path, Buffer.from(writeYsonText(value)));
}

let pythia: Guarded;
let freud: Guarded;
/** A token that is good on both. */
const bobsToken = "b".repeat(32);
let evesToken: string;

/** The token by which `from` proves to `to` who it is. */
async function introduce(from: Guarded, to: Guarded): Promise<void> {
  const user = `${from.name}-cluster`;
  await to.root.execute("create", { type: "user", attributes: mapOf({ name: user }) });
  const token = String(await to.root.execute("issue_token", { user, description: `for ${from.name}` }));
  await writeFile(join(folder.path, `${from.name}-at-${to.name}.token`), `${token}\n`, { mode: 0o600 });
}

beforeAll(async () => {
  folder = await temporaryDirectory("guarded");
  pythia = new Guarded("pythia", await freePort());
  freud = new Guarded("freud", await freePort());
  await writeFile(join(folder.path, "ca.pem"), authority.ca);
  for (const [own, peer] of [
    [pythia, freud],
    [freud, pythia],
  ] as const) {
    await own.writeCertificate();
    await writeFile(
      join(folder.path, `${own.name}.json`),
      JSON.stringify({
        data_directory: ".",
        log_level: "info",
        authentication: true,
        tls: { cert: `${own.name}.crt`, key: `${own.name}.key`, ca: "ca.pem" },
        clusters: { [own.name]: { address: `127.0.0.1:${own.port}` } },
        peers: {
          [peer.name]: {
            proxy: `https://127.0.0.1:${peer.port}`,
            token_file: `${own.name}-at-${peer.name}.token`,
            user: `${peer.name}-cluster`,
          },
        },
        registrations_cluster: "pythia",
      }),
    );
  }
  await Promise.all([pythia.start(), freud.start()]);
  await introduce(freud, pythia);
  await introduce(pythia, freud);
  await Promise.all([pythia.reload(), freud.reload()]);
  for (const cluster of [pythia, freud]) {
    for (const name of ["bob", "eve"]) {
      await cluster.root.execute("create", { type: "user", attributes: mapOf({ name }) });
    }
    await cluster.root.create("document", `//sys/cypress_tokens/${digest(bobsToken)}`, {
      attributes: mapOf({ user: "bob" }),
    });
    await set(
      cluster.root,
      "//tmp/@acl/end",
      mapOf({ action: "allow", subjects: ["users"], permissions: ["mount"] }),
    );
  }
  evesToken = String(await freud.root.execute("issue_token", { user: "eve" }));
  // Nobody but root may read the queue; bob may register consumers.
  await pythia.root.create("table", "//tmp/queue", {
    attributes: mapOf({
      dynamic: true,
      schema: [mapOf({ name: "data", type: "string" })],
      inherit_acl: false,
      acl: [
        mapOf({
          action: "allow",
          subjects: ["bob"],
          permissions: ["register_queue_consumer"],
          vital: true,
        }),
      ],
    }),
  });
  await pythia.root.mountTable("//tmp/queue");
  await pythia.root.insertRows("//tmp/queue", [{ data: "foo" }, { data: "bar" }]);
  await pythia.root.execute("link", { link_path: "//tmp/link", target_path: "//tmp/queue" });
  await freud.root.create("queue_consumer", "//tmp/consumer");
  await set(
    freud.root,
    "//tmp/consumer/@acl/end",
    mapOf({ action: "allow", subjects: ["eve"], permissions: ["read", "write"] }),
  );
}, 120_000);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all([pythia, freud].map((cluster) => cluster?.program.stop()));
  await folder?.remove();
});

const queueFrom = (cluster: string): YsonValue => new Attributed(mapOf({ cluster }), "//tmp/queue");
const consumer: YsonValue = new Attributed(mapOf({ cluster: "freud" }), "//tmp/consumer");

function pull(client: YtClient, path: YsonValue = queueFrom("pythia")): Promise<unknown> {
  return client.pullQueueConsumer("//tmp/consumer", path, 0n, 0);
}

describe("the first start", () => {
  it("leaves the token of root to the owner of the process alone, and the data too", async () => {
    for (const cluster of [pythia, freud]) {
      expect((await stat(join(cluster.folder, "root-token"))).mode & 0o777).toBe(0o600);
      expect((await stat(cluster.folder)).mode & 0o777).toBe(0o700);
      const token = (await readFile(join(cluster.folder, "root-token"), "utf8")).trim();
      expect(cluster.program.output.split(token)).toHaveLength(2);
    }
  });

  it("is the first once", async () => {
    const before = await readFile(join(freud.folder, "root-token"), "utf8");
    await freud.program.stop();
    await freud.start();
    expect(await readFile(join(freud.folder, "root-token"), "utf8")).toBe(before);
    expect(freud.program.output).not.toContain("YT_TOKEN");
    expect(freud.program.output).not.toContain(before.trim());
  });
});

describe("a request between clusters", () => {
  it("registers for a user who may, and for nobody who may not", async () => {
    const parameters = { queue_path: queueFrom("pythia"), consumer_path: consumer, vital: true };
    await expect(
      freud.client({ token: evesToken }).execute("register_queue_consumer", parameters),
    ).rejects.toMatchObject({ code: 901 });
    await freud.client({ token: bobsToken }).execute("register_queue_consumer", parameters);
    const rows = await pythia.root.selectRows("* from [//sys/queue_agents/consumer_registrations]");
    expect(rows).toMatchObject([{ queue_path: "//tmp/queue", consumer_cluster: "freud", vital: true }]);
  });

  it("pulls for who may read the consumer, who needs no right on the queue, by a link too", async () => {
    const eve = freud.client({ token: evesToken });
    expect(await pull(eve)).toMatchObject([{ data: "foo" }, { data: "bar" }]);
    expect(await pull(eve, new Attributed(mapOf({ cluster: "pythia" }), "//tmp/link"))).toHaveLength(2);
    await expect(pythia.client({ token: bobsToken }).pullQueue("//tmp/queue", 0n, 0)).rejects.toMatchObject({
      code: 901,
    });
  });

  it("acts for no superuser", async () => {
    await expect(pull(freud.root)).rejects.toSatisfy(
      (thrown) =>
        thrown instanceof YtError && messagesOf(thrown).join().includes('may not act for superuser "root"'),
    );
  });

  it("acts for nobody who does not exist there", async () => {
    await freud.root.execute("create", { type: "user", attributes: mapOf({ name: "local" }) });
    const token = String(await freud.root.execute("issue_token", { user: "local" }));
    await set(
      freud.root,
      "//tmp/consumer/@acl/end",
      mapOf({ action: "allow", subjects: ["local"], permissions: ["read"] }),
    );
    await expect(pull(freud.client({ token }))).rejects.toSatisfy(
      (thrown) =>
        thrown instanceof YtError &&
        messagesOf(thrown).join().includes("create the user on this cluster too"),
    );
  });

  it("is refused from a cluster that cannot prove who it is", async () => {
    const file = join(folder.path, "freud-at-pythia.token");
    const token = await readFile(file, "utf8");
    await writeFile(file, "stolen\n");
    await freud.reload();
    await expect(pull(freud.client({ token: evesToken }))).rejects.toMatchObject({ code: 900 });
    await writeFile(file, token);
    await freud.reload();
    expect(await pull(freud.client({ token: evesToken }))).toHaveLength(2);
  });

  it("is refused from a cluster that is not trusted, whatever it says", async () => {
    const stranger = await pythia.root.execute("issue_token", { user: "eve" });
    await expect(
      pythia.client({ token: String(stranger), user: "bob" }).get("//tmp/@type"),
    ).rejects.toMatchObject({ code: 111 });
    // The trusted one may say what its users do, and nothing of consumers elsewhere.
    const trusted = (await readFile(join(folder.path, "freud-at-pythia.token"), "utf8")).trim();
    await expect(
      pythia.client({ token: trusted, user: "eve" }).execute(
        "pull_queue",
        {
          queue_path: "//tmp/queue",
          partition_index: 0n,
          consumer_path: new Attributed(mapOf({ cluster: "pythia" }), "//tmp/consumer"),
        },
        { method: "GET" },
      ),
    ).rejects.toMatchObject({ code: 901 });
  });

  it("unregisters for who may write the consumer", async () => {
    await freud.client({ token: evesToken }).execute("unregister_queue_consumer", {
      queue_path: queueFrom("pythia"),
      consumer_path: consumer,
    });
    expect(await pythia.root.selectRows("* from [//sys/queue_agents/consumer_registrations]")).toEqual([]);
  });
});

describe("certificates", () => {
  it("are read again at SIGHUP; what does not fit is told, and the old one stays", async () => {
    const first = await pythia.serial();
    await pythia.writeCertificate();
    await pythia.reload();
    const second = await pythia.serial();
    expect(second).not.toBe(first);
    await pythia.writeCertificate({ cert: authority.issue().cert, key: authority.issue().key });
    await pythia.reload("certificates and tokens stay as they were");
    expect(await pythia.serial()).toBe(second);
    await chmod(join(folder.path, "pythia.key"), 0o600);
  });

  it("of another authority are refused, and nothing is sent to who shows them", async () => {
    const client = pythia.client({ ca: new TestAuthority("another").ca, token: bobsToken });
    await expect(client.get("//tmp/@type")).rejects.toThrow(/certificate.*option ca/);
  });

  it("plain HTTP finds nobody there", async () => {
    const client = pythia.client({ proxy: `http://127.0.0.1:${pythia.port}` });
    await expect(client.get("//tmp/@type")).rejects.toMatchObject({ code: 100 });
  });
});
