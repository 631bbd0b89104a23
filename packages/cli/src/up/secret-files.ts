/**
 * The files with secrets: certificates and tokens that are read, again when told to, and the administrator's
 * first token, which is written for nobody else to read.
 */
import { chmod, mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { toYtError, YtError } from "@qyt/base";
import { readNamedFile } from "../named-file.ts";
import type { PeerPlan, TlsPlan } from "./security.ts";

export interface TlsContents {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** How a process proves to a peer who it is, and how it knows the peer. */
export interface Connection {
  readonly token?: string;
  readonly ca?: string;
}

/** What the files say now. */
export interface SecretContents {
  readonly tls?: TlsContents;
  /** Token files that are not there yet: the peer issues the token while both already run. */
  readonly missingTokens: readonly string[];
  readonly connections: ReadonlyMap<string, Connection>;
}

/** @throws YtError 1 with one sentence when a file cannot be read or is empty */
export async function readSecretFiles(
  tls: TlsPlan | undefined,
  peers: ReadonlyMap<string, PeerPlan>,
): Promise<SecretContents> {
  const connections = new Map<string, Connection>();
  const missingTokens: string[] = [];
  for (const [name, peer] of peers) {
    const token = peer.tokenFile === undefined ? undefined : await readToken(peer.tokenFile, name);
    if (peer.tokenFile !== undefined && token === undefined) {
      missingTokens.push(peer.tokenFile);
    }
    const caFile = peer.ca ?? tls?.ca;
    const ca =
      caFile === undefined ? undefined : await read(caFile, `certificate authority of cluster ${name}`);
    connections.set(name, {
      ...(token === undefined ? {} : { token }),
      ...(ca === undefined ? {} : { ca }),
    });
  }
  if (tls === undefined) {
    return { connections, missingTokens };
  }
  return {
    connections,
    missingTokens,
    tls: {
      cert: await read(tls.cert, "TLS certificate"),
      key: await read(tls.key, "key of the TLS certificate"),
      ...(tls.ca === undefined ? {} : { ca: await read(tls.ca, "certificate authority") }),
    },
  };
}

/** `undefined` while there is no such file. */
async function readToken(file: string, cluster: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") {
      return undefined;
    }
    throw new YtError(`Cannot read the token for cluster ${cluster}: ${toYtError(thrown).message}`, {
      cause: thrown,
    });
  }
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new YtError(`The file "${file}" has no token for cluster ${cluster}: one line is expected`);
  }
  return token;
}

async function read(file: string, what: string): Promise<string> {
  return (await readNamedFile(file, `the ${what}`)).toString("utf8");
}

/** Secrets of users are in there: nobody else on the machine is to read them. */
export async function protectDirectory(dataDirectory: string): Promise<void> {
  await chmod(dataDirectory, 0o700);
}

const tokenFileName = "root-token";

export function tokenFileOf(dataDirectory: string): string {
  return join(dataDirectory, tokenFileName);
}

/** Writes the token so that it is on disk, whole, and for the owner of the process alone to read. */
export async function writeTokenFile(dataDirectory: string, token: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true });
  const file = tokenFileOf(dataDirectory);
  const handle = await open(`${file}.new`, "w", 0o600);
  try {
    // A leftover of an earlier attempt keeps its mode when it is opened.
    await chmod(`${file}.new`, 0o600);
    await handle.writeFile(`${token}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}
