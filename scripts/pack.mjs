// Makes what is installed without this checkout: a tarball of each package of ours, and with
// --with-dependencies one of each package that they need, so that all of it installs without a network:
//
//   npm run pack -- --with-dependencies --out pack
//   npm install --offline --no-audit --no-fund ./pack/*.tgz
//
// The packages must be built (`npm run pack` sees to that).
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: {
    out: { type: "string", default: "pack" },
    "with-dependencies": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(
    "Usage: npm run pack -- [--with-dependencies] [--out DIRECTORY]\n\nExample: npm run pack -- --with-dependencies --out /tmp/qyt-pack",
  );
  process.exit(0);
}
const out = resolve(values.out);
mkdirSync(out, { recursive: true });

/** Packages that are no part of what a user runs. */
const unpublished = new Set(["@qyt/testing", "@qyt/flow"]);

function manifestOf(directory) {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
}

const ours = readdirSync(join(root, "packages"))
  .map((name) => join(root, "packages", name))
  .filter((directory) => existsSync(join(directory, "package.json")))
  .map((directory) => ({ directory, manifest: manifestOf(directory) }))
  .filter(({ manifest }) => !unpublished.has(manifest.name));
const versions = new Map(ours.map(({ manifest }) => [manifest.name, manifest.version]));

/** A copy with what a published package has: its files, exact versions of our other packages, no sources. */
function stage({ directory, manifest }, into) {
  const { "@qyt/source": _, ...entry } = manifest.exports?.["."] ?? {};
  const dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies ?? {}).map(([name, range]) => [name, versions.get(name) ?? range]),
  );
  mkdirSync(into, { recursive: true });
  writeFileSync(
    join(into, "package.json"),
    `${JSON.stringify({ ...manifest, dependencies, ...(manifest.exports === undefined ? {} : { exports: { ".": entry } }) }, null, 2)}\n`,
  );
  for (const name of manifest.files ?? []) {
    cpSync(join(directory, name), join(into, name), {
      recursive: true,
      filter: (path) => !path.endsWith(".tsbuildinfo"),
    });
  }
  for (const name of ["LICENSE", "README.md"]) {
    cpSync(join(root, name), join(into, name));
  }
}

/** Directories of all packages that ours need, found as Node finds them. Optional ones of other systems are absent. */
function dependenciesOf(packages) {
  const found = new Map();
  const visit = (directory) => {
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(directory);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const at = findUpwards(name, directory);
      if (at === undefined && !(name in optionalDependencies)) {
        throw new Error(`${name}, which ${directory} needs, is not installed: run npm ci`);
      }
      if (at !== undefined && !found.has(at)) {
        found.set(at, name);
        visit(at);
      }
    }
  };
  for (const { directory } of packages) {
    visit(directory);
  }
  return [...found].filter(([, name]) => !versions.has(name)).map(([directory]) => directory);
}

function findUpwards(name, from) {
  for (let directory = realpathSync(from); ; directory = dirname(directory)) {
    const candidate = join(directory, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) {
      return realpathSync(candidate);
    }
    if (directory === dirname(directory)) {
      return undefined;
    }
  }
}

const staging = mkdtempSync(join(tmpdir(), "qyt-pack-"));
try {
  const staged = ours.map((each, index) => {
    const into = join(staging, String(index));
    stage(each, into);
    return into;
  });
  const others = values["with-dependencies"] ? dependenciesOf(ours) : [];
  console.error(
    `Packing ${staged.length} packages${others.length === 0 ? "" : ` and ${others.length} that they need`}…`,
  );
  const packed = spawnSync(
    "npm",
    ["pack", "--silent", "--ignore-scripts", "--pack-destination", out, ...staged, ...others],
    { cwd: staging, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  if (packed.status !== 0) {
    process.exit(packed.status ?? 1);
  }
  process.stdout.write(packed.stdout);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
