import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{constructs,crds-gen,operator,sandbox,tooling,test/bench,test/harness,test/soak}/**/*.test.ts'],
          setupFiles: ['test/setup/fail-on-console.ts', 'test/setup/properties.ts'],
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
          name: 'cloud-init',
          include: ['test/cloud-init/**/*.test.ts'],
          globalSetup: ['test/setup/cloud-init.ts'],
          setupFiles: ['test/setup/properties.ts'],
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 300_000,
          // Each of them drives a process of its own: more than two at a time only wait for a core.
          maxConcurrency: 2,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: ['test/setup/shared-cluster.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
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
      {
        test: {
          name: 'fuzz',
          include: ['test/fuzz/**/*.test.ts'],
          globalSetup: ['test/setup/binaries.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
