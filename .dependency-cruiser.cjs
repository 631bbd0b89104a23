// The import rules of ARCHITECTURE.md: which package, and which room of the server, may know which.
const allowed = {
  base: [],
  yson: ["base"],
  schema: ["base", "yson"],
  ql: ["base", "yson", "schema"],
  client: ["base", "yson", "schema"],
  server: ["base", "yson", "schema", "ql", "client"],
  "queue-agent": ["base", "yson", "schema", "client"],
  flow: ["base", "yson", "schema", "ql", "client"],
  cli: ["base", "yson", "schema", "client", "server", "queue-agent", "flow"],
  testing: ["base", "yson", "schema", "ql", "client", "server", "queue-agent", "flow", "cli"],
};

const rooms = {
  cell: [],
  access: ["cell"],
  clusters: [],
  cypress: ["cell", "access"],
  tablets: ["cell", "access", "cypress"],
  queues: ["cell", "access", "cypress", "tablets", "clusters"],
  driver: ["cell", "access", "cypress", "tablets", "queues", "clusters"],
  http: ["driver", "access"],
};

const tests = "(\\.test|-fixture)\\.ts$|/testing/";

const packageRules = Object.entries(allowed).map(([name, others]) => ({
  name: `package-${name}`,
  severity: "error",
  comment: `packages/${name} may import only: ${others.join(", ") || "nothing of ours"}`,
  from: { path: `^packages/${name}/`, pathNot: tests },
  to: { path: "^packages/", pathNot: `^packages/(${[name, ...others].join("|")})/` },
}));

const roomRules = Object.entries(rooms).map(([name, others]) => ({
  name: `room-${name}`,
  severity: "error",
  comment: `server/${name} may import only: ${others.join(", ") || "no other room"}`,
  from: { path: `^packages/server/src/${name}/`, pathNot: tests },
  to: {
    path: "^packages/server/src/",
    pathNot: `^packages/server/src/(${[name, ...others].join("|")})/`,
  },
}));

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    ...packageRules,
    ...roomRules,
    {
      name: "lmdb-only-in-cell",
      severity: "error",
      from: { pathNot: "^packages/server/src/cell/" },
      to: { path: "node_modules/lmdb" },
    },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@qyt/source", "import", "default", "types"],
      extensions: [".ts", ".js", ".mjs", ".cjs"],
    },
  },
};
