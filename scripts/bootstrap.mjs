// Makes a fresh clone ready to run: installs what is missing, builds what has changed. Run by every
// `npm` script that starts something, so that `npm start` and `npm test` are enough on a bare machine.
// With --clients it also makes what the tests with real clients need: the virtual environments with the
// Python library, and the program that drives the Go SDK.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Python environments: name → pinned packages. One has the binary YSON bindings and brotli, one has not. */
const pythonEnvironments = {
  full: ["ytsaurus-client==0.13.55", "ytsaurus-yson==0.4.10", "brotli==1.2.1"],
  plain: ["ytsaurus-client==0.13.55"],
};

function run(command, args, what) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (result.status !== 0) {
    console.error(`${what} failed (${command} ${args.join(" ")})`);
    process.exit(result.status ?? 1);
  }
}

function stampOf(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest("hex");
}

function upToDate(stampFile, stamp) {
  return existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
}

const lockFile = readFileSync(join(root, "package-lock.json"), "utf8");
const installStamp = join(root, "node_modules", ".qyt-installed");
const wanted = stampOf(lockFile, process.version);
if (!upToDate(installStamp, wanted)) {
  console.error("Installing npm packages…");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], "npm ci");
  writeFileSync(installStamp, wanted);
}

console.error("Building…");
run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b"], "The build");

if (process.argv.includes("--clients")) {
  preparePython();
  prepareGo();
}

function preparePython() {
  const python = ["python3", "python"].find(
    (name) => spawnSync(name, ["-c", "import venv, ensurepip"], { stdio: "ignore" }).status === 0,
  );
  if (python === undefined) {
    console.error("No Python 3 with venv here: the tests with the real yt command will be skipped.");
    return;
  }
  mkdirSync(join(root, ".venvs"), { recursive: true });
  for (const [name, packages] of Object.entries(pythonEnvironments)) {
    const directory = join(root, ".venvs", name);
    const stampFile = join(directory, ".qyt-installed");
    const stamp = stampOf(packages.join(" "));
    if (upToDate(stampFile, stamp)) {
      continue;
    }
    console.error(`Making the Python environment ${name} (${packages.join(", ")})…`);
    run(python, ["-m", "venv", "--clear", directory], "Making a Python environment");
    run(
      join(directory, "bin", "python"),
      ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages],
      "pip install",
    );
    writeFileSync(stampFile, stamp);
  }
}

/** Builds tests/clients/go once; its versions are pinned by go.mod and go.sum. Whoever has no Go goes on without. */
function prepareGo() {
  const found = spawnSync("go", ["version"], { encoding: "utf8", env: goEnvironment() });
  if (found.status !== 0) {
    console.error("No Go here: the tests with the Go SDK will be skipped.");
    return;
  }
  const source = join(root, "tests", "clients", "go");
  const directory = join(root, ".clients", "go");
  const stampFile = join(directory, ".qyt-built");
  const files = readdirSync(source).sort();
  const stamp = stampOf(found.stdout, ...files.flatMap((name) => [name, readFileSync(join(source, name))]));
  if (upToDate(stampFile, stamp)) {
    return;
  }
  console.error("Building the program that drives the Go SDK…");
  mkdirSync(directory, { recursive: true });
  const built = spawnSync(
    "go",
    ["build", "-mod=readonly", "-buildvcs=false", "-o", join(directory, "round-trips"), "."],
    { cwd: source, stdio: ["ignore", "inherit", "inherit"], env: goEnvironment() },
  );
  if (built.status === 0) {
    writeFileSync(stampFile, stamp);
  } else {
    console.error("It could not be built: the tests with the Go SDK will be skipped.");
  }
}

/** Pure Go, by the toolchain that is installed: nothing is fetched but the pinned modules. */
function goEnvironment() {
  return { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off" };
}
