/**
 * The lock that keeps a second process out of a data directory. LMDB would let it in, and both would
 * write. It is a listening socket, named by the directory's device and inode, as the kernel takes that
 * away with the process, however it dies: an abstract one on Linux, a pipe on Windows; elsewhere a
 * socket file, which is stale when nobody answers there.
 */
import { mkdir, realpath, stat, unlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { platform, tmpdir } from "node:os";
import { dirname, join, resolve as resolvePath } from "node:path";
import { YtError } from "@qyt/base";

export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * Makes the directory if need be and locks it.
 * @throws YtError 1 when another process, or this one, has it open
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  await makeDirectory(resolvePath(directory));
  const { dev, ino } = await stat(await realpath(directory), { bigint: true });
  const name = `qyt-${dev.toString(16)}-${ino.toString(16)}`;
  const server = await lock(addressOf(name), directory);
  return {
    release: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/**
 * Makes a directory with those above it. Not by the recursive `mkdir` of Node 20, which never ends where the
 * file system answers ENOENT to the making itself, as /proc does.
 * @throws YtError 1 when it cannot be made
 */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === "EEXIST" && (await stat(directory)).isDirectory()) {
      return;
    }
    const parent = dirname(directory);
    if (code !== "ENOENT" || parent === directory || (await exists(parent))) {
      throw new YtError(`Cannot make data directory "${directory}": choose one that can be written`, {
        cause: thrown,
        inner: [new YtError(thrown instanceof Error ? thrown.message : String(thrown))],
      });
    }
    await makeDirectory(parent);
    await makeDirectory(directory);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

function addressOf(name: string): string {
  switch (platform()) {
    case "linux":
      return `\0${name}`;
    case "win32":
      return `\\\\.\\pipe\\${name}`;
    default:
      return join(tmpdir(), `${name}.sock`);
  }
}

async function lock(address: string, directory: string): Promise<Server> {
  try {
    return await listen(address);
  } catch (thrown) {
    if (errorCode(thrown) !== "EADDRINUSE") {
      throw new YtError(`Cannot lock data directory "${directory}"`, { cause: thrown });
    }
  }
  if (address.startsWith(tmpdir()) && !(await answers(address))) {
    await unlink(address).catch(() => {});
    return lock(address, directory);
  }
  throw new YtError(
    `Data directory "${directory}" is in use by another process: stop that process or choose another directory`,
    { attributes: { directory } },
  );
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ path, exclusive: true }, () => {
      server.off("error", reject);
      server.unref();
      resolve(server);
    });
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function errorCode(thrown: unknown): unknown {
  return thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
}
