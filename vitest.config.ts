import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{constructs,crds-gen,operator,sandbox,tooling}/**/*.test.ts'],
          setupFiles: ['test/setup/fail-on-console.ts'],
        },
      },
      {
        test: {
          name: 'toolchain',
          include: ['test/toolchain/**/*.test.ts'],
          globalSetup: ['test/setup/binaries.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'scenario',
          include: ['test/scenario/**/*.test.ts'],
          globalSetup: ['test/setup/shared-cluster.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Each file drives an operator and simulators of its own: more than two at a time only wait for a core.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
