import { render } from '@open-terrain/constructs'
import { isUrlAllowed, POLICY_DEFAULTS, parsePolicy } from '@open-terrain/constructs/operator'
import { AdmissionPolicies } from '@open-terrain/constructs/platform'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { oddUrl } from '../fuzz/odd-urls.ts'
import { type AdmissionCluster, install } from '../harness/admission-cluster.ts'
import { forbiddenUrls, LEGITIMATE_URLS } from './forbidden-urls.ts'

/** The same seed in every run, so that a change is judged by its own effect. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20778)
const ODD_URLS = 400
/** Number of parallel requests, one for each URL. */
const PARALLEL = 24

const LIST_OF_ALL_FORMS = [
  'https://images.example.com/vms',
  'https://mirror.example:8443/',
  'http://10.0.0.8',
  'http://[fd12::1]:80/a',
  'gs://bucket/a',
  'docker://registry.example.com/org',
  'docker://registry:5000',
  'docker://kubevirt/',
  'oci-archive:///images',
]

/** Values of allowedSourceUrls that the operator accepts. Undefined is a policy without the key. */
const LISTS: readonly (string | undefined)[] = [
  undefined,
  ' ,\n\t\u00a0',
  LIST_OF_ALL_FORMS.join('\n'),
  LIST_OF_ALL_FORMS.join(', '),
  'https://IMAGES.example.com.:0443/vms/\u2003http://10.0.0.8:00080,,docker://KUBEVIRT/img\u00a0docker://docker.io/org/\v',
  'https://a.example.. https://./ oci-archive://a/b oci-archive:/// docker://a.example/ docker://a',
  'http://127.0.0.1 http://169.254.169.254/ http://2130706433 http://[::1] http://localhost docker://localhost/a',
  'https://images.example.com/%2e%2ea http://[2606:4700::1111] https://8.8.8.8:443/a/b gs://bucket gs://bucket:443/a',
]
/** The operator keeps the last valid list, so nothing is refused because it is not listed. */
const BAD_LISTS = [
  'https://images.example.com *',
  'https://a.example/../b',
  'https://a.example/%2e%2E',
  'https://u@a.example',
  'https://a.example?x',
  'x',
]

/** More work than anybody needs of the API server, but within the time that it has for a policy. */
const LONG_LIST = Array.from(
  { length: 1_000 },
  (_, at) => `https://mirror-${at}.images.example.com/vms/released/`,
).join('\n')

/** URLs that begin with a prefix, and continue in ways between being below it and beside it. */
const near = (prefix: string): string[] => [
  ...['', '/', '/a', 'a', ':8443', ':443/a', ':80', ':tag', '@sha256:0', '?x=1', '/a?x=/../', '#/..', './a', '//a'].map(
    (rest) => prefix + rest,
  ),
  ...[
    '/..',
    '/../a',
    '/./a',
    '/%2e%2E/a',
    '/..;/a',
    '/..;v=1/a',
    '/a/%2e.%3b',
    '/%252e%252e/a',
    '/a%252f..%255C',
    '/%25252e./',
    '/..;a',
    '/..a;/a',
    '/.%2e',
    '/a/..%2Fb',
    '/a%2f..',
    '/..%5ca',
    '/a%5C..',
    '/...',
    '/a..b',
    '/%2e',
  ].map((rest) => prefix + rest),
  prefix.toUpperCase(),
  prefix.replace(/^[a-z-]+/, 'https'),
  prefix.replace(/^[a-z-]+/, 'docker'),
  prefix.replace(/^([a-z-]+:\/\/[^/]*)/, (head) => head.replace(/^([a-z-]+:)(.*)$/, (_, a, b) => a + b.toUpperCase())),
  prefix.replace(/^([a-z-]+:\/\/[^/:]*)/, '$1.'),
  prefix.replace(/^([a-z-]+:\/\/)/, '$1x'),
  prefix.replace(/[^/]$/, ''),
]

