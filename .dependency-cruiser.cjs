// Who may import whom. CONTRIBUTING.md says it in words; test/fixtures/dependency-canary breaks each rule once, and
// tooling/dependency-canary.ts checks that each breach is reported.

/** Packages, wherever node_modules lies relative to the folder that is checked. */
const npm = (...names) => names.map((name) => `(^|/)node_modules/${name}/`).join('|')

/** What decides: the same world at the same time gives the same answer. A folder makes it so, wherever it lies, with all that is in it. */
const PURE = '^operator/.+/decide/.+[.]ts$'
/**
 * What decisions may call besides each other and constructs/. These files may call nothing else either, so what a decision reaches over
 * any number of imports is in this list. A name is added when the file is a function of its arguments, or keeps no more than
 * answers that would be the same again.
 */
const PURE_PARTS = [
  '^operator/base/(?!clock[.]ts$)[^/]+[.]ts$',
  '^operator/cluster/(clone-sources|dependents|import-facts|importer-container|kept-metadata|neighbour-facts|own-view|ownership|pod-events|claim-message|quotas|secret-remedies|views)[.]ts$',
  '^operator/controllers/[^/]+/(world|kubevirt-views|child-views)[.]ts$',
  '^operator/images/(image-view|references)[.]ts$',
  '^operator/kube/(api-error|controller-of|kube-object|resource-types)[.]ts$',
  '^operator/runtime/(child-refusals|conditions|foreign|interned|members|owned-fields|plan|refusals|summary|requeue)[.]ts$',
]
const TESTS = '[.]test[.]ts$'
/** What tests prepare and share. */
const PREPARED = '^test/prepared/'
const NODE = { dependencyTypes: ['core'] }

