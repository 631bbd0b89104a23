/** The real Python library over https, with a token. */
import { fileURLToPath } from "node:url";
import { type TemporaryDirectory, TestAuthority, temporaryDirectory } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClustersForYt, hasEnvironment } from "./real-yt.ts";

const script = fileURLToPath(new URL("./python/guarded.py", import.meta.url));

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`the Python library, ${environment} client`, () => {
    let folder: TemporaryDirectory;
    let clusters: ClustersForYt;
    let caFile: string;
    beforeAll(async () => {
      folder = await temporaryDirectory("python-tls");
      const files = await new TestAuthority().writeTo(folder.path);
      caFile = files.caFile;
      clusters = await ClustersForYt.start(
        ["pythia"],
        ["--auth", "--tls-cert", files.certFile, "--tls-key", files.keyFile, "--tls-ca", caFile],
      );
    });
    afterAll(async () => {
      await clusters?.stop();
      await folder?.remove();
    });

    it("works over https with a token, and names one that is wrong", { timeout: 120_000 }, async () => {
      const url = /https:\/\/[^\s"]+/.exec(clusters.output)?.[0] ?? "";
      const token = /^export YT_TOKEN=(\w+)$/m.exec(clusters.output)?.[1] ?? "";
      const { stdout, stderr, exit } = await clusters.bash(
        environment,
        `python '${script}' ${url} ${token} '${caFile}'`,
      );
      expect({ exit, stdout }, stderr).toEqual({
        exit: 0,
        stdout: '["a", "b", "c"]\n[{"x": 1}]\nroot\n1\nroot\nYtTokenError\nYtTokenError\n',
      });
    });
  });
}