const prefixesOf = (list: string | undefined) => (list ?? '').split(/[\s,]+/).filter((prefix) => prefix !== '')
const NEAR = LISTS.map((list) => prefixesOf(list).flatMap(near))
/** These say nothing of one list more than of another. */
const ANY = [
  ...forbiddenUrls().filter((_, at) => at % 5 === 0),
  ...fc.sample(oddUrl, { seed: SEED, numRuns: ODD_URLS }),
]

/** What a list is asked about: what is near its own prefixes, and its share of the rest. Where nothing is listed, all that is near those of others. */
function urlsFor(at: number): string[] {
  const own = at === 0 ? NEAR.flat() : (NEAR[at] ?? [])
  return [...new Set([...own, ...LEGITIMATE_URLS, ...shareOf(ANY, at, LISTS.length)])]
}

/** Every part of the URLs is that of one list. */
function shareOf(urls: readonly string[], nth: number, parts: number): readonly string[] {
  return urls.filter((_, at) => at % parts === nth)
}

const PROBES = 'sourceurlprobes'
const probesPath = (namespace: string) => `/apis/test.example/v1/namespaces/${namespace}/${PROBES}?dryRun=All`
const probe = (spec: object) => ({
  apiVersion: 'test.example/v1',
  kind: 'SourceUrlProbe',
  metadata: { name: 'a' },
  spec,
})
const namespaceOf = (at: number) => `list-${at}`

