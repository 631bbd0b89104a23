import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@qyt/source"] },
  ssr: { resolve: { conditions: ["@qyt/source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "tests/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