module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one file, or lack a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      comment: 'An import that leads nowhere is checked by no other rule.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'constructs-are-pure',
      comment:
        'constructs/ is a published library without I/O: cdk8s, constructs, yaml, zod and the types of KubeVirt alone.',
      severity: 'error',
      from: { path: '^constructs/', pathNot: TESTS },
      to: {
        pathNot: [
          '^constructs/',
          npm('cdk8s', 'constructs', 'yaml', 'zod', '@kubevirt-ui/kubevirt-api'),
          // A hash is a function of its text. cdk8s needs it too.
          '^(node:)?crypto$',
          // Its own rule: constructs-plus-in-platform-alone.
          npm('cdk8s-plus-[0-9]+'),
        ],
      },
    },
    {
      name: 'constructs-plus-in-platform-alone',
      comment: 'cdk8s-plus renders what infra installs; nothing that the operator renders may need it.',
      severity: 'error',
      from: { pathNot: '^constructs/platform/' },
      to: { path: npm('cdk8s-plus-[0-9]+') },
    },
    {
      name: 'kubevirt-api-types-alone',
      comment: 'Its classes are big and generated; only their types serve.',
      severity: 'error',
      from: { path: '^constructs/' },
      to: { path: npm('@kubevirt-ui/kubevirt-api'), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'crds-gen-needs-little',
      comment:
        'Generation renders constructs, reads their schemas, types and docstrings, and what metrics there are, draws a lab, and writes YAML, JSON, TypeScript and Markdown.',
      severity: 'error',
      from: { path: '^crds-gen/', pathNot: TESTS },
      to: {
        pathNot: [
          '^crds-gen/',
          '^cli/picture/',
          '^constructs/((platform/)?index|infra|operator)[.]ts$',
          '^operator/registered-metrics[.]ts$',
          npm('yaml', 'cdk8s', 'constructs', 'zod', 'typescript', '@microsoft/api-extractor'),
        ],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'public-surface-of-constructs',
      comment:
        'constructs/ has three doors: index.ts for authors, platform/index.ts for platform teams, operator.ts for the operator. All else is behind them.',
      severity: 'error',
      from: { pathNot: ['^constructs/', PREPARED] },
      to: {
        path: '(^|/)constructs/(?!((platform/)?index|infra|operator)[.]ts$)',
        pathNot: '(^|/)node_modules/',
      },
    },
    {
      name: 'promised-door-for-others',
      comment: 'What people import is promised, and the published package has no door for the operator.',
      severity: 'error',
      from: { path: '^(infra|examples)/', pathNot: TESTS },
      to: { path: '(^|/)constructs/operator[.]ts$' },
    },
    {
      name: 'infra-door-for-infra',
      comment:
        'The package of infra needs it in exactly its version. Authors and the operator have doors of their own.',
      severity: 'error',
      from: { pathNot: ['^(infra|crds-gen|test)/', TESTS] },
      to: { path: '(^|/)constructs/infra[.]ts$' },
    },
    {
      name: 'one-importer-of-the-kubernetes-client',
      comment:
        'operator/kube, and for programs of Pulumi infra/object-reader.ts, are the only places that talk HTTP to an API server.',
      severity: 'error',
      from: {
        path: '^(cli|constructs|crds-gen|operator|infra)/',
        pathNot: '^(operator/kube/|infra/object-reader[.]ts$)',
      },
      to: { path: npm('@kubernetes/client-node', 'undici') },
    },
    {
      name: 'base-stands-alone',
      comment:
        'Time, texts and equality, for all others. A file of operator/base that needs another folder belongs there.',
      severity: 'error',
      from: { path: '^operator/base/', pathNot: TESTS },
      to: { path: '.', pathNot: '^operator/base/' },
    },
    {
      name: 'kube-knows-nothing-above-it',
      comment: 'The client knows no controllers and none of our kinds.',
      severity: 'error',
      from: { path: '^operator/kube/' },
      to: {
        path: ['^constructs/', '^operator/(?!kube/|base/)'],
      },
    },
    {
      name: 'runtime-is-kind-agnostic',
      comment: 'operator/runtime knows the client interface alone: no constructs, no controllers, no HTTP client.',
      severity: 'error',
      from: { path: '^operator/runtime/', pathNot: TESTS },
      to: {
        path: ['^constructs/', '^operator/'],
        pathNot: [
          '^operator/(runtime|base)/',
          '^operator/kube/(kube-client|kube-object|list-all|find|api-error|resource-types)[.]ts$',
        ],
      },
    },
    {
      name: 'runtime-needs-few-packages',
      comment: 'pino for logs and prom-client for metrics.',
      severity: 'error',
      from: { path: '^operator/runtime/', pathNot: TESTS },
      to: { path: '(^|/)node_modules/', pathNot: npm('pino', 'prom-client', '@types/node') },
    },
    {
      name: 'decisions-reach-what-is-pure',
      comment:
        'What lies in a folder decide/ decides on data, and calls nothing but what is pure. Types are free here: they are gone when the code runs, and a world is described by the types of what observes it.',
      severity: 'error',
      from: { path: [PURE, ...PURE_PARTS], pathNot: TESTS },
      to: {
        pathNot: [PURE, ...PURE_PARTS, '(^|/)constructs/(index|operator)[.]ts$', npm('zod')],
        // Its own rule: decisions-know-no-node.
        dependencyTypesNot: ['type-only', 'core'],
      },
    },
    {
      name: 'decisions-name-no-client',
      comment:
        'A decision that has the type of a client, a clock or a cache in its arguments is none. So types count here.',
      severity: 'error',
      from: { path: PURE, pathNot: TESTS },
      to: {
        path: [
          '^operator/kube/(?!(kube-object|resource-types)[.]ts$)',
          '^operator/base/clock[.]ts$',
          '^operator/cluster/(caches|lease-pulse|event-reads)[.]ts$',
          '^operator/[^/]+[.]ts$',
          npm('pino', 'prom-client', 'undici'),
        ],
      },
    },
    {
      name: 'decisions-know-no-node',
      comment:
        'A pure file needs no node: module. The fingerprints of child-views and child-refusals are hashes, which are pure.',
      severity: 'error',
      from: {
        path: [PURE, ...PURE_PARTS],
        pathNot: [TESTS, '^operator/(controllers/workspace/child-views|runtime/child-refusals)[.]ts$'],
      },
      to: NODE,
    },
    {
      name: 'controllers-are-strangers',
      comment: 'Controllers meet in the cluster, not in code.',
      severity: 'error',
      from: { path: '^operator/controllers/([^/]+)/' },
      to: { path: '^operator/controllers/([^/]+)/', pathNot: '^operator/controllers/$1/' },
    },
    {
      name: 'one-place-decides-ownership',
      comment:
        'Whose an object is, operator/cluster decides for every kind: others ask it, and read no owner themselves.',
      severity: 'error',
      from: { path: '^operator/', pathNot: ['^operator/cluster/', TESTS] },
      to: { path: '^operator/kube/controller-of[.]ts$' },
    },
    {
      name: 'cluster-knows-no-kind-of-ours',
      comment:
        'operator/cluster is what we know of things that are not ours, once for all kinds: it knows no controller, and nothing that only images share.',
      severity: 'error',
      from: { path: '^operator/cluster/', pathNot: TESTS },
      to: { path: '^operator/(?!cluster/|kube/|runtime/|base/)' },
    },
    {
      name: 'product-knows-no-sandbox',
      comment: 'What is shipped never imports simulators, tests or tools. What makes a bundle of it is a tool.',
      severity: 'error',
      from: {
        path: '^(cli|constructs|crds-gen|operator|infra)/',
        pathNot: [TESTS, '^(cli|operator)/build[.]ts$'],
      },
      to: { path: '^(sandbox|test|tooling|examples)/' },
    },
    {
      name: 'prepared-serves-tests-alone',
      comment: 'What tests share may know the sandbox, so nothing that is shipped or run may need it.',
      severity: 'error',
      from: { pathNot: [TESTS, '^test/'] },
      to: { path: PREPARED },
    },
    {
      name: 'operator-knows-no-infra',
      comment: 'The operator runs without Pulumi.',
      severity: 'error',
      from: { path: '^operator/' },
      to: { path: ['^infra/', npm('@pulumi/[^/]+')] },
    },
    {
      name: 'infra-knows-no-operator',
      comment: 'Infra installs an image; it does not need its source.',
      severity: 'error',
      from: { path: '^infra/' },
      to: { path: '^(operator|sandbox)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    // No tsConfig: with one, the bare name "constructs" resolves to our folder of that name instead of the npm package.
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: ['^dist/', '^[^/]+/dist/', '^crds-gen/generated/', '^test/fixtures/'] },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  },
}