/** A kind without its own rules. */
const PROBE_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${PROBES}.test.example` },
  spec: {
    group: 'test.example',
    names: { kind: 'SourceUrlProbe', plural: PROBES },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** The installed policy on URLs, but for probes, with every failure shown, and with one binding for each list. */
function policyOnProbes(lists: readonly unknown[]): object[] {
  interface Installed {
    readonly kind: string
    readonly metadata: { readonly name: string }
    readonly spec: object
  }
  const objects = render((chart) => new AdmissionPolicies(chart, 'AdmissionPolicies')) as Installed[]
  const ofKind = (kind: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === 'open-terrain-source-url') as Installed
  const policy = ofKind('ValidatingAdmissionPolicy')
  const binding = ofKind('ValidatingAdmissionPolicyBinding')
  const name = 'probes'
  const resourceRules = [
    { apiGroups: ['test.example'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: [PROBES] },
  ]
  return [
    {
      ...policy,
      metadata: { name },
      spec: { ...policy.spec, failurePolicy: 'Fail', matchConstraints: { resourceRules } },
    },
    ...lists.map((_, at) => ({
      ...binding,
      metadata: { name: `${name}-${at}` },
      spec: {
        ...binding.spec,
        policyName: name,
        paramRef: { name: 'policy', namespace: namespaceOf(at), parameterNotFoundAction: 'Deny' },
        matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespaceOf(at) } } },
      },
    })),
  ]
}

/** A response that is not a verdict is reported in full. */
function verdictOf({ status, message }: { readonly status: number; readonly message: string }): string {
  if (status === 201) return 'allowed'
  return status === 422 && message.includes('denied request: spec.url ') ? 'refused' : `${status}: ${message}`
}

export function sourceUrlSuite(cluster: AdmissionCluster): void {
  describe('the admission policy on URLs', () => {
    const all = [...LISTS, ...BAD_LISTS, LONG_LIST]

    beforeAll(async () => {
      const { admin } = cluster
      await admin.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', PROBE_CRD)
      for (const [at, list] of all.entries()) {
        await cluster.addNamespace(namespaceOf(at))
        const data = list === undefined ? { concurrency: '4' } : { allowedSourceUrls: list }
        await admin.must('POST', `/api/v1/namespaces/${namespaceOf(at)}/configmaps`, {
          metadata: { name: 'policy' },
          data,
        })
      }
      await install(admin, policyOnProbes(all))
      for (const at of all.keys()) {
        // Waits until the binding is in force with its own ConfigMap. Without a ConfigMap, the refusal would be for its absence.
        await admin.askUntil(/<scheme>/, 'POST', probesPath(namespaceOf(at)), probe({ url: 'file:///a' }))
      }
    })

    /** The verdicts of the API server on all URLs, in the same order. */
    async function verdicts(at: number, urls: readonly string[]): Promise<string[]> {
      const found: string[] = []
      const rest = urls.entries()
      const worker = async () => {
        for (const [place, url] of rest) {
          found[place] = verdictOf(await cluster.admin.ask('POST', probesPath(namespaceOf(at)), probe({ url })))
        }
      }
      await Promise.all(Array.from({ length: PARALLEL }, worker))
      return found
    }

    const differences = (urls: readonly string[], got: readonly string[], isAllowed: (url: string) => boolean) =>
      urls.flatMap((url, at) => {
        const wanted = isAllowed(url) ? 'allowed' : 'refused'
        return got[at] === wanted ? [] : [{ url, wanted, got: got[at] }]
      })

    it.each(LISTS.map((list, at) => ({ list, at, shown: JSON.stringify(list) })))(
      'judges as the operator does by $shown',
      async ({ list, at }) => {
        const { policy, problems } = parsePolicy(list === undefined ? {} : { allowedSourceUrls: list }, POLICY_DEFAULTS)
        expect(problems).toEqual([])
        const urls = urlsFor(at)
        const got = await verdicts(at, urls)
        expect(differences(urls, got, (url) => isUrlAllowed(url, policy))).toEqual([])
        expect(got).toContain('refused')
      },
    )

    it.each(BAD_LISTS.map((list, nth) => ({ list, nth })))(
      'leaves it to the operator where the list is of no use: $list',
      async ({ list, nth }) => {
        const at = LISTS.length + nth
        expect(parsePolicy({ allowedSourceUrls: list }, POLICY_DEFAULTS).problems).toHaveLength(1)
        const forbidden = shareOf(forbiddenUrls(), nth, BAD_LISTS.length)
        expect(differences(forbidden, await verdicts(at, forbidden), () => false)).toEqual([])
        const plain = [...LEGITIMATE_URLS, 'http://10.0.0.8/a']
        expect(differences(plain, await verdicts(at, plain), () => true)).toEqual([])
      },
    )

    it('has time for a list of many prefixes', async () => {
      const at = all.length - 1
      const { policy } = parsePolicy({ allowedSourceUrls: LONG_LIST }, POLICY_DEFAULTS)
      const urls = [LONG_LIST.slice(LONG_LIST.lastIndexOf('https:')), 'https://elsewhere.example/a'].map((url) =>
        url.padEnd(2_048, '/a'),
      )
      expect(differences(urls, await verdicts(at, urls), (url) => isUrlAllowed(url, policy))).toEqual([])
    })

    it('judges each source of 100 vms, and names the vm', async () => {
      const path = probesPath(namespaceOf(LISTS.indexOf(LIST_OF_ALL_FORMS.join('\n'))))
      const listed = {
        name: 'listed',
        url: 'https://images.example.com/vms/released/2026/lab-035/1.0.0/attacker.qcow2',
      }
      const ask = (...odd: object[]) => {
        const vms = [...Array.from({ length: 100 - odd.length }, (_, at) => ({ ...listed, name: `vm-${at}` })), ...odd]
        return cluster.admin.ask('POST', path, probe({ vms }))
      }
      expect(await ask()).toMatchObject({ status: 201 })
      expect(await ask({ name: 'blank' })).toMatchObject({ status: 201 })
      for (const [url, words] of [
        ['https://127.0.0.1/a', 'must be <scheme>'],
        ['https://elsewhere.example/a', 'is not on the list'],
      ])
        expect(await ask({ name: 'odd', url })).toMatchObject({
          status: 422,
          message: expect.stringContaining(`denied request: spec.vms: url of vm "odd" ${words}`),
        })
    })

    it('has nothing to say without a URL', async () => {
      await cluster.admin.must('POST', probesPath(namespaceOf(0)), probe({}))
    })
  })
}
