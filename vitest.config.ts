import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

type Options = NonNullable<TestProjectInlineConfiguration['test']>

/** Files that run at the same time where most of the work is that of servers. Projects of one group have to agree. */
const SIDE_BY_SIDE = 3

/** Where tests are, by project, and what they need. */
const PROJECTS: Readonly<Record<string, { readonly folders: readonly string[] } & Options>> = {
  unit: {
    folders: ['constructs', 'crds-gen', 'operator', 'sandbox', 'tooling', 'test/bench', 'test/harness', 'test/soak'],
    isolate: false,
    setupFiles: ['test/setup/fail-on-console.ts', 'test/setup/properties.ts'],
  },
  // Mocks of Pulumi are set before a program is loaded, so each file has modules of its own.
  infra: {
    folders: ['infra'],
  },
  toolchain: {
    folders: ['test/toolchain'],
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
  },
  'cloud-init': {
    folders: ['test/cloud-init'],
    globalSetup: ['test/setup/cloud-init.ts'],
    setupFiles: ['test/setup/properties.ts'],
  },
  monitoring: {
    folders: ['test/monitoring'],
    globalSetup: ['test/setup/prometheus.ts'],
  },
  simulation: {
    folders: ['test/simulation'],
    // Each of them drives a process of its own: more than two at a time only wait for a core.
    maxConcurrency: 2,
  },
  conformance: {
    folders: ['test/conformance'],
    globalSetup: ['test/setup/shared-cluster.ts'],
    maxWorkers: SIDE_BY_SIDE,
    sequence: { groupOrder: 1 },
  },
  scenario: {
    folders: ['test/scenario'],
    globalSetup: ['test/setup/shared-cluster.ts', 'test/setup/bundle.ts'],
    // Each file drives an operator and simulators of its own, which wait for each other for much of their time.
    maxWorkers: SIDE_BY_SIDE,
    // A worker keeps its cluster from file to file (test/harness/cluster.ts).
    isolate: false,
    sequence: { groupOrder: 1 },
  },
  fuzz: {
    folders: ['test/fuzz'],
    globalSetup: ['test/setup/binaries.ts'],
    maxWorkers: SIDE_BY_SIDE,
    sequence: { groupOrder: 1 },
  },
  crash: {
    folders: ['test/crash'],
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
    maxWorkers: 2,
    sequence: { groupOrder: 2 },
  },
  faults: {
    folders: ['test/faults'],
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
    maxWorkers: 2,
    sequence: { groupOrder: 3 },
  },
  rollout: {
    folders: ['test/rollout'],
    globalSetup: ['test/setup/rollout.ts', 'test/setup/bundle.ts'],
    maxWorkers: 2,
  },
  // Reads what API servers wrote while the others ran, or runs all scenarios once more.
  rights: {
    folders: ['test/rights'],
    globalSetup: ['test/setup/binaries.ts'],
    maxWorkers: 2,
    sequence: { groupOrder: 4 },
  },
}

/** Has a mode of its own, since it needs the Pulumi CLI: `npm run test:rollout`. */
const ROLLOUT = 'rollout'

/** No test fails because a machine is slow: what takes so long hangs. */
const HANGS_AFTER_MS = 30 * 60_000
const DEEP = '*.deep.test.ts'

/** `npm test` runs every `*.test.ts` but `*.deep.test.ts`, which are what `npm run test:deep` runs, with `--mode deep`. */
export default defineConfig(({ mode }) => {
  const isDeep = mode === 'deep'
  const wanted = Object.entries(PROJECTS).filter(([name]) => (name === ROLLOUT) === (mode === ROLLOUT))
  const projects = wanted.map(([name, { folders, ...options }]) => ({
    test: {
      name,
      include: folders.map((folder) => `${folder}/**/${isDeep ? DEEP : '*.test.ts'}`),
      exclude: isDeep ? [] : [`**/${DEEP}`],
      testTimeout: HANGS_AFTER_MS,
      hookTimeout: HANGS_AFTER_MS,
      ...options,
    },
  }))
  return { test: { projects } }
})
