/**
 * The listing where users have to prove who they are, over TLS, by a user who has what docs/security.md says
 * that the listing needs, and nothing else.
 */
import { TestAuthority, temporaryDirectory } from "@qyt/testing";
import { afterAll } from "vitest";
import { ClustersForYt } from "./real-yt.ts";
import { playListing } from "./real-yt-listing.ts";

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const clean of cleanups) {
    await clean();
  }
});

/** What the administrator does for bob, as the document has it. */
const preparation = `set -e
for cluster in pythia freud; do
  yt --proxy $cluster create user --attributes '{name=bob}' > /dev/null
  yt --proxy $cluster set //tmp/@acl/end '{action=allow;subjects=[bob];permissions=[mount]}'
done
yt --proxy pythia set //tmp/@acl/end '{action=allow;subjects=[bob];permissions=[register_queue_consumer];vital=%true}'
token=$(yt --proxy pythia issue-token bob)
digest=$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)
yt --proxy freud create document //sys/cypress_tokens/$digest --attributes '{user=bob}' > /dev/null
echo "$token"
`;

async function start(): Promise<ClustersForYt> {
  const folder = await temporaryDirectory("listing-tls");
  cleanups.push(() => folder.remove());
  const { caFile, certFile, keyFile } = await new TestAuthority().writeTo(folder.path);
  const clusters = await ClustersForYt.start(
    ["pythia", "freud"],
    ["--auth", "--tls-cert", certFile, "--tls-key", keyFile, "--tls-ca", caFile],
  );
  // The second of the printed lines.
  const https = /^export YT_PREFER_HTTPS=1 REQUESTS_CA_BUNDLE=.*$/m.exec(clusters.output)?.[0] ?? "";
  const rootToken = /^export YT_TOKEN=(\w+)$/m.exec(clusters.output)?.[1] ?? "";
  clusters.prelude = `${https}; export YT_TOKEN=${rootToken}`;
  const { stdout, stderr, exit } = await clusters.bash("full", preparation);
  if (exit !== 0) {
    await clusters.stop();
    throw new Error(`The administrator failed: ${stderr}`);
  }
  clusters.prelude = `${https}; export YT_TOKEN=${stdout.trim()}`;
  return clusters;
}

playListing("full", { name: ", with authentication and TLS", start });
