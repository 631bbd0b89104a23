// Only what needs the type checker; everything else is biome's.
import tseslint from "typescript-eslint";

export default [
  { ignores: ["**/dist/**", "**/node_modules/**", "**/*.mjs", "**/*.js", "**/*.cjs"] },
  {
    files: ["packages/*/src/**/*.ts"],
    ignores: ["**/*.test.ts", "**/testing/**", "**/*-fixture.ts"],
    languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true } },
    plugins: { "@typescript-eslint": tseslint.plugin },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/no-explicit-any": "error",
    },
  },
  {
    files: [
      "packages/*/src/**/*.test.ts",
      "packages/*/src/**/testing/**/*.ts",
      "packages/*/src/**/*-fixture.ts",
      "tests/**/*.ts",
    ],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: "./tsconfig.tests.json", tsconfigRootDir: import.meta.dirname },
    },
    plugins: { "@typescript-eslint": tseslint.plugin },
    rules: { "@typescript-eslint/no-floating-promises": "error" },
  },
];
