import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { LongOnesFirst } from './test/setup/long-ones-first.ts'

type Options = NonNullable<TestProjectInlineConfiguration['test']>

/** A worker more than cores, because some wait for the programs that they start. Projects of one group have to agree. */
const ON_EVERY_CORE: Options = { maxWorkers: availableParallelism() + 1 }
/** Operators, servers and simulators wait for each other for much of the time, so there are more of them than cores. */
const BESIDE_SERVERS: Options = { maxWorkers: 5, sequence: { groupOrder: 1 } }

/** Where tests are, by project, and what they need. */
const PROJECTS: Readonly<Record<string, { readonly folders: readonly string[] } & Options>> = {
  unit: {
    folders: [
      'cli',
      'constructs',
      'crds-gen',
      'operator',
      'sandbox',
      'tooling',
      'test/bench',
      'test/harness',
      'test/soak',
    ],
    ...ON_EVERY_CORE,
    setupFiles: ['test/setup/fail-on-console.ts', 'test/setup/properties.ts'],
  },
  // Mocks of Pulumi are set before a program is loaded, so each file has modules of its own.
  infra: {
    folders: ['infra'],
    ...ON_EVERY_CORE,
    isolate: true,
  },
  toolchain: {
    folders: ['test/toolchain'],
    ...ON_EVERY_CORE,
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
  },
  'cloud-init': {
    folders: ['test/cloud-init'],
    ...ON_EVERY_CORE,
    globalSetup: ['test/setup/cloud-init.ts'],
    setupFiles: ['test/setup/properties.ts'],
  },
  // Makes network namespaces, where it may.
  ansible: {
    folders: ['test/ansible'],
    ...ON_EVERY_CORE,
    globalSetup: ['test/setup/ansible.ts'],
  },
  monitoring: {
    folders: ['test/monitoring'],
    ...ON_EVERY_CORE,
    globalSetup: ['test/setup/prometheus.ts'],
  },
  // Opens the page of `ot ui` in a browser.
  ui: {
    folders: ['test/ui'],
    ...ON_EVERY_CORE,
    globalSetup: ['test/setup/binaries.ts', 'test/setup/browser.ts'],
  },
  // Makes network namespaces, where it may.
  'lab-networks': {
    folders: ['test/lab-networks'],
    ...ON_EVERY_CORE,
  },
  simulation: {
    folders: ['test/simulation'],
    ...ON_EVERY_CORE,
    // Each mutant drives a process of its own: more than two at a time only wait for a core.
    maxConcurrency: 2,
  },
  conformance: {
    folders: ['test/conformance'],
    ...BESIDE_SERVERS,
    globalSetup: ['test/setup/shared-cluster.ts'],
  },
  scenario: {
    folders: ['test/scenario'],
    ...BESIDE_SERVERS,
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
  },
  fuzz: {
    folders: ['test/fuzz'],
    ...BESIDE_SERVERS,
    globalSetup: ['test/setup/binaries.ts'],
  },
  crash: {
    folders: ['test/crash'],
    ...BESIDE_SERVERS,
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
  },
  faults: {
    folders: ['test/faults'],
    ...BESIDE_SERVERS,
    globalSetup: ['test/setup/binaries.ts', 'test/setup/bundle.ts'],
  },
  rollout: {
    folders: ['test/rollout'],
    globalSetup: ['test/setup/rollout.ts', 'test/setup/bundle.ts'],
    maxWorkers: 2,
  },
  // A cluster for each worker, which ends with it: an operator serves every image of its cluster. Nodes wait for most of the time.
  node: {
    folders: ['test/node'],
    globalSetup: ['test/setup/node.ts', 'test/setup/bundle.ts'],
    maxWorkers: process.env['NODE_KUBECONFIG'] === undefined ? 2 : 1,
  },
  // Reads what API servers wrote while the others ran, or runs all scenarios once more.
  rights: {
    folders: ['test/rights'],
    globalSetup: ['test/setup/binaries.ts'],
    maxWorkers: 2,
    sequence: { groupOrder: 2 },
  },
}

/** Have modes of their own: one needs the Pulumi CLI (`npm run test:rollout`), the other one root on Linux (`npm run test:node`). */
const APART = ['rollout', 'node']

/** No test fails because a machine is slow: what takes so long hangs. */
const HANGS_AFTER_MS = 30 * 60_000
/** Of `expect.poll`. Long enough for what a busy machine does last of all; short enough to say what was seen instead. */
const POLL = { timeout: 5 * 60_000, interval: 50 }
const DEEP = '*.deep.test.ts'

/** `npm test` runs every `*.test.ts` but `*.deep.test.ts`, which are what `npm run test:deep` runs, with `--mode deep`. */
export default defineConfig(({ mode }) => {
  const isDeep = mode === 'deep'
  const wanted = Object.entries(PROJECTS).filter(([name]) =>
    APART.includes(mode) ? name === mode : !APART.includes(name),
  )
  const projects = wanted.map(([name, { folders, ...options }]) => ({
    test: {
      name,
      include: folders.map((folder) => `${folder}/**/${isDeep ? DEEP : '*.test.ts'}`),
      exclude: isDeep ? [] : [`**/${DEEP}`],
      testTimeout: HANGS_AFTER_MS,
      hookTimeout: HANGS_AFTER_MS,
      expect: { poll: POLL },
      // A failure that happens once has to say what was seen.
      chaiConfig: { truncateThreshold: 4_000 },
      // Room for young objects, in MiB: with the default of 16, collecting them took a twelfth of the processor time.
      execArgv: ['--max-semi-space-size=32'],
      // Modules, the code that the engine made of them, and a cluster (test/harness/cluster.ts) serve all files of a worker.
      isolate: false,
      ...options,
    },
  }))
  return { test: { projects, sequence: { sequencer: LongOnesFirst } } }
})
